//! Facts within conditionals, after them, and of expressions that are repeated in them.

use super::{Known, NUMBERS, Run, compute, is_bool};
use crate::Intervals;
use proptest::prelude::*;
use relais_ir::{
    prim::{CoreOp, LoopOps},
    *,
};
use std::{cell::RefCell, collections::HashMap};

/// The most conditionals around each other.
const MOST_DEPTH: usize = 3;

/// Two of them make the values of a program, so that blocks have equal ones.
const ARITHMETIC: [CoreOp; 8] =
    [CoreOp::FloorDiv, CoreOp::FloorMod, CoreOp::Div, CoreOp::Mod, CoreOp::Mul, CoreOp::Add, CoreOp::Sub, CoreOp::Max];

const CONDITIONS: [CoreOp; 6] = [CoreOp::Lt, CoreOp::Le, CoreOp::Gt, CoreOp::Eq, CoreOp::Ne, CoreOp::And];

/// Turns of the loop that the expressions are in.
const N_TURNS: i64 = 5;

/// A step of a program: `kind` says whether a conditional begins, a block ends, an expression is repeated or another one is made.
#[derive(Clone, Copy, Debug)]
struct Step {
    kind: usize,
    op: usize,
    x: usize,
    y: usize,
}

impl Step {
    fn any() -> impl Strategy<Value = Self> {
        (0_usize..12, any::<usize>(), any::<usize>(), any::<usize>()).prop_map(|(kind, op, x, y)| Self {
            kind,
            op,
            x,
            y,
        })
    }
}

/// A program that grows by steps.
struct Draft {
    steps: std::vec::IntoIter<Step>,
    /// The values that can be used.
    visible: Vec<NodeId>,
    /// The expressions of all blocks.
    made: Vec<(CoreOp, Vec<NodeId>)>,
    elem: ElemType,
    arithmetic: [CoreOp; 2],
    numbers: [i64; 3],
}

fn fill(b: &mut PrimBuilder<'_>, draft: &RefCell<Draft>, depth: usize) {
    let n_visible = draft.borrow().visible.len();
    loop {
        let Some(step) = draft.borrow_mut().steps.next() else { break };
        match step.kind {
            0 | 1 if depth < MOST_DEPTH => {
                // Often a new condition on a value that others are made of.
                if step.op % 4 > 0 {
                    expression(b, &mut draft.borrow_mut(), Step { op: step.op / 4 * 2, ..step }, false);
                }
                let condition = draft.borrow().visible.iter().copied().rfind(|&id| is_bool(b.function(), id));
                if let Some(condition) = condition {
                    b.when_else(condition, |b| fill(b, draft, depth + 1), |b| fill(b, draft, depth + 1));
                }
            }
            2..=4 if depth > 0 => break,
            kind => expression(b, &mut draft.borrow_mut(), step, kind < 9),
        }
    }
    draft.borrow_mut().visible.truncate(n_visible);
}

fn expression(b: &mut PrimBuilder<'_>, draft: &mut Draft, step: Step, repeats: bool) {
    let is_usable = |b: &PrimBuilder<'_>, id: &NodeId| b.function().imm(*id).is_some() || draft.visible.contains(id);
    let known: Vec<&(CoreOp, Vec<NodeId>)> =
        draft.made.iter().filter(|(_, args)| args.iter().all(|arg| is_usable(b, arg))).collect();
    let (op, args) = match known.len() {
        n if repeats && n > 0 => known[step.x % n].clone(),
        _ => {
            let op = match step.op % 2 {
                0 => CONDITIONS[step.op / 2 % CONDITIONS.len()],
                _ => draft.arithmetic[step.op / 2 % 2],
            };
            // The first operand is often the parameter, the loop variable or the last value, the second one a number.
            let value = |at: usize| draft.visible[at % draft.visible.len()];
            let x = match step.x % 3 {
                0 => draft.visible[step.x / 3 % 2],
                1 => value(draft.visible.len() - 1),
                _ => value(step.x / 3),
            };
            let y = match step.y % 2 {
                0 => b.imm(Imm::int(draft.elem, draft.numbers[step.y / 2 % 3]).unwrap()),
                _ => value(step.y / 2),
            };
            (op, vec![x, y])
        }
    };
    let takes_bool = op == CoreOp::And;
    if args.iter().all(|&arg| is_bool(b.function(), arg) == takes_bool) {
        draft.visible.push(b.op(op, &args));
        draft.made.push((op, args));
    }
}

/// The facts at the beginning of each block, and after each binding, of all values that are visible there.
#[derive(Default)]
struct Told {
    of_blocks: HashMap<BlockId, Vec<(NodeId, Known)>>,
    of_bindings: HashMap<NodeId, Vec<(NodeId, Known)>>,
}

