//! `Einsum`.

use super::shared::{Done, declined, numbers, same_elem, wide};
use crate::calls::string;
use relais_plugin_api::{
    ir::NodeId,
    op::{Kernel, OpCall, OpError},
};

/// The labels of an equation: those of each argument, and those of the result.
fn labels(equation: &str) -> Result<(Vec<Vec<char>>, Vec<char>), OpError> {
    let equation: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = equation.split_once("->").map_or((&*equation, None), |(left, right)| (left, Some(right)));
    if !left.chars().chain(right.unwrap_or("").chars()).all(|c| c.is_ascii_alphabetic() || c == ',') {
        return declined("its equation has more than labels");
    }
    let given: Vec<Vec<char>> = left.split(',').map(|term| term.chars().collect()).collect();
    let made = match right {
        Some(right) => right.chars().collect(),
        None => {
            let is_alone = |label: &char| left.chars().filter(|c| c == label).count() == 1;
            let mut alone: Vec<char> = left.chars().filter(|c| *c != ',').filter(is_alone).collect();
            alone.sort_unstable();
            alone
        }
    };
    Ok((given, made))
}

/// `Einsum` without an ellipsis.
pub fn einsum(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let y = kernel.output(0);
    let (given, made) = labels(string(call, "equation")?)?;
    let inputs = (0..call.n_args()).map(|at| kernel.needed_input(at)).collect::<Result<Vec<_>, _>>()?;
    let elem = same_elem(kernel, &inputs)?;
    numbers(elem)?;
    if given.len() != inputs.len() {
        return Err(OpError::invalid("its equation has not a term for each argument"));
    }
    // The loops over the labels of the result, then over those that are summed.
    let mut loops: Vec<(char, u64)> = made.iter().copied().zip(kernel.sizes(y)).collect();
    let n_made = loops.len();
    for (labels, &input) in given.iter().zip(&inputs) {
        let sizes = kernel.sizes(input);
        if labels.len() != sizes.len() {
            return Err(OpError::invalid("a term has not a label for each axis"));
        }
        for (&label, size) in labels.iter().zip(sizes) {
            match loops.iter().find(|(other, _)| *other == label) {
                Some(&(_, other)) if other != size => return declined("an axis is broadcast to another one"),
                Some(_) => {}
                None => loops.push((label, size)),
            }
        }
    }
    let is_known = |label: &char| given.iter().any(|labels| labels.contains(label));
    let is_repeated = |(at, label): (usize, &char)| made[..at].contains(label);
    if made.len() != kernel.sizes(y).len() || !made.iter().all(is_known) || made.iter().enumerate().any(is_repeated) {
        return declined("its result has other labels than its arguments");
    }
    let sizes: Vec<u64> = loops.iter().map(|&(_, size)| size).collect();
    kernel.each_of_all(&sizes[..n_made], |b, outer| {
        let zero = b.num(wide(elem), 0.0);
        let [sum] = b.fold_all(&sizes[n_made..], [zero], |b, inner, [sum]| {
            let turn = [outer, inner].concat();
            let mut product = None;
            for (labels, &input) in given.iter().zip(&inputs) {
                let place = |label: &char| loops.iter().position(|(other, _)| other == label).map(|at| turn[at]);
                let at: Vec<NodeId> = labels.iter().filter_map(place).collect();
                let value = b.load(input, &at);
                let value = b.cast(value, wide(elem));
                product = Some(product.map_or(value, |product| b.mul(product, value)));
            }
            [product.map_or(sum, |product| b.add(sum, product))]
        });
        let sum = b.cast(sum, elem);
        b.store(y, sum, outer);
    });
    Ok(())
}
