//! Programs that break every rule but those of the arena.

use crate::common::F32;
use relais_plugin_api::{
    boundary::local,
    ir::{AttrData, Imm, verify_arena},
    prelude::*,
    prim::{CoreOp, DOMAIN, prim_func},
};

/// Calls of every operator with all kinds of arguments and functions.
fn programs() -> Vec<Function> {
    let mut programs = Vec::new();
    for n_args in 0..6 {
        for n_regions in 0..3 {
            for n_params in 0..3 {
                for what in 0..4 {
                    programs.push(program(n_args, n_regions, n_params, what));
                }
            }
        }
    }
    programs
}

fn program(n_args: usize, n_regions: usize, n_params: usize, what: usize) -> Function {
    let mut f = prim_func(&[("x", F32, &[2, 2]), ("c", ElemType::BOOL, &[])], &[("y", F32, &[4])]);
    let mut values = f.params().to_vec();
    values.extend([f.add_imm(Imm::index(1)), f.add_imm(Imm::index(0)), f.add_imm(Imm::bool(true))]);
    for &op in CoreOp::ALL {
        let args: Vec<NodeId> = (0..n_args).map(|at| values[values.len() - 1 - (at * what) % values.len()]).collect();
        let regions: Vec<NodeId> = (0..n_regions)
            .map(|_| {
                let params: Vec<NodeId> = (0..n_params).map(|_| f.add_var("", f.type_id(values[3]))).collect();
                let region = f.add_function(&params);
                let block = f.block_of(region);
                let id = f.add_op(DOMAIN, "load", "", 0);
                let inner = f.add_call(id, &values[..1 + what]);
                f.append(block, inner);
                f.set_results(block, &[inner, values[0], inner][..what.min(2)]);
                region
            })
            .collect();
        let id = f.add_op(DOMAIN, op.name(), "", 0);
        let callee = f.op(id).node;
        let n_results = (what > 1).then_some(what as u16);
        let call = f.add_call_with(callee, &args, &regions, n_results);
        let names = ["body", "else"].iter().zip(0..).take(n_regions);
        let mut attrs: Vec<Attr> = names.map(|(&name, at)| Attr::new(name, AttrData::Graph(at))).collect();
        attrs.extend([
            Attr::new("kind", ["unrolled", "vectorized"][what % 2]),
            Attr::new("axis", 9_i64),
            Attr::new("shape", vec![-7_i64, 3]),
        ]);
        f.set_attrs(call, &attrs);
        let ty = f.type_id(values[what]);
        f.set_type(call, ty);
        f.append(f.body(), call);
        values.push(call);
        if n_results.is_some() {
            let item = f.add_tuple_get_item(call, 5);
            f.append(f.body(), item);
            values.push(item);
        }
    }
    let last = values[values.len() - 1];
    f.set_results(f.body(), &[last]);
    f
}

#[test]
fn nothing_panics_on_what_passes_the_checks_of_the_arena() {
    for f in programs() {
        assert_eq!(verify_arena(&f), []);
        let mut module = IRModule::new();
        module.set_prim_func("k", f);
        let passes = [
            "UnrollLoop",
            "RemoveNoOp",
            "FlattenBuffer",
            "Simplify",
            "VectorizeLoop",
            "LoopPartition",
            "StorageRewrite",
            "ScheduleCpu",
        ];
        for pass in passes {
            let options = Value::Struct(vec![("auto_max_step".to_owned(), Value::Int(100))]);
            let cuts = Value::Struct(vec![("partition_const_loop".to_owned(), Value::Bool(true))]);
            let config = [("tir.UnrollLoop".to_owned(), options), ("tir.LoopPartition".to_owned(), cuts)];
            if let Err(error) = local::run_in(pass, &Value::Struct(Vec::new()), &config, 0, &module) {
                assert!(!error.is_panic(), "{error}");
            }
        }
    }
}
