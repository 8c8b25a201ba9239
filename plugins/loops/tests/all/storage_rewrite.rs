//! `StorageRewrite`: its option, and the memory of long chains; the filetests have the rest.

use crate::common::*;
use relais_plugin_api::{
    prelude::*,
    prim::{CoreOp, LoopOps},
};

/// A chain of statements, each of which reads the memory of the one before in the opposite order; their sizes.
fn chain(sizes: &[u64]) -> Function {
    program(|b, [x, _, _, y, _]| {
        let zero = b.index(0);
        let mut last = (x, 8);
        for &size in sizes {
            let memory = b.alloc(F32, &[size]);
            let [extent, end, of_last] = [size as i64, size as i64 - 1, last.1].map(|value| b.index(value));
            b.each(extent, |b, i| {
                let at = b.sub(end, i);
                let at = b.floormod(at, of_last);
                let value = b.load(last.0, &[at]);
                b.store(memory, value, &[i]);
            });
            last = (memory, size as i64);
        }
        let value = b.load(last.0, &[zero]);
        b.store(y, value, &[zero]);
    })
}

/// The elements of all memory.
fn n_elements(f: &Function) -> Vec<u64> {
    let ops = LoopOps::new(f);
    let all = f.all_bindings().filter(|&id| ops.of(f, id) == Some(CoreOp::Alloc));
    all.map(|id| f.type_of(id).static_shape().unwrap().iter().product()).collect()
}

/// Each memory has a place of its own size at least: two neighbours of which one is small may be in two large places.
/// `PlanMemory`, which gives offsets, comes closer.
#[test]
fn a_long_chain_needs_the_two_largest() {
    let sizes: Vec<u64> = (0..1000).map(|at| 1 + at * 7919 % 61).collect();
    let ran = run("StorageRewrite", chain(&sizes));
    let all = n_elements(&ran.function);
    let mut sorted = sizes.clone();
    sorted.sort_unstable();
    assert_eq!(all.len(), 2);
    assert!(all.iter().sum::<u64>() <= sorted[998..].iter().sum(), "{all:?}");
}

#[test]
fn the_context_turns_it_off() {
    let off = [("tir.disable_storage_rewrite".to_owned(), Value::Bool(true))];
    assert!(!try_run("StorageRewrite", chain(&[4, 4, 4]), &off).unwrap().changed);
    let on = [("tir.disable_storage_rewrite".to_owned(), Value::Bool(false))];
    assert_eq!(n_elements(&try_run("StorageRewrite", chain(&[4, 4, 4]), &on).unwrap().function), [4, 4]);
}

/// Memory that is needed all the time takes no other's place, however much of it there is.
#[test]
fn memory_that_is_needed_stays() {
    let f = program(|b, [_, _, _, y, _]| {
        let [zero, half] = [b.index(0), b.float(F32, 0.5)];
        let all: Vec<NodeId> = (0..600).map(|_| b.alloc(F32, &[2])).collect();
        for &memory in &all {
            b.store(memory, half, &[zero]);
        }
        let sum = all.iter().fold(half, |sum, &memory| {
            let value = b.load(memory, &[zero]);
            b.add(sum, value)
        });
        b.store(y, sum, &[zero]);
    });
    assert!(!run("StorageRewrite", f).changed);
}
