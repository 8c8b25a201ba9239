//! Nodes out of order: a stable topological order of every graph that needs one.

use super::parts::{Form, Nodes, collect, sparse_name};
use crate::{
    error::{ErrorKind, OnnxError, Result},
    names::{FastMap, FastSet},
    schema::{attribute, node, tensor, value_info},
    wire::{Part, Scan},
};
use std::{cmp::Reverse, collections::BinaryHeap};

/// The names a node uses, in itself and from inside its graphs, and those it defines.
#[derive(Default)]
struct NodeNames<'a> {
    name: &'a str,
    uses: Vec<&'a str>,
    defines: Vec<&'a str>,
    /// Graphs whose uses are still to be added.
    graphs: Vec<Vec<Part>>,
}

struct Frame<'a> {
    /// Where the graph starts.
    at: u64,
    /// Names that the graph defines without a node.
    given: FastSet<&'a str>,
    parts: Nodes<'a>,
    nodes: Vec<NodeNames<'a>>,
}

/// The order of the nodes of each graph whose nodes are not in order, by where the graph starts.
pub(super) fn orders(bytes: &[u8], segments: &[Part], form: Form) -> Result<FastMap<u64, Vec<u32>>> {
    let mut orders = FastMap::default();
    let mut frames = vec![open(bytes, segments, form)?];
    while let Some(frame) = frames.last_mut() {
        if let Some(graph) = frame.nodes.last_mut().and_then(|node| node.graphs.pop()) {
            frames.push(open(bytes, &graph, Form::Graph)?);
        } else if let Some(part) = frame.parts.next()? {
            frame.nodes.push(node_names(bytes, part)?);
        } else if let Some(frame) = frames.pop() {
            let (order, free) = order(&frame)?;
            orders.extend(order.map(|order| (frame.at, order)));
            if let Some(node) = frames.last_mut().and_then(|outer| outer.nodes.last_mut()) {
                node.uses.extend(free);
            }
        }
    }
    Ok(orders)
}

fn text(bytes: &[u8], part: Part) -> &str {
    std::str::from_utf8(part.of(bytes)).unwrap_or_default()
}

fn open<'a>(bytes: &'a [u8], segments: &[Part], form: Form) -> Result<Frame<'a>> {
    let parts = collect(bytes, segments, form)?;
    let mut given = FastSet::default();
    for &part in &parts.inputs {
        given.insert(if form == Form::Function {
            text(bytes, part)
        } else {
            field_text(bytes, part, value_info::NAME)?
        });
    }
    for &part in &parts.initializers {
        given.insert(field_text(bytes, part, tensor::NAME)?);
    }
    for &part in &parts.sparse {
        given.insert(sparse_name(bytes, part)?);
    }
    let at = segments.first().map_or(0, |part| part.at);
    Ok(Frame { at, given, parts: Nodes::new(bytes, segments, form), nodes: Vec::new() })
}

fn field_text(bytes: &[u8], part: Part, number: u32) -> Result<&str> {
    let mut found = "";
    let mut scan = Scan::part(bytes, part);
    while let Some(field) = scan.field()? {
        if field.number == number {
            found = field.str()?;
        }
    }
    Ok(found)
}

fn node_names(bytes: &[u8], part: Part) -> Result<NodeNames<'_>> {
    let mut names = NodeNames::default();
    let mut scan = Scan::part(bytes, part);
    while let Some(field) = scan.field()? {
        match field.number {
            node::NAME => names.name = field.str()?,
            node::INPUT => names.uses.push(field.str()?),
            node::OUTPUT => names.defines.push(field.str()?),
            node::ATTRIBUTE => {
                let mut one = Vec::new();
                let mut scan = Scan::part(bytes, field.part()?);
                while let Some(field) = scan.field()? {
                    match field.number {
                        attribute::G => one.push(field.part()?),
                        attribute::GRAPHS => names.graphs.push(vec![field.part()?]),
                        _ => {}
                    }
                }
                if !one.is_empty() {
                    names.graphs.push(one);
                }
            }
            _ => {}
        }
    }
    Ok(names)
}

/// The order of a graph's nodes, where it is not the given one, and the names that the graph takes from outside.
fn order<'a>(frame: &Frame<'a>) -> Result<(Option<Vec<u32>>, FastSet<&'a str>)> {
    let mut producers: FastMap<&str, usize> = FastMap::default();
    for (index, node) in frame.nodes.iter().enumerate() {
        producers.extend(node.defines.iter().filter(|name| !name.is_empty()).map(|&name| (name, index)));
    }
    let mut free = FastSet::default();
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); frame.nodes.len()];
    let mut missing = vec![0usize; frame.nodes.len()];
    for (index, node) in frame.nodes.iter().enumerate() {
        let uses: FastSet<&str> = node.uses.iter().copied().filter(|name| !name.is_empty()).collect();
        for name in uses {
            if frame.given.contains(name) {
                continue;
            }
            match producers.get(name) {
                Some(&producer) => {
                    users[producer].push(index);
                    missing[index] += 1;
                }
                None => {
                    free.insert(name);
                }
            }
        }
    }
    let mut ready: BinaryHeap<Reverse<usize>> =
        (0..missing.len()).filter(|&node| missing[node] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(missing.len());
    while let Some(Reverse(node)) = ready.pop() {
        order.push(node as u32);
        for &user in &users[node] {
            missing[user] -= 1;
            if missing[user] == 0 {
                ready.push(Reverse(user));
            }
        }
    }
    if order.len() < missing.len() {
        let stuck = frame.nodes.iter().zip(&missing).filter(|(_, missing)| **missing > 0).map(|(node, _)| node);
        let name = |node: &NodeNames<'_>| match node.name {
            "" => node.defines.first().copied().unwrap_or_default().to_owned(),
            name => name.to_owned(),
        };
        return Err(OnnxError::at(frame.at, ErrorKind::Cycle(stuck.take(8).map(name).collect())));
    }
    let is_sorted = order.iter().enumerate().all(|(index, &node)| index == node as usize);
    Ok(((!is_sorted).then_some(order), free))
}
