//! The rules of loop programs, and of calls between the levels.

use super::{FaultCode, Globals, Report};
use crate::{
    prim::{DOMAIN, LoopOps, n_outputs, rule},
    *,
};

/// Checks a prim func that is right as a program.
pub(super) fn check(name: &str, f: &Function, globals: Option<&Globals<'_>>, report: &mut Report<'_>) {
    let ops = LoopOps::new(f);
    signature(f, report);
    let mut blocks = Vec::new();
    let mut walk = Walk::new(f);
    while let Some(step) = walk.next(f) {
        match step {
            WalkStep::Enter(block) => blocks.push(block),
            WalkStep::Exit(_) => drop(blocks.pop()),
            WalkStep::Leave(_) => {}
            WalkStep::Binding(id) => {
                let block = blocks.last().copied();
                for &operand in f.operands(id) {
                    immediate(f, operand, block, report);
                }
                match rule(f, &ops, id) {
                    Ok(made) if made.is(f, f.type_id(id)) => {}
                    Ok(_) => {
                        let message = "the type is not the one that the operands give";
                        report.push(FaultCode::PrimType, Some(id), block, message);
                    }
                    Err(broken) => report.push(broken.code, Some(id), block, broken.message),
                }
                if let Expr::Call(call) = f.expr(id)
                    && let Expr::GlobalVar(callee) = f.expr(call.callee())
                {
                    prim_call(f, &ops, call, callee, globals, block, report);
                }
            }
        }
    }
    if let Some(globals) = globals
        && calls_itself(name, globals)
    {
        report.push(FaultCode::PrimCall, Some(f.root()), None, "a prim func calls itself, directly or not");
    }
}

/// Parameters, outputs and the result of a prim func.
fn signature(f: &Function, report: &mut Report<'_>) {
    for &param in f.params() {
        let is_memory = f.type_of(param).as_tensor().is_some_and(|(elem, _)| elem.is_scalar());
        if !is_memory {
            report.push(FaultCode::ElemType, Some(param), None, "a parameter is memory that loop programs handle");
        }
    }
    let declared = match f.attrs(f.root()).meta(crate::prim::OUTPUTS) {
        Some(AttrValue::Int(n)) => Some(n),
        Some(_) => Some(-1),
        None => None,
    };
    let n_params = f.params().len();
    match declared {
        Some(n) if n < 0 || n as u64 > n_params as u64 => {
            let message = format!("`outputs` is a number from 0 to {n_params}, the number of parameters");
            report.push(FaultCode::PrimResult, Some(f.root()), None, message);
        }
        _ => {}
    }
    if !f.results(f.body()).is_empty() {
        let message = "a prim func returns nothing: it writes its outputs";
        report.push(FaultCode::PrimResult, Some(f.root()), None, message);
    }
}

fn immediate(f: &Function, id: NodeId, block: Option<BlockId>, report: &mut Report<'_>) {
    if f.kind(id) == kind::IMM && f.imm(id).is_none() {
        report.push(FaultCode::Immediate, Some(id), block, "an immediate is not a number of its type");
    }
}

/// Checks the call of a prim func within another one.
fn prim_call(
    f: &Function,
    ops: &LoopOps,
    call: CallView<'_>,
    callee: &str,
    globals: Option<&Globals<'_>>,
    block: Option<BlockId>,
    report: &mut Report<'_>,
) {
    let mut fault = |message: String| report.push(FaultCode::PrimCall, Some(call.id), block, message);
    let Some(global) = globals.and_then(|globals| globals.0.get(callee)) else { return };
    let Some(other) = global.prim_func() else {
        return fault(format!("`@{callee}` is not a prim func"));
    };
    if call.args().len() != other.params().len() || call.n_results().is_some() {
        return fault(format!("`@{callee}` takes {} parameters and returns nothing", other.params().len()));
    }
    let first_output = other.params().len() - n_outputs(other);
    for (at, (&arg, &param)) in call.args().iter().zip(other.params()).enumerate() {
        if !ops.is_memory(f, arg) {
            fault(format!("argument {at} is not memory"));
        } else if !may_be(f.type_of(arg), other.type_of(param)) {
            fault(format!("argument {at} is not of the parameter's type"));
        } else if at >= first_output && !ops.is_writable(f, arg) {
            fault(format!("argument {at} is an output, and `{arg}` is not written: an input or a constant"));
        } else if at >= first_output {
            let memory = ops.memory_of(f, arg);
            let same =
                call.args().iter().enumerate().find(|&(other, &id)| other != at && ops.memory_of(f, id) == memory);
            if let Some((other, _)) = same {
                fault(format!("arguments {} and {} are the same memory", other.min(at), other.max(at)));
            }
        }
    }
}

