//! Convolutions.

use super::{
    matmul::zero_points,
    shared::{
        BLOCK, Done, add_products, declined, is_half, same_elem,
        terms::Terms,
        viewed, volume,
        window::{self, each_tap, each_window},
    },
};
use crate::calls::int;
use relais_operator_math::window::WindowAxis;
use relais_plugin_api::{
    ir::{ElemType, NodeId},
    op::{Kernel, OpCall, OpError},
    prim::PrimBuilder,
};

/// Channels of the result that are computed at once where its rows are shorter than that: the innermost loop is then over
/// them, not over a row.
const LANES: u64 = 8;

/// The most bytes that the sums of as many channels may take on the stack.
const MOST_SUMS: u64 = 1 << 12;

/// The fewest elements of a channel for which weights are brought in order.
const FEWEST_PIXELS: u64 = 8;

/// The memory of a call in the shapes in which it is seen, and its groups.
struct Conv {
    elem: ElemType,
    x: NodeId,
    w: NodeId,
    bias: Option<NodeId>,
    y: NodeId,
    n: u64,
    groups: u64,
    /// Channels of the input and of the result in each group.
    given: u64,
    made: u64,
    /// The spatial elements of the result.
    n_pixels: u64,
    /// Numbers that are subtracted from the elements of the input and of the weights.
    zeros: [Option<NodeId>; 2],
}

impl Conv {
    /// `channels` says how many the result has, from the weights and the number of groups.
    fn new(call: &OpCall<'_>, kernel: &mut Kernel<'_>, channels: impl Fn(&[u64], u64) -> u64) -> Result<Self, OpError> {
        let (x, w, y) = (kernel.needed_input(0)?, kernel.needed_input(1)?, kernel.output(0));
        let is_integer = call.op_name() == "ConvInteger";
        let bias = kernel.input(2).filter(|_| !is_integer);
        let elem = kernel.elem(y);
        if !is_integer {
            let inputs: Vec<NodeId> = [x, w, y].into_iter().chain(bias).collect();
            same_elem(kernel, &inputs)?;
        }
        if is_half(elem) {
            return declined("a sum of its elements loses too much in half precision");
        }
        let zeros = if is_integer { zero_points(kernel, 2)? } else { [None, None] };
        let (of_x, of_w, of_y) = (kernel.sizes(x), kernel.sizes(w), kernel.sizes(y));
        let groups = u64::try_from(int(call, "group")?).unwrap_or(0);
        let is_whole = |channels: u64| groups > 0 && channels.is_multiple_of(groups) && channels > 0;
        if of_x.len() < 3 || of_w.len() != of_x.len() || of_y.len() != of_x.len() {
            return declined("it has no spatial axis");
        }
        if !is_whole(of_x[1]) || !is_whole(of_y[1]) || channels(&of_w, groups) != of_y[1] {
            return declined("its channels do not make equal groups");
        }
        if bias.is_some_and(|bias| kernel.sizes(bias) != [of_y[1]]) {
            return Err(OpError::invalid("its bias is not one for each channel"));
        }
        let (given, made) = (of_x[1] / groups, of_y[1] / groups);
        let n_pixels = volume(&of_y[2..]);
        Ok(Self { elem, x, w, bias, y, n: of_x[0], groups, given, made, n_pixels, zeros })
    }

    /// An element of the input or of the weights.
    fn factor(&self, b: &mut PrimBuilder<'_>, factor: usize, memory: NodeId, at: &[NodeId]) -> NodeId {
        let value = b.load(memory, at);
        let value = b.cast(value, self.elem);
        match self.zeros[factor] {
            Some(zero) => b.sub(value, zero),
            None => value,
        }
    }

