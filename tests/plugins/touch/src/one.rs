//! One node is changed.

use relais_plugin_api::{
    ir::{AttrData, ConstForm, attr_flag},
    prelude::*,
};

/// Which node [`touch_one`] changes.
#[derive(PassOptions)]
struct Options {
    /// The position of the node in the list of the main graph's nodes.
    #[option(range = 0..=4_294_967_295)]
    index: u64,
}

/// Gives one node of the main graph another documentation.
#[module_pass(name = "touch.TouchOne")]
fn touch_one(module: &mut IRModule, cx: &PassCx<'_>, options: &Options) -> Result<(), PassError> {
    let f = module.function_mut(MAIN).ok_or_else(|| PassError::new("the module has no main function"))?;
    let is_node = |id: NodeId| match f.expr(id) {
        // An initializer whose elements have no form of their own here is also a call.
        Expr::Call(_) => f.attrs(id).meta("initializer_list").is_none(),
        Expr::If(_) => true,
        Expr::Constant(_) => ConstForm(f.node(id).aux) != ConstForm::INITIALIZER,
        _ => false,
    };
    let nodes = f.bindings(f.body()).iter().copied().filter(|&id| is_node(id));
    let Some(node) = nodes.clone().nth(options.index as usize) else {
        return Err(PassError::new(format!("the graph has {} nodes", nodes.count())));
    };
    let mut attrs = crate::attributes(f, node);
    attrs.retain(|attr| attr.name != "doc" || attr.flags & attr_flag::META == 0);
    attrs.push(Attr::meta("doc", AttrData::String(b"touched".to_vec())));
    f.set_attrs(node, &attrs);
    cx.diagnostic(Diagnostic::note("touched").at(node));
    Ok(())
}
