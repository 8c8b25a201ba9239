//! Parts of axes copied to parts of others.

use super::{terms::Terms, viewed};
use relais_plugin_api::{ir::NodeId, prim::PrimBuilder};

/// A part of an axis that is copied to a part of another one.
#[derive(Clone, Copy)]
pub struct Part {
    /// The sizes of both axes.
    pub x_size: u64,
    pub y_size: u64,
    /// How many elements are copied.
    pub count: u64,
    /// The first one of each axis.
    pub from: i64,
    pub to: i64,
    /// The distance between elements that are taken.
    pub step: i64,
}

impl Part {
    /// All of an axis.
    pub fn whole(size: u64) -> Self {
        Self { x_size: size, y_size: size, count: size, from: 0, to: 0, step: 1 }
    }

    fn is_whole(&self) -> bool {
        self.count == self.x_size && self.count == self.y_size && self.step == 1
    }
}

/// Copies a part of each axis. Axes whose parts are one piece of memory are one.
pub fn copy_part(b: &mut PrimBuilder<'_>, x: NodeId, y: NodeId, axes: &[Part]) {
    let mut parts: Vec<Part> = Vec::new();
    for &part in axes {
        match parts.last_mut() {
            Some(last) if part.is_whole() && last.step == 1 => {
                let size = part.count;
                let (from, to) = (last.from * size as i64, last.to * size as i64);
                let sizes = [last.x_size, last.y_size, last.count].map(|outer| outer * size);
                *last = Part { x_size: sizes[0], y_size: sizes[1], count: sizes[2], from, to, step: 1 };
            }
            _ => parts.push(part),
        }
    }
    if parts.iter().any(|part| part.count == 0) {
        return;
    }
    let sizes = |of: fn(&Part) -> u64| parts.iter().map(of).collect::<Vec<_>>();
    let (x, y) = (viewed(b, x, &sizes(|part| part.x_size)), viewed(b, y, &sizes(|part| part.y_size)));
    copy_along(b, (x, y), &parts, &mut (Vec::new(), Vec::new()));
}

pub fn copy_along(
    b: &mut PrimBuilder<'_>,
    memory: (NodeId, NodeId),
    parts: &[Part],
    at: &mut (Vec<NodeId>, Vec<NodeId>),
) {
    let Some((part, rest)) = parts.split_first() else {
        let value = b.load(memory.0, &at.0);
        b.store(memory.1, value, &at.1);
        return;
    };
    b.over(part.count, |b, index| {
        at.0.push(if part.step >= 0 {
            let from = b.times(index, part.step as u64);
            b.shifted(from, part.from)
        } else {
            let (back, start) = (b.times(index, part.step.unsigned_abs()), b.index(part.from));
            b.sub(start, back)
        });
        at.1.push(b.shifted(index, part.to));
        copy_along(b, memory, rest, at);
    });
}