    /// Loops over the samples and the channels of the result, sets each to the bias, and lets `body` add to it: for the
    /// indices of the sample, of the group, and of the channel in the group and in all.
    fn each_channel<'b>(
        &self,
        b: &mut PrimBuilder<'b>,
        body: impl FnOnce(&mut PrimBuilder<'b>, NodeId, NodeId, NodeId, NodeId),
    ) {
        let pixels = viewed(b, self.y, &[self.n, self.groups * self.made, self.n_pixels]);
        b.each_of_all(&[self.n, self.groups, self.made], |b, at| {
            let (sample, group, channel) = (at[0], at[1], at[2]);
            let of_all = b.within(group, self.made, channel);
            let start = match self.bias {
                Some(bias) => b.load(bias, &[of_all]),
                None => b.num(self.elem, 0.0),
            };
            b.over(self.n_pixels, |b, pixel| {
                b.store(pixels, start, &[sample, of_all, pixel]);
            });
            body(b, sample, group, channel, of_all);
        });
    }
}

impl Conv {
    /// Calls `body` for blocks of the channels of the input: with their indices in the group and in all.
    fn each_block<'b>(
        &self,
        b: &mut PrimBuilder<'b>,
        group: NodeId,
        body: impl Fn(&mut PrimBuilder<'b>, &[NodeId], &[NodeId]),
    ) {
        b.in_blocks(self.given, BLOCK, |b, channels| {
            let given: Vec<NodeId> = channels.iter().map(|&channel| b.within(group, self.given, channel)).collect();
            body(b, channels, &given);
        });
    }

    /// Whether the rows of the result are short, and its channels many.
    fn has_short_rows(&self, axes: &[WindowAxis]) -> bool {
        let row = axes.last().map_or(0, |axis| axis.count as u64);
        let size = self.elem.bytes_for(LANES * self.n_pixels).unwrap_or(u64::MAX);
        row < LANES && self.n_pixels >= FEWEST_PIXELS && self.made.is_multiple_of(LANES) && size <= MOST_SUMS
    }

    /// Computes some channels of the result at once, each element as otherwise: the weights of a tap are brought in the order
    /// in which the innermost loop needs them, and so are the sums until they are stored.
    fn by_lanes(&self, b: &mut PrimBuilder<'_>, axes: &[WindowAxis], [x, w, y]: [NodeId; 3]) {
        let pixels = viewed(b, y, &[self.n, self.groups * self.made, self.n_pixels]);
        b.each_of_all(&[self.n, self.groups, self.made / LANES], |b, at| {
            let (sample, group) = (at[0], at[1]);
            let first = b.times(at[2], LANES);
            let first = b.within(group, self.made, first);
            let sums = b.alloc(self.elem, &[self.n_pixels, LANES]);
            b.each_of_all(&[self.n_pixels, LANES], |b, at| {
                let start = match self.bias {
                    Some(bias) => {
                        let made = b.plus(first, at[1]);
                        b.load(bias, &[made])
                    }
                    None => b.num(self.elem, 0.0),
                };
                b.store(sums, start, at);
            });
            let sizes: Vec<u64> = window::counts(axes).into_iter().chain([LANES]).collect();
            let spatial = viewed(b, sums, &sizes);
            self.each_block(b, group, |b, channels, given| {
                each_tap(b, axes, |b, taps, inside| {
                    let ordered = b.alloc(self.elem, &[channels.len() as u64, LANES]);
                    for (&channel, row) in channels.iter().zip(0..) {
                        b.over(LANES, |b, lane| {
                            let made = b.plus(first, lane);
                            let weight = self.factor(b, 1, w, &[&[made, channel], taps].concat());
                            let row = b.index(row);
                            b.store(ordered, weight, &[row, lane]);
                        });
                    }
                    each_window(b, axes, inside, |b, window, pixel| {
                        let value = |&given: &NodeId| self.factor(b, 0, x, &[&[sample, given], pixel].concat());
                        let values: Vec<NodeId> = given.iter().map(value).collect();
                        b.over(LANES, |b, lane| {
                            let mut weight = |row: i64| {
                                let row = b.index(row);
                                b.load(ordered, &[row, lane])
                            };
                            let weights: Vec<NodeId> = (0..values.len() as i64).map(&mut weight).collect();
                            add_products(b, (spatial, &[window, &[lane]].concat()), &weights, &values);
                        });
                    });
                });
            });
            b.each_of_all(&[LANES, self.n_pixels], |b, at| {
                let made = b.plus(first, at[0]);
                let sum = b.load(sums, &[at[1], at[0]]);
                b.store(pixels, sum, &[sample, made, at[1]]);
            });
        });
    }
}

