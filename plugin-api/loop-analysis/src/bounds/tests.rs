mod scopes;

use super::*;

use proptest::prelude::*;
use relais_ir::{PrimBuilder, prim_func};
use relais_ops::scalar::{NoValue, fold};

/// A value that is made of earlier ones: an operator, and two earlier values.
type Step = (usize, usize, usize);

const OPS: [CoreOp; 19] = [
    CoreOp::Add,
    CoreOp::Sub,
    CoreOp::Mul,
    CoreOp::Min,
    CoreOp::Max,
    CoreOp::FloorDiv,
    CoreOp::FloorMod,
    CoreOp::Div,
    CoreOp::Mod,
    CoreOp::Neg,
    CoreOp::Abs,
    CoreOp::Lt,
    CoreOp::Le,
    CoreOp::Eq,
    CoreOp::Ne,
    CoreOp::Gt,
    CoreOp::And,
    CoreOp::Or,
    CoreOp::Not,
];

/// Numbers that expressions consist of.
const NUMBERS: [i64; 9] = [0, 1, 2, 3, 4, 8, -1, -4, 7];

/// The result of a run of the program: a number for each value that was computed.
type Run = HashMap<NodeId, i64>;

struct Program {
    f: Function,
    ops: LoopOps,
    /// `i`, `j` and `n`.
    inputs: [NodeId; 3],
    /// The variables of the loops, which `i` and `j` are in the type of `n`.
    vars: [NodeId; 2],
    /// The bounds of the loops.
    bounds: [(NodeId, NodeId); 2],
    values: Vec<NodeId>,
}

/// Loops over `i` in 0..5 and `j` in -3..4 around expressions of them and of a parameter `n`.
fn program(elem: ElemType, steps: &[Step]) -> Program {
    let mut f = prim_func(&[("n", elem, &[])], &[]);
    let n = f.params()[0];
    let mut b = PrimBuilder::new(&mut f);
    let n = b.load(n, &[]);
    let imm = |value: i64| Imm::int(elem, value).unwrap();
    let mut values = vec![n];
    let mut inner = None;
    let [zero, five, three, seven] = [0, 5, -3, 7].map(|value| b.index(value));
    b.fold(zero, five, [], |b, i, _| {
        b.fold(three, seven, [], |b, j, _| {
            let vars = [i, j];
            let [i, j] = vars.map(|var| b.cast(var, elem));
            values.extend([i, j]);
            for &(op, x, y) in steps {
                let numbers = NUMBERS.len();
                let get = |b: &mut PrimBuilder<'_>, at: usize, values: &[NodeId]| match at % (values.len() + numbers) {
                    at if at < numbers => b.imm(imm(NUMBERS[at])),
                    at => values[at - numbers],
                };
                let (x, y) = (get(b, x, &values), get(b, y, &values));
                let op = OPS[op % OPS.len()];
                let is_bool = |id| value_type(b.function().type_of(id)).unwrap().elem == ElemType::BOOL;
                let takes_bool = matches!(op, CoreOp::And | CoreOp::Or | CoreOp::Not);
                let n_args = op.info().arity.0;
                if [x, y][..n_args].iter().any(|&id| is_bool(id) != takes_bool) {
                    continue;
                }
                values.push(b.op(op, &[x, y][..n_args]));
            }
            inner = Some((i, j, vars));
            []
        });
        []
    });
    b.finish().unwrap();
    let ops = LoopOps::new(&f);
    let (i, j, vars) = inner.unwrap();
    Program { f, ops, inputs: [i, j, n], vars, bounds: [(zero, five), (three, seven)], values: values.split_off(3) }
}

impl Program {
    /// The numbers of one turn, as far as nothing traps.
    fn run(&self, elem: ElemType, inputs: [i64; 3]) -> Run {
        let mut run: Run = self.inputs.into_iter().zip(inputs).collect();
        for &id in &self.values {
            compute(&self.f, &self.ops, elem, &mut run, id);
        }
        run
    }
}

