//! A rewrite with a forbidden result.

use relais_plugin_api::prelude::*;
use std::sync::Mutex;

/// Its replacement of a `Sub`.
#[derive(PassOptions)]
enum Gives {
    /// A call of the same arguments, which is right.
    Right,
    /// A value of another shape.
    OtherShape,
    /// A value of another element type.
    OtherElem,
    /// A node that it made for the call before.
    StaleId,
    /// A call with an argument that does not exist.
    NoArgument,
    /// A call of a node that comes later.
    Later,
    /// A call with too many arguments.
    ManyArguments,
    /// A call with an attribute that the operator does not have.
    UnknownAttribute,
    /// A call with an attribute of another kind.
    AttributeKind,
    /// A call of an operator that does not exist, in a domain that is described whole.
    Typo,
    /// A call whose arguments its operator does not take.
    Types,
    /// A call with a number of groups that the operator's verifier refuses.
    NoGroups,
    /// A call with a number of groups that it takes.
    TwoGroups,
    /// A call of an operator whose verifier refuses in a million characters.
    VerifyLong,
    /// A call of an operator whose verifier panics.
    VerifyPanics,
    /// A call of an operator whose verifier fails in a way that does not exist.
    VerifyKind,
    /// A call of an operator of a domain that the model does not import.
    OtherDomain,
}

/// Its replacement of a `Sub`.
#[derive(PassOptions)]
struct Options {
    /// Its replacement of a `Sub`.
    gives: Gives,
}

/// Replaces `Sub`.
#[rewrite_pass(name = "untrue.Rewrite", ops = ["Sub"], parallel = false)]
fn rewrite(call: CallView<'_>, cx: &mut RewriteCx<'_>, options: &Options) -> Rewrite {
    static KEPT: Mutex<Option<NodeId>> = Mutex::new(None);
    let (a, b) = (call.args()[0], call.args()[1]);
    let new = match options.gives {
        Gives::Right => {
            let minus = cx.call("Neg", &[b]);
            cx.call("Add", &[a, minus])
        }
        Gives::OtherShape => cx.constant(Tensor::from_f32(&[7], &[0.0; 7])),
        Gives::OtherElem => cx.call_with("Cast", &[a], vec![Attr::new("to", 7)]),
        Gives::StaleId => {
            let made = cx.call("Exp", &[a]);
            match KEPT.lock().expect("nobody panics with it").replace(made) {
                Some(stale) => stale,
                None => return Rewrite::Keep,
            }
        }
        Gives::NoArgument => cx.call("Neg", &[NodeId(0x7fff_ffff)]),
        Gives::Later => {
            let f = cx.function();
            cx.call("Neg", &f.bindings(f.body())[f.bindings(f.body()).len() - 1..])
        }
        Gives::ManyArguments => cx.call("Neg", &[a, b, a]),
        Gives::UnknownAttribute => cx.call_with("Softmax", &[a], vec![Attr::new("axes", 1)]),
        Gives::AttributeKind => cx.call_with("Softmax", &[a], vec![Attr::new("axis", "hello")]),
        Gives::Typo => cx.call("Subtract", &[a, b]),
        Gives::Types => cx.call("MatMul", &[a, b]),
        Gives::NoGroups => cx.call_in("untrue", "Groups", &[a], vec![Attr::new("groups", 0)]),
        Gives::TwoGroups => cx.call_in("untrue", "Groups", &[a], vec![Attr::new("groups", 2)]),
        Gives::VerifyLong => cx.call_in("untrue", "VerifyLong", &[a], Vec::new()),
        Gives::VerifyPanics => cx.call_in("untrue", "VerifyPanics", &[a], Vec::new()),
        Gives::VerifyKind => cx.call_in("untrue", "VerifyKind", &[a], Vec::new()),
        Gives::OtherDomain => cx.call_in("untrue", "Honest", &[a], Vec::new()),
    };
    Rewrite::Replace(new)
}
