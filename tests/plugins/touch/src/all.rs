//! Every node is made again.

use relais_plugin_api::{
    ir::{ConstForm, flag},
    prelude::*,
};

/// Makes every node of a function again through the public interface, so that nothing remains of where it was read
/// from, and reports their number. It fails if one was left out.
#[function_pass(name = "touch.TouchAll")]
fn touch_all(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let f = edit.function_mut();
    let (root, n_old) = (f.root(), f.n_nodes());
    let mut copies = Copies { new: vec![NodeId::ABSENT; n_old], n_bindings: 0, n_params: 0, n_functions: 0 };
    let params = copies.params(f, root);
    f.set_params(root, &params);
    let attrs = crate::attributes(f, root);
    f.set_attrs(root, &attrs);
    // Blocks whose bindings are still the old ones, each with the function that takes the new ones.
    let mut open = vec![(f.body(), root)];
    let mut done = Vec::new();
    while let Some((block, function)) = open.pop() {
        let old = f.bindings(block).to_vec();
        let mut bindings = Vec::new();
        for id in old {
            for region in f.regions(id).to_vec() {
                open.push((f.block_of(region), copies.function(f, region)));
            }
            if let Expr::Function(view) = f.expr(id) {
                open.push((view.block(), copies.function(f, id)));
            } else {
                copies.binding(f, id)?;
            }
            bindings.push(copies.new[id.index()]);
        }
        let results = f.results(block).to_vec();
        let to = f.block_of(function);
        f.set_bindings(to, &bindings);
        done.push((to, results));
    }
    for (block, results) in &done {
        for id in f.bindings(*block).to_vec() {
            f.map_operands(id, |operand| copies.get(operand));
        }
        let results: Vec<NodeId> = results.iter().map(|&id| copies.get(id)).collect();
        f.set_results(*block, &results);
    }
    check(f, n_old, &copies)?;
    let Copies { n_bindings, n_params, n_functions, .. } = copies;
    let said = format!("made anew: {n_bindings} bindings, {n_params} parameters, {n_functions} functions");
    cx.diagnostic(Diagnostic::note(said).at(root));
    Ok(())
}

/// The same elements, without the form they had in the file.
pub fn tensor(tensor: &Tensor) -> Tensor {
    let (elem, dims) = (tensor.elem(), tensor.dims());
    let made = match (tensor.as_splat(), tensor.as_dense()) {
        (Some(element), _) => Tensor::splat(elem, dims, element),
        (None, Some(bytes)) => Tensor::dense(elem, dims, bytes.clone()),
        (None, None) => panic!("a tensor is dense or a splat"),
    };
    made.expect("what one tensor holds, another can hold")
}

/// The copies of nodes.
struct Copies {
    new: Vec<NodeId>,
    n_bindings: usize,
    n_params: usize,
    n_functions: usize,
}

impl Copies {
    fn get(&self, id: NodeId) -> NodeId {
        match self.new.get(id.index()) {
            Some(&new) if !new.is_absent() => new,
            _ => id,
        }
    }

    fn params(&mut self, f: &mut Function, function: NodeId) -> Vec<NodeId> {
        let Expr::Function(view) = f.expr(function) else { return Vec::new() };
        let old = view.params().to_vec();
        self.n_params += old.len();
        old.iter().map(|&id| self.param(f, id)).collect()
    }

    fn param(&mut self, f: &mut Function, id: NodeId) -> NodeId {
        let ty = f.type_id(id);
        let new = f.add_var("", ty);
        if let Some(value) = f.default_value(id).map(tensor) {
            f.set_default_value(new, value);
        }
        self.describe(f, id, new);
        new
    }

    fn function(&mut self, f: &mut Function, id: NodeId) -> NodeId {
        let params = self.params(f, id);
        let new = f.add_function(&params);
        self.describe(f, id, new);
        self.n_functions += 1;
        new
    }

    fn binding(&mut self, f: &mut Function, id: NodeId) -> Result<(), PassError> {
        let n_results = f.n_results(id).map(|n| n as u16);
        let regions = f.regions(id).to_vec();
        let new = match f.expr(id) {
            Expr::Constant(value) => {
                let (value, form) = (tensor(value), ConstForm(f.node(id).aux));
                f.add_constant(value, form)
            }
            Expr::Tuple(fields) => {
                let fields = fields.to_vec();
                f.add_tuple(&fields)
            }
            Expr::TupleGetItem { tuple, index } => f.add_tuple_get_item(tuple, index as u16),
            Expr::Call(call) => {
                let (callee, args) = (call.callee(), call.args().to_vec());
                let callee = match f.expr(callee) {
                    Expr::GlobalVar(name) => {
                        let name = name.to_owned();
                        f.add_global_var(&name)
                    }
                    _ => callee,
                };
                f.add_call_with(callee, &args, &regions, n_results)
            }
            Expr::If(view) => {
                let (cond, then, otherwise) = (view.cond(), view.then_branch(), view.else_branch());
                f.add_if(cond, then, otherwise, n_results)
            }
            other => return Err(PassError::new(format!("a binding of an unknown kind: {other:?}"))),
        };
        if f.node(id).flags & flag::LISTED_INPUT != 0 {
            f.set_listed_input(new);
        }
        f.set_let(new, f.let_form(id));
        self.describe(f, id, new);
        self.n_bindings += 1;
        Ok(())
    }

    /// Name, type and attributes.
    fn describe(&mut self, f: &mut Function, old: NodeId, new: NodeId) {
        let attrs = crate::attributes(f, old);
        f.inherit_value(new, old);
        let ty = f.type_id(old);
        f.set_type(new, ty);
        f.set_attrs(new, &attrs);
        self.new[old.index()] = new;
    }
}

/// Walks the function as it is now: all nodes must be new, and as many as were made.
fn check(f: &Function, n_old: usize, copies: &Copies) -> Result<(), PassError> {
    let mut n_bindings = 0;
    let mut n_functions = 0;
    let mut blocks = vec![f.body()];
    while let Some(block) = blocks.pop() {
        for &id in f.bindings(block) {
            let functions = f.regions(id).iter().chain([&id]).filter(|&&id| matches!(f.expr(id), Expr::Function(_)));
            let before = blocks.len();
            blocks.extend(functions.map(|&id| f.block_of(id)));
            n_functions += blocks.len() - before;
            n_bindings += usize::from(!matches!(f.expr(id), Expr::Function(_)));
            for &node in f.regions(id).iter().chain([&id]).chain(f.operands(id)) {
                let is_old = node.index() < n_old && !matches!(f.expr(node), Expr::Op(_) | Expr::Absent);
                if is_old || f.is_pristine(node) || f.span(node).is_some() {
                    return Err(PassError::new(format!("`{node}` was not made anew")));
                }
            }
        }
    }
    if (n_bindings, n_functions) != (copies.n_bindings, copies.n_functions) || f.span(f.root()).is_some() {
        return Err(PassError::new("the function is not what was made"));
    }
    Ok(())
}
