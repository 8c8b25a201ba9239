//! The costs of the boundary: a call, a pass over a big function, reading records, opening a library.

#[path = "../../plugins/sample/src/lib.rs"]
mod sample_passes;

use crate::{
    models, shipped,
    timing::{each, in_turns, line, ratio},
};
use abi_stable::std_types::RArc;
use relais::{
    ir::*,
    pass::RunCx,
    plugin::{Policy, WritableFiles, discover, read_records, read_section},
    registry::{Choices, Linked, Registry},
};
use relais_plugin_api::{
    __private::{DriveOptions, drive},
    boundary::local,
    options::Value,
    pass::PassCx,
};
use std::hint::black_box;

const BIG: usize = 1_000_000;

pub fn calls() {
    let loaded = crate::loaded(&[crate::sample()]);
    let linked = Registry::new(Default::default(), Linked::Include, &Choices::new());
    let none = Value::Struct(Vec::new());
    for (name, registry) in [("loaded", &loaded), ("linked", &linked)] {
        let nothing = registry.create("sample.Nothing", &none).expect("the sample has it");
        let f = RArc::new(models::chain(10));
        let cx = RunCx::new(registry);
        line(&format!("a pass call ({name})"), each(100_000, nothing.bench_call(&cx, &f)), "50 ns");
    }

    let f = RArc::new(models::chain(BIG));
    let handles = [&loaded, &linked].map(|registry| registry.create("sample.ReluRelu", &none).expect("it has it"));
    let [loaded_cx, linked_cx] = [&loaded, &linked].map(|registry| RunCx::new(registry));
    let module = IRModule::new();
    let spec = local::info("sample.ReluRelu").expect("it is linked");
    let mut direct = || {
        handles[1].bench_cx(&linked_cx, &module, |call| {
            let mut edit = Editor::new(f.clone());
            let cx = PassCx::new(call, spec);
            let rule = &mut sample_passes::good::relu_relu;
            drive(&mut edit, &cx, rule, spec.ops, DriveOptions::default()).expect("the pass runs");
            black_box(edit.is_changed());
        });
    };
    let mut through_plugin = handles[0].bench_call(&loaded_cx, &f);
    let mut through_table = handles[1].bench_call(&linked_cx, &f);
    let times = in_turns(15, &mut [&mut through_plugin, &mut through_table, &mut direct]);
    line("a rewrite over 1,000,000 nodes, from a plugin", times[0], "-");
    line("  linked, through the same table", times[1], "-");
    line("  its Rust function called, inlinable", times[2], "-");
    println!("{:<50} {:>12.3}   [1.05]", "  plugin / Rust function", ratio(times[0], times[2]));
}

pub fn records() {
    let shipped = shipped();
    for name in ["relais_operators", "relais_evaluator", "relais_graph"] {
        let path = shipped.join(crate::library(name));
        let section = read_section(&path).expect("a plugin has records");
        println!("{name}: {} bytes, {} of them records", path.metadata().expect("it is there").len(), section.len());
        line("  finding its records", each(50, || drop(black_box(read_section(&path)))), "100 us together");
        line("  reading them", each(50, || drop(black_box(read_records(&section)))), "100 us together");
        let found = || discover(&[], std::slice::from_ref(&path), Policy { writable: WritableFiles::Allow });
        let records = found().plugins.remove(0).records.plugin;
        let open = || drop(black_box(relais::plugin::OpenPlugin::open(&path, &records, &section, None)));
        line("  opening it", each(1, open), "-");
    }
}
