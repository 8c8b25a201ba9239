//! Two rewrites that give each other work, and a pipeline that runs them until nothing changes.

use relais_plugin_api::prelude::*;

plugin! { description = "moves transposes to the end of a model and cancels them" }

pipeline! { name = "layout.Settle", toml = include_str!("settle.toml") }

/// Moves a `Transpose` behind a call that works on each element by itself.
#[rule_pass(name = "layout.SinkTranspose", opt_level = 1)]
const SINK: &str = "
    relu: Relu(Transpose{perm = p}(x)) => Transpose{perm = p}(Relu(x));
    neg: Neg(Transpose{perm = p}(x)) => Transpose{perm = p}(Neg(x));
    sigmoid: Sigmoid(Transpose{perm = p}(x)) => Transpose{perm = p}(Sigmoid(x));
    both: Add(Transpose{perm = p}(x), Transpose{perm = p}(y)) => Transpose{perm = p}(Add(x, y)) if shape(x) == shape(y)
";

/// Removes two `Transpose` of which one undoes the other.
#[rewrite_pass(name = "layout.CancelTranspose", opt_level = 1, ops = ["Transpose"])]
pub fn cancel(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    let Some(first) = call.arg(0).and_then(|arg| cx.call_of_op(arg, "Transpose")) else { return Rewrite::Keep };
    let (Some(x), Some(inner), Some(outer)) = (first.arg(0), first.attrs().ints("perm"), call.attrs().ints("perm"))
    else {
        return Rewrite::decline("the axes are not known");
    };
    // Axis `i` of the result is axis `inner[outer[i]]` of the argument.
    let at = |axis: i64| usize::try_from(axis).ok().and_then(|axis| inner.get(axis)).copied();
    match inner.len() == outer.len() && outer.iter().zip(0..).all(|(&axis, i)| at(axis) == Some(i)) {
        true => Rewrite::Replace(x),
        false => Rewrite::decline("one does not undo the other"),
    }
}

#[cfg(test)]
mod tests {
    use relais_graph as _;
    use relais_operators as _;
    use relais_plugin_api::testing::Trial;

    const TWO: &str = "def @main(%x: Tensor[(2, 3, 4), float32]) #[opset = {\"\": 18}] {
        %a = Transpose(%x, perm = [1, 2, 0]);
        %b = Relu(%a);
        %c = Transpose(%b, perm = [2, 0, 1]);
        %c
    }";

    #[test]
    fn a_transpose_sinks_and_meets_another() {
        let sunk = Trial::of("layout.SinkTranspose").run(TWO).unwrap().text;
        assert!(sunk.contains("Relu(%x)"), "{sunk}");
        let settled = Trial::of("layout.CancelTranspose").run(&sunk).unwrap().text;
        assert!(!settled.contains("perm = [2, 0, 1]"), "{settled}");
    }

    #[test]
    fn one_that_something_else_uses_stays_where_it_is() {
        let text = TWO.replace("%c\n", "(%a, %c)\n");
        assert!(!Trial::of("layout.SinkTranspose").run(&text).unwrap().changed);
    }

    #[test]
    fn the_same_permutation_twice_is_not_an_inverse() {
        let text = "def @main(%x: Tensor[(2, 3, 4), float32]) #[opset = {\"\": 18}] {
            %a = Transpose(%x, perm = [1, 2, 0]);
            %b = Transpose(%a, perm = [1, 2, 0]);
            %b
        }";
        let outcome = Trial::of("layout.CancelTranspose").run(text).unwrap();
        assert_eq!((outcome.changed, outcome.declined()), (false, vec!["one does not undo the other"]));
    }
}
