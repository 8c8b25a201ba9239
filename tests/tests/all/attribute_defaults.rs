//! An attribute that is left out means what its default means: to the type relation, the evaluator, the kernel, the body
//! and the gradient of each version of an operator, on the node cases of the `onnx` package.

use crate::{
    kernels::{one_call, registry},
    node_cases::{Call, Node, call, cases},
};
use relais::registry::Registry;
use relais_operators as operators;
use relais_plugin_api::{
    facts::OpFactsTable,
    ir::*,
    op::{Bodies, OpError, Operator},
    text::{PrintOptions, print_function},
};
use relais_tests::venv::every;
use std::collections::{BTreeMap, BTreeSet};

/// The most node cases of an operator that are tried.
fn most_cases() -> usize {
    if every() == 1 { 3 } else { 1 }
}

/// Of how many versions of operators one is tried.
fn step() -> usize {
    if every() == 1 { 1 } else { 8 }
}

/// The results of the parts of an operator for a call, by part.
type Said = BTreeMap<&'static str, String>;

fn text(made: Result<Function, OpError>) -> String {
    match made {
        Ok(function) => print_function("made", &function, &PrintOptions::default()),
        Err(error) => format!("{}: {error}", if error.is_unsupported() { "unsupported" } else { "invalid" }),
    }
}

fn said(
    registry: &Registry,
    node: &Node,
    version: i64,
    inputs: &[Option<Tensor>],
    attrs: &[(String, AttrData)],
) -> Said {
    let known = |tensor: &Tensor| tensor.dims().len() <= 1 && (tensor.elem().is_integer() || tensor.len() == 1);
    let args: Vec<_> = inputs.iter().map(|tensor| (tensor.clone(), tensor.as_ref().is_some_and(known))).collect();
    let (f, made) = one_call(registry, (&node.op, version, node.n_outputs), &args, attrs, None);
    let mut table = OpFactsTable::new(registry, &f);
    let mut said = Said::new();
    said.insert("relation", format!("{:?}", f.type_of(made)));
    let facts = table.get(f.call(made).unwrap().op().unwrap());
    let (has_body, has_gradient, has_kernel) = (facts.has_body(), facts.has_gradient(), facts.has_kernel());
    if has_body {
        said.insert("body", text(table.body_of(&f, made)));
    }
    if has_gradient {
        said.extend(table.gradient(&f, made).map(|gradient| ("gradient", text(gradient))));
    }
    if has_kernel {
        said.extend(table.kernel(&f, made).map(|kernel| ("kernel", text(kernel))));
    }
    let mut evaluated: Call = call(&node.op, version).outputs(node.n_outputs);
    for input in inputs {
        evaluated = match input {
            Some(tensor) => evaluated.input(tensor.clone()),
            None => evaluated.absent(),
        };
    }
    for (name, value) in attrs {
        evaluated = evaluated.attr(name, value.clone());
    }
    said.extend(evaluated.try_eval().map(|results| {
        let results = results.map(|all| all.iter().map(|one| (one.dims().to_vec(), one.to_bytes().to_vec())).collect());
        ("evaluator", format!("{:?}", results.map_err(|error: OpError| error.to_string()) as Result<Vec<_>, _>))
    }));
    said
}

/// A version of an operator of ONNX, and one of its attributes with a default.
type Key = (&'static str, u32, &'static str);

/// A node case, with the values of its inputs that the case gives.
type Case<'a> = (&'a Node, Vec<Option<Tensor>>);

/// Calls `check` with each version of an operator of ONNX, and a function that tells what is said of a call whose attribute
/// of a name has another value, or none.
fn each_version(mut check: impl FnMut(&Operator, &dyn Fn(&str, Option<&AttrData>) -> Said)) {
    let registry = registry();
    let mut nodes: BTreeMap<&str, Vec<Case<'_>>> = BTreeMap::new();
    for case in cases() {
        let [node] = case.nodes.as_slice() else { continue };
        let inputs = node.inputs.iter().map(|name| case.values.get(name).cloned()).collect();
        nodes.entry(&node.op).or_default().push((node, inputs));
    }
    let all = operators::operators().filter(|operator| operator.domain.is_empty());
    for operator in all.step_by(step()) {
        for (node, inputs) in nodes.get(operator.name).into_iter().flatten().take(most_cases()) {
            let is_there = |name: &str| operator.attrs.iter().any(|attr| attr.name == name);
            check(operator, &|name, value| {
                let mut attrs = node.attrs.clone();
                attrs.retain(|(other, _)| other != name && is_there(other));
                attrs.extend(value.map(|value| (name.to_owned(), value.clone())));
                said(&registry, node, operator.since_version.into(), inputs, &attrs)
            });
        }
    }
}