struct Walk<'a> {
    f: &'a Function,
    ops: LoopOps,
    elem: ElemType,
}

impl Walk<'_> {
    /// Asks as a pass does that walks in program order.
    fn ask(&self, known: &mut Intervals, block: BlockId, visible: &mut Vec<NodeId>, told: &mut Told) {
        let Self { f, ops, .. } = self;
        let all = |known: &Intervals, visible: &[NodeId]| {
            visible.iter().map(|&id| (id, Known::of(known, f, ops, id))).collect::<Vec<_>>()
        };
        let n_visible = visible.len();
        told.of_blocks.insert(block, all(known, visible));
        for &id in f.bindings(block) {
            for &region in f.regions(id) {
                let mark = known.mark();
                known.enter(f, ops, id, f.block_of(region));
                self.ask(known, f.block_of(region), visible, told);
                known.undo(mark);
            }
            known.bind(f, ops, id);
            // A value that is made of the parameter, and no memory.
            if f.regions(id).is_empty() && ops.of(f, id) != Some(CoreOp::Load) {
                visible.push(id);
            }
            told.of_bindings.insert(id, all(known, visible));
        }
        visible.truncate(n_visible);
    }

    /// Computes a turn of the loop, and returns what was wrong with what is told.
    fn run(&self, block: BlockId, run: &mut Run, told: &Told) -> Result<(), String> {
        let Self { f, ops, elem } = self;
        let check = |known: &[(NodeId, Known)], run: &Run| {
            let wrong = known.iter().find(|(id, known)| run.get(id).is_some_and(|&value| !known.allows(value)));
            wrong.map_or(Ok(()), |(id, known)| {
                let name = relais_ir::text::display(f, *id);
                Err(format!("`{name}` is {}, not {known:?}, in or after {block:?}", run[id]))
            })
        };
        check(&told.of_blocks[&block], run)?;
        for &id in f.bindings(block) {
            match (ops.of(f, id), f.operands(id)) {
                (Some(CoreOp::When), &[_, condition, ..]) => {
                    let regions = f.regions(id);
                    if let Some(&truth) = run.get(&condition) {
                        self.run(f.block_of(regions[usize::from(truth == 0)]), run, told)?;
                    }
                }
                (Some(CoreOp::Cast | CoreOp::Load), _) => {}
                _ => compute(f, ops, *elem, run, id),
            }
            check(&told.of_bindings[&id], run)?;
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn what_is_known_is_true_where_it_is_asked(
        steps in prop::collection::vec(Step::any(), 4..48),
        arithmetic in prop::array::uniform2(prop::sample::select(ARITHMETIC.to_vec())),
        numbers in prop::array::uniform3(prop::sample::select(NUMBERS.to_vec())),
        is_combining in any::<bool>(),
        elem in prop::sample::select(vec![ElemType::INT8, ElemType::INT64, ElemType::INT32]),
    ) {
        let mut f = prim_func(&[("n", elem, &[])], &[]);
        let param = f.params()[0];
        let mut b = PrimBuilder::new(&mut f);
        let n = b.load(param, &[]);
        let [zero, turns] = [0, N_TURNS].map(|value| b.index(value));
        let mut inner = None;
        b.fold(zero, turns, [], |b, var, _| {
            let i = b.cast(var, elem);
            let visible = vec![n, i];
            let steps = steps.into_iter();
            fill(b, &RefCell::new(Draft { steps, visible, made: Vec::new(), elem, arithmetic, numbers }), 0);
            inner = Some((var, i));
            []
        });
        b.finish().unwrap();
        let (var, i) = inner.unwrap();
        let body = f.block_of(f.regions(f.bindings(f.body())[1])[0]);
        let walk = Walk { ops: LoopOps::new(&f), f: &f, elem };
        let mut known = Intervals::new(&f);
        if is_combining {
            known.combine_conditions();
        }
        let mut told = Told::default();
        known.enter_loop(&f, &walk.ops, var, zero, turns);
        walk.ask(&mut known, body, &mut vec![n], &mut told);
        for value in [-128, -9, -8, -3, -1, 0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 100, 126, 127] {
            for turn in 0..N_TURNS {
                let mut run = Run::from([(n, value), (i, turn)]);
                if let Err(wrong) = walk.run(body, &mut run, &told) {
                    let text = relais_ir::text::print_function("f", &f, &Default::default());
                    prop_assert!(false, "{wrong}, with n = {value} in turn {turn}\n{text}");
                }
            }
        }
    }
}