/// Computes a value, unless that traps, or one of its operands has no number.
fn compute(f: &Function, ops: &LoopOps, elem: ElemType, run: &mut Run, id: NodeId) {
    let number = |arg: &NodeId| {
        f.imm(*arg).or_else(|| {
            let value = *run.get(arg)?;
            if is_bool(f, *arg) { Some(Imm::bool(value != 0)) } else { Imm::int(elem, value) }
        })
    };
    let args: Option<Vec<Imm>> = f.operands(id)[1..].iter().map(number).collect();
    let Some(args) = args else { return };
    match fold(ops.of(f, id).unwrap(), &args, elem) {
        Ok(result) => {
            run.insert(id, result.as_int().unwrap_or_else(|| result.as_bool().unwrap().into()));
        }
        Err(NoValue::DivisionByZero) => {}
        Err(other) => panic!("{other:?}"),
    }
}

fn is_bool(f: &Function, id: NodeId) -> bool {
    value_type(f.type_of(id)).unwrap().elem == ElemType::BOOL
}

/// The facts about a value.
#[derive(Clone, Copy, Debug)]
enum Known {
    Integer(Bounds),
    Condition(Option<bool>),
}

impl Known {
    fn of(known: &Intervals, f: &Function, ops: &LoopOps, id: NodeId) -> Self {
        if is_bool(f, id) { Self::Condition(known.truth(f, ops, id)) } else { Self::Integer(known.of(f, id)) }
    }

