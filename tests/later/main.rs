//! A host of a later version that meets plugins of today's: `later PLUGIN…`.
//!
//! Its modules have items unknown to the plugins (a kind of node, of attribute, of type and of effect, side tables),
//! and its tables have entries that theirs lack. Every pass is run, and must carry all of it through.

use relais::{ir::*, loaded::PassOutcome, pass::RunCx, plugin::{OpenPlugin, Policy, WritableFiles, discover}, registry::{Choices, Linked, Registry}};
use relais_plugin_api::options::Value;
use std::path::PathBuf;

/// A node's entry in the side tables, which is different for every node.
fn entry(id: NodeId) -> [u8; 8] {
    (0x5a5a_0000_0000 + u64::from(id.0)).to_le_bytes()
}

const TABLES: [&str; 3] = ["later-value", "later-provenance", "later-derived"];

/// `%a = Relu(%x); %b = Relu(%a); %k = later(%b, fn { Relu(Relu(%x)) }); %c = Relu(%k); %d = Relu(%c); %unused = later(%x)`,
/// and more. Also the two nodes of the later kind.
fn module() -> (IRModule, [NodeId; 2]) {
    let mut f = Function::new();
    f.set_opset_imports(&[("", 17), ("sample", 1)]);
    let ty = f.tensor_type(ElemType::FLOAT, &[Dim::Static(2)]);
    let later = f.add_type(Type::Other(type_kind::LATER));
    let x = f.add_var("x", ty);
    f.set_params(f.root(), &[x]);
    let relu = f.add_op("", "Relu", "", 0);
    let call = |f: &mut Function, block: BlockId, arg: NodeId| {
        let call = f.add_call(relu, &[arg]);
        f.append(block, call);
        call
    };
    let body = f.body();
    let a = call(&mut f, body, x);
    let b = call(&mut f, body, a);
    let inner = f.add_function(&[]);
    let block = f.block_of(inner);
    let first = call(&mut f, block, x);
    let second = call(&mut f, block, first);
    f.set_results(block, &[second]);
    let known = f.add_raw(kind::LATER, 0, 0x1234, &[b, inner], Some(1));
    f.append(body, known);
    f.set_type(known, later);
    let name = f.intern("later");
    f.set_attr_recs(known, &[AttrRec { name, kind: attr_kind::LATER, flags: 0, aux: 0, a: 7, b: 9 }]);
    let c = call(&mut f, body, known);
    let d = call(&mut f, body, c);
    let unused = f.add_raw(kind::LATER, 0, 1, &[x], Some(0));
    f.append(body, unused);
    // Something to do for passes that have nothing to do with `Relu`.
    let of = |f: &mut Function, name: &str, args: &[NodeId]| {
        let op = f.add_op("", name, "", 0);
        let call = f.add_call(op, args);
        f.append(body, call);
        call
    };
    let (one, same) = (of(&mut f, "Neg", &[x]), of(&mut f, "Neg", &[x]));
    let same = of(&mut f, "Identity", &[same]);
    let sum = of(&mut f, "Add", &[one, same]);
    of(&mut f, "Exp", &[x]);
    f.set_results(body, &[d, known, sum]);
    let policies = [table_policy::VALUE, table_policy::PROVENANCE, table_policy::DERIVED];
    for id in f.all_bindings().collect::<Vec<_>>() {
        for (key, policy) in TABLES.into_iter().zip(policies) {
            f.table_mut(key, 8, policy).get_mut(id).copy_from_slice(&entry(id));
        }
    }
    let mut module = IRModule::new();
    module.set_function(MAIN, f);
    (module, [known, unused])
}

/// Compares the later version's knowledge about two nodes, after a pass that lacks it.
fn check(pass: &str, before: &Function, after: &Function, nodes: [NodeId; 2]) {
    let live: Vec<NodeId> = after.all_bindings().collect();
    for id in nodes {
        assert!(live.contains(&id), "{pass} dropped {id}");
        let (old, new) = (before.node(id), after.node(id));
        assert_eq!((old.kind, old.aux), (new.kind, new.aux), "{pass} changed {id}");
        assert_eq!(before.operands(id).len(), after.operands(id).len(), "{pass} changed the operands of {id}");
        assert_eq!(before.n_regions(id), after.n_regions(id), "{pass} changed the functions of {id}");
        assert_eq!(before.attr_recs(id), after.attr_recs(id), "{pass} changed the attributes of {id}");
        assert_eq!(before.type_of(id), after.type_of(id), "{pass} changed the type of {id}");
    }
    for id in live.into_iter().filter(|id| id.index() < before.n_nodes()) {
        let is_same = before.node(id) == after.node(id) && before.operands(id) == after.operands(id);
        for key in TABLES {
            let found = after.table(key).expect("the table is there").get(id).unwrap_or_default();
            if is_same || key == "later-value" {
                assert_eq!(found, entry(id), "{pass} lost what `{key}` says of {id}");
            }
        }
    }
}

fn run(registry: &Registry, pass: &str, module: &IRModule) -> Option<IRModule> {
    let made = registry.create(pass, &Value::Struct(Vec::new())).unwrap_or_else(|error| panic!("{error}"));
    let PassOutcome { module, .. } = made.run(module, &RunCx::new(registry)).unwrap_or_else(|error| panic!("{error}"));
    module
}

fn main() {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let found = discover(&[], &files, Policy { writable: WritableFiles::Allow });
    assert_eq!(found.refused, [], "older plugins are taken");
    assert_eq!(found.plugins.len(), files.len());
    for plugin in &found.plugins {
        assert!(plugin.records.plugin.boundary < relais_plugin_api::boundary::record::BOUNDARY);
        let open = OpenPlugin::open(&plugin.path, &plugin.records.plugin, &plugin.section, None).expect("it opens");
        assert!(open.root.later().is_none(), "an older plugin's table ends before the new entry");
    }
    let registry = Registry::new(found, Linked::Exclude, &Choices::new());
    let (module, nodes) = module();
    assert_eq!(verify(&module), []);
    let before = module.main().expect("there is one").clone();
    let mut n_changed = 0;
    let passes: Vec<String> = registry.passes().map(|(pass, _)| pass.name.clone()).collect();
    for pass in &passes {
        // One of each kind from the plugin for tests; the others want options or misbehave.
        let is_of_tests = pass.starts_with("sample.");
        if is_of_tests && !["sample.ReluRelu", "sample.Nothing", "sample.Parallel"].contains(&&**pass) {
            continue;
        }
        let new = run(&registry, pass, &module);
        n_changed += usize::from(new.is_some());
        let new = new.unwrap_or_else(|| module.clone());
        assert_eq!(verify(&new), [], "{pass}");
        check(pass, &before, new.main().expect("there is one"), nodes);
    }
    assert!(n_changed >= 4, "{n_changed} passes of {} had something to do", passes.len());
    let merged = run(&registry, "sample.ReluRelu", &module).expect("both pairs become one");
    let f = merged.main().expect("there is one");
    let n_calls = |f: &Function| f.all_bindings().filter(|&id| f.call(id).is_some()).count();
    assert_eq!((n_calls(&before), n_calls(f)), (11, 8), "on both sides of what it does not know, and inside it");
}
