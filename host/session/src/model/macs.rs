//! The multiply-accumulates of a model.

use super::{bodies::Chosen, declared::infer_types};
use relais::{
    ir::*,
    registry::{Registry, qualified},
};
use relais_plugin_api::{
    facts::OpFactsTable,
    op::{Bodies, FusionKind, Macs, add_bodies},
};
use std::{collections::BTreeMap, mem};

/// The multiply-accumulates of a model, as far as they are known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MacCount {
    /// Those of the calls that are counted.
    pub macs: Macs,
    /// How many calls are not counted, by operator: those whose sizes are not known, and those of which nothing says how
    /// many they take.
    pub uncounted: BTreeMap<String, u64>,
}

impl MacCount {
    fn add(&mut self, other: Self) {
        self.macs.add(&other.macs);
        for (operator, n) in other.uncounted {
            *self.uncounted.entry(operator).or_default() += n;
        }
    }

    fn leave_out(&mut self, operator: &str) {
        *self.uncounted.entry(operator.to_owned()).or_default() += 1;
    }
}

/// How the multiply-accumulates of an operator's calls are counted.
enum Counting {
    Formula(String),
    /// There are those of its body, or none if it has no body.
    Body,
    /// There are none: it computes element by element, moves elements, or reduces one argument.
    Nothing,
    /// No plugin describes the operator.
    Unknown,
}

impl Counting {
    fn of(registry: &Registry, domain: &str, name: &str, version: i64) -> Self {
        let known = u32::try_from(version).ok().and_then(|version| registry.operator(domain, name, version));
        let Some((_, record)) = known else { return Self::Unknown };
        match (record.schema().macs, record.fusion) {
            (formula, _) if !formula.is_empty() => Self::Formula(formula),
            (_, FusionKind::ELEMWISE | FusionKind::BROADCAST | FusionKind::INJECTIVE | FusionKind::COMM_REDUCE) => {
                Self::Nothing
            }
            _ => Self::Body,
        }
    }
}

/// Counts the multiply-accumulates of one run of a model: those of its calls, by the formulas of their operators, or by
/// their bodies. Of an `If` the branch with more counts. Calls in a loop are not counted, since nothing says how often they
/// run.
pub fn count_macs(module: &IRModule, registry: &Registry) -> MacCount {
    let mut module = module.clone();
    let mut bodies = Chosen {
        table: OpFactsTable::empty(registry),
        body: |table: &mut dyn Bodies, domain: &str, name: &str, version| match Counting::of(
            registry, domain, name, version,
        ) {
            Counting::Body => table.any_body(domain, name, version),
            _ => None,
        },
    };
    // A call whose body cannot be made stays, and is not counted; so does one of a function that calls itself.
    let written_out = add_bodies(&mut module, &mut bodies).is_ok() && inline_functions(&mut module).is_ok();
    if written_out {
        infer_types(&mut module, registry);
    }
    module.main().map(|main| of_function(main, registry)).unwrap_or_default()
}

/// A block that is being counted.
#[derive(Default)]
struct Open {
    count: MacCount,
    /// The counts of the blocks in it that have ended, since the last call.
    ended: Vec<MacCount>,
}

fn of_function(f: &Function, registry: &Registry) -> MacCount {
    let mut table = OpFactsTable::new(registry, f);
    let mut walk = Walk::new(f);
    let mut open = vec![Open::default()];
    while let (Some(step), Some(block)) = (walk.next(f), open.last_mut()) {
        match step {
            WalkStep::Enter(_) => open.push(Open::default()),
            WalkStep::Exit(_) => {
                let Open { count, .. } = open.pop().unwrap_or_default();
                open.last_mut().into_iter().for_each(|outer| outer.ended.push(count.clone()));
            }
            WalkStep::Binding(id) => {
                if let Some(call) = f.call(id) {
                    add_call(&mut block.count, f, call, registry, &mut table);
                }
            }
            WalkStep::Leave(id) => {
                let ended = mem::take(&mut block.ended);
                block.count.add(of_regions(f, id, ended));
            }
        }
    }
    open.pop().and_then(|mut all| all.ended.pop()).unwrap_or_default()
}

fn add_call(count: &mut MacCount, f: &Function, call: CallView<'_>, registry: &Registry, bodies: &mut dyn Bodies) {
    let Some(op) = call.op() else {
        let Expr::GlobalVar(name) = f.expr(call.callee()) else { return count.leave_out("a function") };
        return count.leave_out(name);
    };
    let rec = f.op(op);
    let (domain, name, version) = (normal_domain(f.str(rec.domain)), f.str(rec.name), f.op_version(op));
    let counted = match Counting::of(registry, domain, name, version) {
        Counting::Formula(formula) => Macs::of_call(&formula, f, call),
        Counting::Nothing => Some(Macs::default()),
        // A body that is still there could not be made.
        Counting::Body => bodies.any_body(domain, name, version).is_none().then(Macs::default),
        Counting::Unknown => None,
    };
    match counted {
        Some(macs) => count.macs.add(&macs),
        None => count.leave_out(&qualified(domain, name)),
    }
}

/// The count of a call's functions, or of the branches of an `If`.
fn of_regions(f: &Function, id: NodeId, ended: Vec<MacCount>) -> MacCount {
    let name = match f.call(id) {
        Some(call) => call.op_name(),
        None if f.kind(id) == kind::IF => "If",
        None => "a function",
    };
    if ended.iter().all(|count| *count == MacCount::default()) {
        return MacCount::default();
    }
    let known = |count: &MacCount| count.macs.known().filter(|_| count.uncounted.is_empty());
    let branches: Option<Vec<u128>> = ended.iter().map(known).collect();
    if let ("If", Some(numbers)) = (name, branches) {
        let most = (0..numbers.len()).max_by_key(|&at| numbers[at]);
        return most.map(|at| ended[at].clone()).unwrap_or_default();
    }
    let mut count = MacCount::default();
    count.leave_out(name);
    count
}
