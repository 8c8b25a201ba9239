//! Shared code of the tests of ONNX: finding models, and recreating every node of a module.
#![allow(dead_code, reason = "each test crate uses a part")]

pub mod proto;

use relais_plugin_api::ir::{Attr, AttrData, AttrValue, ConstForm, Function, IRModule, NodeId, Tensor, flag, kind};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A folder for one test's files, removed when the value goes.
pub struct TempFolder(PathBuf);

impl TempFolder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("relais-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The information that a recreated node loses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Forget {
    /// Where it was read from.
    Provenance,
    /// That, and how its tensors were encoded: the rest is what a text form would carry.
    Encodings,
}

/// Recreates every node of every function.
pub fn touch_all(module: &mut IRModule, forget: Forget) {
    let names: Vec<String> = module.functions().map(|(name, _)| name.to_owned()).collect();
    for name in names {
        touch_function(module.function_mut(&name).unwrap(), forget);
    }
    if forget == Forget::Encodings {
        module.sources.clear();
    }
}

/// The tensor without its encoding.
fn bare(tensor: &Tensor) -> Tensor {
    Tensor::dense(tensor.elem(), tensor.dims(), tensor.to_bytes().into_owned()).unwrap()
}

/// A copy of a node whose tensors do not know their encodings.
fn bare_copy(f: &mut Function, old: NodeId) -> NodeId {
    let copy = match f.constant(old).map(bare) {
        Some(tensor) => {
            let form = ConstForm(f.node(old).aux);
            let copy = f.add_constant(tensor, form);
            f.inherit_value(copy, old);
            copy
        }
        None => f.add_copy(old),
    };
    if f.node(old).flags & flag::LISTED_INPUT != 0 {
        f.set_listed_input(copy);
    }
    if let Some(value) = f.default_value(old).map(bare) {
        f.set_default_value(copy, value);
    }
    let mut recs = f.attr_recs(old).to_vec();
    for rec in &mut recs {
        let value = match f.attrs(old).decode(*rec) {
            AttrValue::Tensor(tensor) => AttrData::Tensor(bare(tensor)),
            AttrValue::Tensors(list) => AttrData::Tensors(list.tensors().map(bare).collect()),
            _ => continue,
        };
        let name = f.str(rec.name).to_owned();
        *rec = f.encode_attr(&Attr { name: name.into(), value, flags: rec.flags });
    }
    f.set_attr_recs(copy, &recs);
    copy
}

fn copy_node(f: &mut Function, old: NodeId, forget: Forget) -> NodeId {
    match forget {
        Forget::Provenance => f.add_copy(old),
        Forget::Encodings => bare_copy(f, old),
    }
}

/// A function whose block is being copied.
struct Frame {
    old: NodeId,
    params: Vec<NodeId>,
    next: usize,
    bindings: Vec<NodeId>,
    regions: Vec<NodeId>,
}

fn open(f: &mut Function, map: &mut [NodeId], old: NodeId, forget: Forget) -> Frame {
    let mut params = Vec::new();
    for param in f.operands(old).to_vec() {
        let copy = copy_node(f, param, forget);
        map[param.index()] = copy;
        params.push(copy);
    }
    Frame { old, params, next: 0, bindings: Vec::new(), regions: Vec::new() }
}

fn touch_function(f: &mut Function, forget: Forget) {
    let root = f.root();
    let mut map: Vec<NodeId> = (0..f.n_nodes()).map(NodeId::from_index).collect();
    let mut frames = vec![open(f, &mut map, root, forget)];
    while let Some(frame) = frames.last_mut() {
        let block = f.block_of(frame.old);
        if let Some(&old) = f.bindings(block).get(frame.next) {
            if let Some(&region) = f.regions(old).get(frame.regions.len()) {
                let inner = open(f, &mut map, region, forget);
                frames.push(inner);
                continue;
            }
            let copy = copy_node(f, old, forget);
            let n_regions = frame.regions.len();
            let operands = f.operands(copy).to_vec();
            let first_region = operands.len() - n_regions;
            for (index, operand) in operands.into_iter().enumerate() {
                let new = match index.checked_sub(first_region) {
                    Some(region) => frame.regions[region],
                    None => map[operand.index()],
                };
                if new != operand {
                    f.set_operand(copy, index, new);
                }
            }
            f.touch(copy);
            map[old.index()] = copy;
            frame.bindings.push(copy);
            frame.regions.clear();
            frame.next += 1;
            continue;
        }
        let Frame { old, params, bindings, .. } = frames.pop().unwrap();
        let results: Vec<NodeId> = f.results(block).iter().map(|result| map[result.index()]).collect();
        let attrs = f.attr_recs(old).to_vec();
        let new = if old == root {
            f.set_params(root, &params);
            root
        } else {
            f.add_function(&params)
        };
        f.set_attr_recs(new, &attrs);
        let block = f.block_of(new);
        f.set_bindings(block, &bindings);
        f.set_results(block, &results);
        if let Some(frame) = frames.last_mut() {
            frame.regions.push(new);
        }
    }
    assert!(f.bindings(f.body()).iter().all(|&id| !f.is_pristine(id) || f.kind(id) == kind::OP));
}