    fn allows(self, value: i64) -> bool {
        match self {
            Self::Condition(truth) => truth.is_none_or(|truth| i64::from(truth) == value),
            Self::Integer(Bounds { min, max, step, residue }) => {
                (min..=max).contains(&value) && value.rem_euclid(step) == residue.rem_euclid(step)
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn what_is_known_is_true(
        steps in prop::collection::vec((any::<usize>(), any::<usize>(), any::<usize>()), 1..16),
        assumed in prop::collection::vec((any::<usize>(), any::<bool>()), 0..5),
        is_combining in any::<bool>(),
        elem in prop::sample::select(vec![ElemType::INT8, ElemType::INT64, ElemType::INT32]),
    ) {
        let program = program(elem, &steps);
        let Program { f, ops, .. } = &program;
        let mut known = Intervals::new(f);
        if is_combining {
            known.combine_conditions();
        }
        for (var, (min, extent)) in program.vars.into_iter().zip(program.bounds) {
            known.enter_loop(f, ops, var, min, extent);
        }
        f.all_bindings().filter(|&id| ops.of(f, id) == Some(CoreOp::Cast)).for_each(|id| known.bind(f, ops, id));
        let mut before = Vec::new();
        for &id in &program.values {
            known.bind(f, ops, id);
            before.push(known.of(f, id));
        }
        let conditions: Vec<NodeId> = program.values.iter().copied().filter(|&id| is_bool(f, id)).collect();
        let mark = known.mark();
        let mut assumptions = Vec::new();
        if !conditions.is_empty() {
            for (at, truth) in assumed {
                let condition = conditions[at % conditions.len()];
                known.assume(f, ops, condition, truth);
                assumptions.push((condition, truth));
            }
        }
        let whole = Bounds::of_type(elem).unwrap();
        let numbers: Vec<i64> = (-9..=9).chain([whole.min, whole.max, whole.max - 1, 100]).collect();
        for n in numbers.into_iter().filter(|&n| n >= whole.min && n <= whole.max) {
            for (i, j) in (0..5).flat_map(|i| (-3..4).map(move |j| (i, j))) {
                let wrapped = |value: i64| Imm::int(elem, value).unwrap().as_int().unwrap();
                let run = program.run(elem, [i, j, n].map(wrapped));
                let holds = |&(condition, truth): &(NodeId, bool)| run.get(&condition) == Some(&i64::from(truth));
                if !assumptions.iter().all(holds) {
                    continue;
                }
                for (&id, &value) in &run {
                    let known = Known::of(&known, f, ops, id);
                    prop_assert!(
                        known.allows(value),
                        "{} is {value}, not {known:?}, with {i}, {j}, {n}\n{}",
                        relais_ir::text::display(f, id),
                        relais_ir::text::print_function("f", f, &Default::default())
                    );
                }
            }
        }
        known.undo(mark);
        for (&id, bounds) in program.values.iter().zip(before) {
            prop_assert_eq!(known.of(f, id), bounds);
        }
    }
}

/// `i` in 0..16, and a parameter `n`, both `int64`.
fn with_loop(body: impl FnOnce(&mut PrimBuilder<'_>, NodeId, NodeId) -> NodeId) -> Option<bool> {
    with_facts(|b, i, n| (Vec::new(), body(b, i, n)))
}

/// The same, with conditions that hold.
fn with_facts(body: impl FnOnce(&mut PrimBuilder<'_>, NodeId, NodeId) -> (Vec<NodeId>, NodeId)) -> Option<bool> {
    let mut f = prim_func(&[("n", ElemType::INT64, &[])], &[]);
    let n = f.params()[0];
    let mut b = PrimBuilder::new(&mut f);
    let n = b.load(n, &[]);
    let (zero, sixteen) = (b.index(0), b.index(16));
    let mut asked = None;
    let mut var = None;
    b.fold(zero, sixteen, [], |b, i, _| {
        (asked, var) = (Some(body(b, i, n)), Some(i));
        []
    });
    b.finish().unwrap();
    let ops = LoopOps::new(&f);
    let mut known = Intervals::new(&f);
    known.enter_loop(&f, &ops, var.unwrap(), zero, sixteen);
    f.all_bindings().for_each(|id| known.bind(&f, &ops, id));
    let (facts, asked) = asked.unwrap();
    facts.into_iter().for_each(|fact| known.assume(&f, &ops, fact, true));
    known.truth(&f, &ops, asked)
}

#[test]
fn a_condition_on_a_part_of_a_sum_bounds_the_sum() {
    let below = |shift: i64, is_below: bool| {
        with_facts(|b, i, n| {
            let (four, shift) = (b.index(4), b.index(shift));
            let row = b.mul(i, four);
            let last = b.add(row, shift);
            let column = b.floormod(i, four);
            let at = b.add(row, column);
            match is_below {
                true => (vec![b.lt(last, n)], b.lt(at, n)),
                false => (vec![b.ge(last, n)], b.lt(at, n)),
            }
        })
    };
    // row + 3 < n, so row + 0..=3 < n; row + 2 < n says nothing of the last column.
    assert_eq!([below(3, true), below(2, true)], [Some(true), None]);
    // row >= n, so nothing in the row is less; row + 1 >= n says nothing of the first column.
    assert_eq!([below(0, false), below(1, false)], [Some(false), None]);
}

#[test]
fn loops_say_what_wraps() {
    let more = |b: &mut PrimBuilder<'_>, x: NodeId| {
        let one = b.index(1);
        let sum = b.op(CoreOp::Add, &[x, one]);
        b.op(CoreOp::Gt, &[sum, x])
    };
    assert_eq!(with_loop(|b, i, _| more(b, i)), Some(true));
    // The largest number has no successor.
    assert_eq!(with_loop(|b, _, n| more(b, n)), None);
    let grid = |limit: i64| {
        with_loop(move |b, i, _| {
            let (four, limit) = (b.index(4), b.index(limit));
            let row = b.op(CoreOp::Mul, &[i, four]);
            let column = b.op(CoreOp::FloorMod, &[i, four]);
            let at = b.op(CoreOp::Add, &[row, column]);
            b.op(CoreOp::Lt, &[at, limit])
        })
    };
    assert_eq!([grid(64), grid(63), grid(0)], [Some(true), None, Some(false)]);
    // A multiple of four is never odd.
    let odd = with_loop(|b, i, _| {
        let (four, seven) = (b.index(4), b.index(7));
        let even = b.op(CoreOp::Mul, &[i, four]);
        b.op(CoreOp::Eq, &[even, seven])
    });
    assert_eq!(odd, Some(false));
}