/// Whether two types of memory may be the same: symbols may stand for any size.
fn may_be(a: Type<'_>, b: Type<'_>) -> bool {
    let (Some((elem, dims)), Some((other, others))) = (a.as_tensor(), b.as_tensor()) else {
        return matches!(a, Type::Unknown) || matches!(b, Type::Unknown);
    };
    let same_size = |&a: &DimRec, &b: &DimRec| match (Dim::from(a).known(), Dim::from(b).known()) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    };
    elem == other && dims.len() == others.len() && dims.iter().zip(others).all(|(a, b)| same_size(a, b))
}

/// Whether a prim func reaches itself through calls.
fn calls_itself(name: &str, globals: &Globals<'_>) -> bool {
    let callees = |name: &str| -> Vec<String> {
        let Some(f) = globals.0.get(name).and_then(|global| global.prim_func()) else { return Vec::new() };
        let callees = f.all_bindings().filter_map(|id| match f.expr(f.call(id)?.callee()) {
            Expr::GlobalVar(callee) => Some(callee.to_owned()),
            _ => None,
        });
        callees.collect()
    };
    let mut seen = std::collections::HashSet::new();
    let mut open = callees(name);
    while let Some(next) = open.pop() {
        if next == name {
            return true;
        }
        if seen.insert(next.clone()) {
            open.extend(callees(&next));
        }
    }
    false
}

/// Checks what a graph function has to do with loop programs: it contains none, and calls them with arguments of their
/// inputs' types.
pub(super) fn check_graph(f: &Function, globals: Option<&Globals<'_>>, report: &mut Report<'_>) {
    let has_core = f.ops().iter().any(|op| f.bytes(op.domain) == DOMAIN.as_bytes());
    let has_imm = f.nodes().iter().any(|rec| rec.kind == kind::IMM);
    let has_prims = globals.is_some_and(|globals| globals.0.values().any(|global| global.prim_func().is_some()));
    if !has_core && !has_imm && !has_prims {
        return;
    }
    for id in f.all_bindings() {
        if f.operands(id).iter().any(|&operand| f.kind(operand) == kind::IMM) {
            report.push(FaultCode::ForeignOp, Some(id), None, "an immediate is used in a graph function");
        }
        let Some(call) = f.call(id) else { continue };
        if call.op().is_some_and(|op| f.bytes(f.op(op).domain) == DOMAIN.as_bytes()) {
            report.push(FaultCode::ForeignOp, Some(id), None, "a core operator is called in a graph function");
        }
        if let Expr::GlobalVar(callee) = f.expr(call.callee())
            && let Some(prim) = globals.and_then(|globals| globals.0.get(callee)).and_then(|global| global.prim_func())
        {
            graph_call(f, call, callee, prim, report);
        }
    }
}

fn graph_call(f: &Function, call: CallView<'_>, callee: &str, prim: &Function, report: &mut Report<'_>) {
    let mut fault = |message: String| report.push(FaultCode::PrimCall, Some(call.id), None, message);
    let n_outputs = n_outputs(prim);
    let n_inputs = prim.params().len() - n_outputs;
    if call.args().len() != n_inputs {
        return fault(format!("`@{callee}` has {n_inputs} inputs, the call {} arguments", call.args().len()));
    }
    if call.n_results() != Some(n_outputs).filter(|&n| n != 1) {
        return fault(format!("`@{callee}` has {n_outputs} outputs, the call another number of results"));
    }
    for (at, (&arg, &param)) in call.args().iter().zip(prim.params()).enumerate() {
        let ty = if arg.is_absent() { Type::Unknown } else { f.type_of(arg) };
        let has_rank = ty.as_tensor().is_some();
        if arg.is_absent() || has_rank && !may_be(ty, prim.type_of(param)) {
            fault(format!("argument {at} is not of the type of `@{callee}`'s input"));
        }
    }
}