/// Calls `check` with each attribute that has a default, the text of that, and a function that tells what is said of a call
/// with a value of it, or without one.
fn each_default(mut check: impl FnMut(Key, (&str, u8), &dyn Fn(Option<&AttrData>) -> Said)) {
    each_version(|operator, said| {
        for attr in operator.attrs.iter().filter(|attr| !attr.default.is_empty()) {
            let key = (operator.name, operator.since_version, attr.name);
            check(key, (attr.default, attr.kind), &|value| said(attr.name, value));
        }
    });
}

/// A part that serves several operators or versions asks none of them for an attribute that it does not have.
#[test]
fn attributes_that_are_read_are_there() {
    let (mut wrong, mut versions) = (BTreeSet::new(), BTreeSet::new());
    each_version(|operator, said| {
        versions.insert((operator.name, operator.since_version));
        for (part, said) in said("", None) {
            let missing = said.split_once("attribute `").and_then(|(_, rest)| rest.split_once("` is missing"));
            if missing.is_some_and(|(name, _)| operator.attrs.iter().all(|attr| attr.name != name)) {
                wrong.insert((operator.name, operator.since_version, part, said));
            }
        }
    });
    assert_eq!(wrong, BTreeSet::new());
    assert!(versions.len() > 350 / step(), "{}", versions.len());
}

#[test]
fn an_attribute_that_is_left_out_is_its_default() {
    let (mut differences, mut tried) = (Vec::new(), BTreeSet::<Key>::new());
    each_default(|key, (default, kind), said| {
        let left_out = said(None);
        // A body or a gradient hands an attribute on as it is, or is silent about it.
        let written = format!(", {} = {default}", key.2);
        for (part, of_given) in said(Some(&value(default, kind))) {
            let (of_given, of_none) = (of_given.replace(&written, ""), left_out[part].replace(&written, ""));
            if of_given != of_none {
                differences.push(format!("{key:?}: {part}\n{of_none}\nand with {default}:\n{of_given}"));
            }
            tried.insert(key);
        }
    });
    println!("{} attributes", tried.len());
    differences.truncate(10);
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
    assert!(tried.len() > 350 / step(), "{}", tried.len());
}

/// In a function, an attribute may refer to one of the caller.
#[test]
fn an_attribute_that_is_not_known_is_not_its_default() {
    let (mut confused, mut n_tried) = (BTreeSet::new(), 0);
    each_default(|key, (default, kind), said| {
        let other = match value(default, kind) {
            AttrData::Int(value) => AttrData::Int(value + 1),
            AttrData::Float(value) => AttrData::Float(value + 1.0),
            _ => return,
        };
        let (left_out, of_other) = (said(None), said(Some(&other)));
        for (part, of_reference) in said(Some(&AttrData::Ref { name: "outer".into(), kind })) {
            n_tried += 1;
            if of_reference == left_out[part] && of_reference != of_other[part] {
                confused.insert((key, part));
            }
        }
    });
    assert_eq!(confused, BTreeSet::new());
    assert!(n_tried > 350 / step(), "{n_tried}");
}

/// The value that the text of a default stands for.
fn value(text: &str, kind: u8) -> AttrData {
    let list = || text.trim_matches(['[', ']']).split(", ").map(str::to_owned);
    let unquoted = |text: &str| text.trim_matches('"').as_bytes().to_vec();
    match kind {
        attr_kind::INT => AttrData::Int(text.parse().unwrap()),
        attr_kind::FLOAT => AttrData::Float(text.parse().unwrap()),
        attr_kind::STRING => AttrData::String(unquoted(text)),
        attr_kind::INTS => AttrData::Ints(list().map(|item| item.parse().unwrap()).collect()),
        attr_kind::STRINGS => AttrData::Strings(list().map(|item| unquoted(&item)).collect()),
        _ => panic!("a default of kind {kind}"),
    }
}