/// Memory whose spatial axes have these sizes.
fn spatial(b: &mut PrimBuilder<'_>, memory: NodeId, first: [u64; 2], spatial: &[u64]) -> NodeId {
    let sizes: Vec<u64> = first.iter().chain(spatial).copied().collect();
    viewed(b, memory, &sizes)
}

fn kernel_sizes(axes: &[WindowAxis]) -> Vec<u64> {
    axes.iter().map(|axis| axis.kernel as u64).collect()
}

/// `Conv`, and `ConvInteger`, whose padding is the zero point: it adds nothing.
pub fn conv(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let conv = Conv::new(call, kernel, |weights, _| weights[0])?;
    let (of_x, of_w, of_y) = (kernel.sizes(conv.x), kernel.sizes(conv.w), kernel.sizes(conv.y));
    if of_w[1] != conv.given {
        return Err(OpError::invalid("its weights are for another number of channels"));
    }
    if volume(&of_y) == 0 {
        return Ok(());
    }
    let axes = window::merged(window::windows(call, &of_x[2..], &of_w[2..], &of_y[2..])?);
    let x = spatial(kernel, conv.x, [of_x[0], of_x[1]], &window::image(&axes));
    let y = spatial(kernel, conv.y, [of_y[0], of_y[1]], &window::counts(&axes));
    let w = spatial(kernel, conv.w, [of_w[0], of_w[1]], &kernel_sizes(&axes));
    if conv.has_short_rows(&axes) {
        conv.by_lanes(kernel, &axes, [x, w, y]);
        return Ok(());
    }
    conv.each_channel(kernel, |b, sample, group, _, made| {
        conv.each_block(b, group, |b, channels, given| {
            each_tap(b, &axes, |b, taps, inside| {
                let weight = |&channel: &NodeId| conv.factor(b, 1, w, &[&[made, channel], taps].concat());
                let weights: Vec<NodeId> = channels.iter().map(weight).collect();
                each_window(b, &axes, inside, |b, window, pixel| {
                    let value = |&given: &NodeId| conv.factor(b, 0, x, &[&[sample, given], pixel].concat());
                    let values: Vec<NodeId> = given.iter().map(value).collect();
                    add_products(b, (y, &[&[sample, made], window].concat()), &weights, &values);
                });
            });
        });
    });
    Ok(())
}

/// `ConvTranspose`.
pub fn conv_transpose(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let conv = Conv::new(call, kernel, |weights, groups| weights[1] * groups)?;
    let (of_x, of_w, of_y) = (kernel.sizes(conv.x), kernel.sizes(conv.w), kernel.sizes(conv.y));
    if of_w[0] != of_x[1] {
        return Err(OpError::invalid("its weights are for another number of channels"));
    }
    if volume(&of_y) == 0 {
        return Ok(());
    }
    let axes = window::merged(window::transposed(call, &of_x[2..], &of_w[2..], &of_y[2..])?);
    let x = spatial(kernel, conv.x, [of_x[0], of_x[1]], &window::counts(&axes));
    let y = spatial(kernel, conv.y, [of_y[0], of_y[1]], &window::image(&axes));
    let w = spatial(kernel, conv.w, [of_w[0], of_w[1]], &kernel_sizes(&axes));
    conv.each_channel(kernel, |b, sample, group, within, made| {
        b.over(conv.given, |b, channel| {
            let given = b.within(group, conv.given, channel);
            each_tap(b, &axes, |b, taps, inside| {
                let weight = conv.factor(b, 1, w, &[&[given, within], taps].concat());
                each_window(b, &axes, inside, |b, window, pixel| {
                    let (from, to) = ([&[sample, given], window].concat(), [&[sample, made], pixel].concat());
                    let value = conv.factor(b, 0, x, &from);
                    add_products(b, (y, &to), &[weight], &[value]);
                });
            });
        });
    });
    Ok(())
}
