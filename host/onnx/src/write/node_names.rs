//! The names of nodes. No two nodes of a graph have the same: onnxruntime loads no model in which they do.
//!
//! A rewrite may repeat a call with its name while the first one stays, and inlining a function twice repeats what is in
//! it. A node that is as it was read keeps its name, and of others the first one.

use crate::{
    meta,
    names::{FastMap, FastSet},
};
use relais_plugin_api::ir::{AttrValue, BlockId, Function, NodeId, Walk, WalkStep};

/// The names of a function's nodes.
pub(super) struct NodeNames {
    /// Those that are others than in the function.
    made: FastMap<NodeId, Vec<u8>>,
}

impl NodeNames {
    pub fn new(f: &Function) -> Self {
        let mut names = Self { made: FastMap::default() };
        let mut walk = Walk::new(f);
        while let Some(step) = walk.next(f) {
            if let WalkStep::Enter(block) = step {
                names.visit(f, block);
            }
        }
        names
    }

    /// The name of a node; `None` if it has none.
    pub fn get<'n>(&'n self, f: &'n Function, node: NodeId) -> Option<&'n [u8]> {
        self.made.get(&node).map(Vec::as_slice).or_else(|| stated(f, node))
    }

    /// Names the nodes of a graph whose names others have.
    fn visit(&mut self, f: &Function, block: BlockId) {
        let of = |is_read: bool| {
            let nodes = f.bindings(block).iter().filter(move |&&id| f.is_pristine(id) == is_read);
            nodes.filter_map(|&id| Some((id, stated(f, id).filter(|name| !name.is_empty())?)))
        };
        // Almost always, there is nothing to do.
        let mut new = FastSet::default();
        let is_repeated = of(false).fold(false, |is_repeated, (_, name)| !new.insert(name) || is_repeated);
        if !is_repeated && (new.is_empty() || of(true).all(|(_, name)| !new.contains(name))) {
            return;
        }
        let mut taken: FastSet<Vec<u8>> = of(true).map(|(_, name)| name.to_vec()).collect();
        let mut numbers: FastMap<&[u8], u64> = FastMap::default();
        // Names that later nodes keep are not made.
        let mut left = new;
        for (node, name) in of(false) {
            if left.remove(name) && taken.insert(name.to_vec()) {
                continue;
            }
            let number = numbers.entry(name).or_default();
            let made = loop {
                *number += 1;
                let made = [name, format!("_{number}").as_bytes()].concat();
                if !left.contains(made.as_slice()) && taken.insert(made.clone()) {
                    break made;
                }
            };
            self.made.insert(node, made);
        }
    }
}

/// The name that a node has in the function.
fn stated(f: &Function, node: NodeId) -> Option<&[u8]> {
    match f.attrs(node).meta(meta::NAME) {
        Some(AttrValue::String(name)) => Some(name),
        _ => None,
    }
}
