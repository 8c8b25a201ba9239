//! A plugin as an author writes it.

use relais_plugin_api::prelude::*;

plugin! { description = "passes of a company that nobody here knows" }

/// The options of [`one_activation`].
#[derive(PassOptions)]
struct Options {
    /// The activation of which one is enough.
    #[option(default = "Relu")]
    activation: String,
}

/// Makes one activation of two in a row.
///
/// ```text
/// Relu(Relu(x))  ->  Relu(x)
/// ```
#[rewrite_pass(name = "acme.OneActivation", opt_level = 1)]
fn one_activation(call: CallView<'_>, cx: &mut RewriteCx<'_>, options: &Options) -> Rewrite {
    if !call.is_op(&options.activation) {
        return Rewrite::Keep;
    }
    match cx.call_of_op(call.args()[0], &options.activation) {
        Some(_) => Rewrite::Replace(call.args()[0]),
        None => Rewrite::decline("the argument is no activation"),
    }
}
