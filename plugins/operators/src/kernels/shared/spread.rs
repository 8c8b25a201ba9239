//! Broadcasting.

use super::{Done, declined, sizes_of, terms::Terms, viewed, volume};
use relais_plugin_api::{ir::NodeId, op::OpError, prim::PrimBuilder};

/// The loops over a result to whose sizes arguments are broadcast. Axes next to each other are one where all arguments
/// have both or neither.
pub struct Spread {
    /// The sizes of the loops.
    pub sizes: Vec<u64>,
    /// By argument: the loops along which it has elements of its own.
    loops: Vec<Vec<usize>>,
}

impl Spread {
    pub fn new(result: &[u64], arguments: &[&[u64]]) -> Result<Self, OpError> {
        let mut spread = Self { sizes: Vec::new(), loops: vec![Vec::new(); arguments.len()] };
        let mut last: Option<Vec<bool>> = None;
        for (at, &size) in result.iter().enumerate() {
            let from_end = result.len() - at;
            let mut own = Vec::with_capacity(arguments.len());
            for sizes in arguments {
                let given = sizes.len().checked_sub(from_end).map_or(1, |at| sizes[at]);
                if sizes.len() > result.len() || given != size && given != 1 {
                    return declined("an argument is not broadcast to its result");
                }
                own.push(given == size);
            }
            if size == 1 {
                continue;
            }
            if last.as_ref() == Some(&own) {
                if let Some(merged) = spread.sizes.last_mut() {
                    *merged *= size;
                }
                continue;
            }
            for (loops, _) in spread.loops.iter_mut().zip(&own).filter(|&(_, &own)| own) {
                loops.push(spread.sizes.len());
            }
            spread.sizes.push(size);
            last = Some(own);
        }
        Ok(spread)
    }

    /// The shape in which an argument is seen, which ends with axes that have nothing to do with broadcasting.
    pub fn shape(&self, argument: usize, more: &[u64]) -> Vec<u64> {
        self.loops[argument].iter().map(|&at| self.sizes[at]).chain(more.iter().copied()).collect()
    }

    /// The indices of an argument in a turn of the loops.
    pub fn at(&self, argument: usize, turn: &[NodeId], more: &[NodeId]) -> Vec<NodeId> {
        self.loops[argument].iter().map(|&at| turn[at]).chain(more.iter().copied()).collect()
    }
}

/// Sets each element of a result to what `value` makes of those of arguments, which are broadcast to it.
pub fn map<'b>(
    b: &mut PrimBuilder<'b>,
    inputs: &[NodeId],
    y: NodeId,
    value: impl FnOnce(&mut PrimBuilder<'b>, &[NodeId]) -> NodeId,
) -> Done {
    let inputs: Vec<(NodeId, Vec<u64>)> = inputs.iter().map(|&input| (input, sizes_of(b, input))).collect();
    let sizes = sizes_of(b, y);
    map_as(b, &inputs, y, &sizes, value)
}

/// As [`map`], with the shapes in which the arguments and the result are seen.
pub fn map_as<'b>(
    b: &mut PrimBuilder<'b>,
    inputs: &[(NodeId, Vec<u64>)],
    y: NodeId,
    sizes: &[u64],
    value: impl FnOnce(&mut PrimBuilder<'b>, &[NodeId]) -> NodeId,
) -> Done {
    let shapes: Vec<&[u64]> = inputs.iter().map(|(_, sizes)| &**sizes).collect();
    let spread = Spread::new(sizes, &shapes)?;
    if volume(sizes) == 0 {
        return Ok(());
    }
    let memory: Vec<NodeId> =
        inputs.iter().enumerate().map(|(at, &(input, _))| viewed(b, input, &spread.shape(at, &[]))).collect();
    let y = viewed(b, y, &spread.sizes);
    let mut loaded = vec![None; memory.len()];
    let body = |b: &mut PrimBuilder<'b>, turn: &[NodeId], values: &[NodeId]| {
        let value = value(b, values);
        b.store(y, value, turn);
    };
    level(b, &spread, &memory, &mut Vec::new(), &mut loaded, Box::new(body));
    Ok(())
}

/// The innermost part: it gets the indices and the elements.
type Body<'f, 'b> = Box<dyn FnOnce(&mut PrimBuilder<'b>, &[NodeId], &[NodeId]) + 'f>;

/// Loads what the loops so far determine, and goes on with the next loop.
fn level<'b>(
    b: &mut PrimBuilder<'b>,
    spread: &Spread,
    memory: &[NodeId],
    turn: &mut Vec<NodeId>,
    loaded: &mut [Option<NodeId>],
    body: Body<'_, 'b>,
) {
    for (at, &memory) in memory.iter().enumerate() {
        if loaded[at].is_none() && spread.loops[at].last().is_none_or(|&last| last < turn.len()) {
            loaded[at] = Some(b.load(memory, &spread.at(at, turn, &[])));
        }
    }
    match spread.sizes.get(turn.len()) {
        Some(&size) => b.over(size, |b, at| {
            turn.push(at);
            level(b, spread, memory, turn, loaded, body);
        }),
        None => {
            let values: Vec<NodeId> = loaded.iter().copied().flatten().collect();
            body(b, turn, &values);
        }
    }
}
