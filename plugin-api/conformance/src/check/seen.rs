//! The parts of a module that no run reached.

use relais_plugin_api::{ir::*, text::display};
use std::{
    collections::{HashMap, HashSet},
    fmt, ptr,
    sync::{Mutex, PoisonError},
};

/// A block, with the address of its function.
type At = (usize, BlockId);

fn at(function: &Function, block: BlockId) -> At {
    (ptr::from_ref(function).addr(), block)
}

/// The blocks that ran, in any number of runs of one module.
#[derive(Default)]
pub struct Seen {
    blocks: Mutex<HashSet<At>>,
}

/// A part of a module that did not run.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Unseen {
    /// The function of the module.
    pub function: String,
    /// The name of the node that has the block; empty for the body of the function.
    pub node: String,
    /// Which of its blocks: `then`, `else` or `body`.
    pub block: &'static str,
}

impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { function, node, block } = self;
        match node.as_str() {
            "" => write!(f, "function `{function}`"),
            _ if function == MAIN => write!(f, "`{block}` of `{node}`"),
            _ => write!(f, "`{block}` of `{node}` in function `{function}`"),
        }
    }
}

impl Seen {
    pub(super) fn enter(&self, function: &Function, block: BlockId) {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.insert(at(function, block));
    }

    /// Returns the parts of a module that did not run, apart from those within others, and from those that `before` has with
    /// the same contents.
    pub fn unseen_changes(&self, module: &IRModule, before: &IRModule) -> Vec<Unseen> {
        let old: HashMap<Unseen, String> = parts(before).into_iter().map(|part| (part.name, part.contents)).collect();
        let blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let is_unseen =
            |part: &Part| !blocks.contains(&part.at) && part.within.is_none_or(|within| blocks.contains(&within));
        let unseen = parts(module).into_iter().filter(is_unseen);
        unseen.filter(|part| old.get(&part.name) != Some(&part.contents)).map(|part| part.name).collect()
    }
}

struct Part {
    name: Unseen,
    at: At,
    /// The block that it is in.
    within: Option<At>,
    contents: String,
}

/// The bodies of all functions, and the blocks of nodes in them.
fn parts(module: &IRModule) -> Vec<Part> {
    let mut parts = Vec::new();
    for (name, f) in module.functions() {
        let part = |node: String, block, id, within| Part {
            name: Unseen { function: name.to_owned(), node, block },
            at: at(f, id),
            within,
            contents: contents(f, id),
        };
        parts.push(part(String::new(), "body", f.body(), None));
        let mut open = Vec::new();
        let mut walk = Walk::new(f);
        while let Some(step) = walk.next(f) {
            match step {
                WalkStep::Enter(block) => open.push(at(f, block)),
                WalkStep::Exit(_) => _ = open.pop(),
                WalkStep::Binding(id) => {
                    let words: &[&'static str] = if f.kind(id) == kind::IF { &["then", "else"] } else { &["body"] };
                    let blocks = f.regions(id).iter().map(|&region| f.block_of(region)).zip(words);
                    parts.extend(blocks.map(|(block, word)| part(name_of(f, id), word, block, open.last().copied())));
                }
                WalkStep::Leave(_) => {}
            }
        }
    }
    parts
}

/// The name of a node, or otherwise that of its first result.
fn name_of(f: &Function, id: NodeId) -> String {
    let is_result = |user: &NodeId| matches!(f.expr(*user), Expr::TupleGetItem { tuple, .. } if tuple == id);
    let named = Some(id).filter(|&id| !f.name(id).is_empty()).or_else(|| f.all_bindings().find(is_result));
    named.map_or_else(|| id.to_string(), |id| f.name(id).to_owned())
}

/// The text of all nodes in a block, and the names of its results.
fn contents(f: &Function, block: BlockId) -> String {
    let mut text = String::new();
    let mut walk = Walk::block(block);
    while let Some(step) = walk.next(f) {
        if let WalkStep::Binding(id) = step {
            text.push_str(&format!("{}\n", display(f, id)));
        }
    }
    f.results(block).iter().for_each(|&result| text.push_str(f.name(result)));
    text
}
