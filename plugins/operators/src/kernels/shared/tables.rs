//! Elements found by tables along each axis.

use super::{Done, declined, sizes_of, terms::Terms, viewed, wide};
use relais_plugin_api::{
    ir::{ElemType, NodeId, Tensor},
    op::OpError,
    prim::PrimBuilder,
};

/// The elements of an axis that make one of the result, and the weight of each. All have as many.
pub struct Taps {
    pub axis: usize,
    /// By tap, then by element of the result.
    pub from: Vec<Vec<i64>>,
    pub weights: Vec<Vec<f64>>,
}

/// An axis of the result, and the memory of its taps.
pub enum Along {
    /// The element at the same index.
    Same,
    /// One element.
    Table(NodeId),
    /// A weighted sum of elements.
    Weighted(Vec<(NodeId, NodeId)>),
}

/// Fills a result from elements that are found by tables. Other axes stay.
pub fn by_tables(b: &mut PrimBuilder<'_>, x: NodeId, y: NodeId, taps: &[Taps], elem: ElemType) -> Done {
    let (of_x, of_y) = (sizes_of(b, x), sizes_of(b, y));
    // Axes next to each other that stay are one.
    let (mut in_x, mut in_y, mut along) = (Vec::new(), Vec::new(), Vec::new());
    for (axis, (&size, &made)) in of_x.iter().zip(&of_y).enumerate() {
        match taps.iter().find(|taps| taps.axis == axis) {
            None if size != made => return declined("an axis has another size than its result"),
            None if matches!(along.last(), Some(Along::Same)) => {
                for sizes in [&mut in_x, &mut in_y] {
                    if let Some(last) = sizes.last_mut() {
                        *last *= size;
                    }
                }
                continue;
            }
            None => along.push(Along::Same),
            Some(taps) if taps.weights.is_empty() => {
                let table = taps.from.first().map_or(&[][..], |from| from);
                along.push(Along::Table(index_table(b, table)?));
            }
            Some(taps) => {
                let mut pairs = Vec::new();
                for (from, weights) in taps.from.iter().zip(&taps.weights) {
                    let Some(weights) = Tensor::from_f64s(wide(elem), &[made], weights) else {
                        return declined("its elements are not floating-point numbers");
                    };
                    pairs.push((index_table(b, from)?, b.constant(weights)));
                }
                along.push(Along::Weighted(pairs));
            }
        }
        in_x.push(size);
        in_y.push(made);
    }
    let (x, y) = (viewed(b, x, &in_x), viewed(b, y, &in_y));
    loops(b, &Loops { x, y, sizes: &in_y, along: &along, elem }, &mut Vec::new(), &mut Vec::new());
    Ok(())
}

/// Memory with indices, in as few bytes as they need.
pub fn index_table(b: &mut PrimBuilder<'_>, indices: &[i64]) -> Result<NodeId, OpError> {
    let small: Option<Vec<[u8; 4]>> = indices.iter().map(|&at| i32::try_from(at).ok().map(i32::to_le_bytes)).collect();
    let table = small
        .and_then(|bytes| Tensor::dense(ElemType::INT32, &[indices.len() as u64], bytes.as_flattened().to_vec()).ok());
    table.map(|table| b.constant(table)).ok_or_else(|| OpError::unsupported("an axis is too long for its table"))
}

pub struct Loops<'a> {
    x: NodeId,
    y: NodeId,
    sizes: &'a [u64],
    along: &'a [Along],
    elem: ElemType,
}

/// The indices along an axis from which elements are taken, and their weights.
pub type Found = Vec<(NodeId, Option<NodeId>)>;

pub fn loops(b: &mut PrimBuilder<'_>, l: &Loops<'_>, at: &mut Vec<NodeId>, found: &mut Vec<Found>) {
    let Some(&size) = l.sizes.get(at.len()) else {
        let value = weighted(b, l, found, &mut Vec::new());
        let value = b.cast(value, l.elem);
        b.store(l.y, value, at);
        return;
    };
    b.over(size, |b, index| {
        found.push(match &l.along[at.len()] {
            Along::Same => vec![(index, None)],
            Along::Table(table) => vec![(b.load(*table, &[index]), None)],
            Along::Weighted(pairs) => {
                let pair =
                    |&(from, weight): &(NodeId, NodeId)| (b.load(from, &[index]), Some(b.load(weight, &[index])));
                pairs.iter().map(pair).collect()
            }
        });
        at.push(index);
        loops(b, l, at, found);
    });
}

/// The sum over the elements along the axes that are left.
pub fn weighted(b: &mut PrimBuilder<'_>, l: &Loops<'_>, found: &[Found], from: &mut Vec<NodeId>) -> NodeId {
    let Some((first, rest)) = found.split_first() else {
        let value = b.load(l.x, from);
        let is_sum = l.along.iter().any(|along| matches!(along, Along::Weighted(_)));
        return if is_sum { b.cast(value, wide(l.elem)) } else { value };
    };
    let mut sum = None;
    for &(index, weight) in first {
        from.push(index);
        let mut value = weighted(b, l, rest, from);
        from.pop();
        if let Some(weight) = weight {
            value = b.mul(weight, value);
        }
        sum = Some(match sum {
            Some(sum) => b.add(sum, value),
            None => value,
        });
    }
    sum.unwrap_or(l.x)
}
