//! Faults that a host finds when it reads a plugin's records, and that the compiler cannot find.

use super::fields;
use crate::entry::{Item, Registration, registrations};
use relais_ir::{diagnostics::PassError, is_same_domain, text};
use relais_ops::{
    bodies::parse_body,
    op::{OpSchema, Operator},
};
use std::collections::BTreeSet;

/// The faults of the operators that are linked: one that a crate has in two tables, for the macros see one table at a time,
/// and bodies that cannot be parsed, for the compiler sees their form alone.
pub fn faults() -> Vec<String> {
    faults_of(registrations())
}

fn faults_of<'a>(registrations: impl Iterator<Item = &'a Registration>) -> Vec<String> {
    // They come in the order of the linker.
    let mut all: Vec<&Registration> = registrations.collect();
    all.sort_by_key(|entry| (entry.crate_name, entry.records));
    let described: Vec<(&Operator, &[u8])> = all.iter().flat_map(|entry| operators(entry)).collect();
    let (mut faults, mut seen) = (Vec::new(), BTreeSet::new());
    for entry in all {
        for (what, target, [domain, name], since) in keys(entry) {
            if !seen.insert((entry.crate_name, what, target, [domain, name], since)) {
                let operator = full_name(domain, name);
                faults.push(format!("`{}` has {what} `{operator}` since version {since} twice", entry.crate_name));
            }
        }
        let bodies: Vec<(&Operator, Option<&[u8]>)> = match entry.item {
            Item::Operators(_) => operators(entry).map(|(op, fields)| (op, Some(fields))).collect(),
            Item::Additions(additions) => {
                let ops = additions.iter().map(|addition| &addition.op);
                ops.map(|op| (op, described.iter().find(|(it, _)| is_one(it, op)).map(|it| it.1))).collect()
            }
            _ => Vec::new(),
        };
        let bodies = bodies.into_iter().filter(|(op, _)| !op.body.is_empty());
        faults.extend(bodies.filter_map(|(op, fields)| Some(check_body(op, fields).err()?.to_string())));
    }
    faults
}

/// An operator that nothing describes is checked as far as that goes: its parameters are not known.
fn check_body(op: &Operator, fields: Option<&[u8]>) -> Result<(), PassError> {
    match fields {
        Some(fields) => parse_body(op.domain, op.name, &OpSchema::read(fields), op.body).map(drop),
        None => {
            let origin = format!("the body of `{}`", full_name(op.domain, op.name));
            text::parse(&origin, op.body, &text::SideFile::default()).map(drop).map_err(PassError::from)
        }
    }
}

fn operators(entry: &Registration) -> impl Iterator<Item = (&'static Operator, &'static [u8])> + use<> {
    let operators = if let Item::Operators(operators) = entry.item { operators } else { &[] };
    operators.iter().zip(fields(entry.records))
}

fn is_one(a: &Operator, b: &Operator) -> bool {
    is_same_domain(a.domain, b.domain) && (a.name, a.since_version) == (b.name, b.since_version)
}

type Key = (&'static str, &'static str, [&'static str; 2], u32);

/// The parts of a registration that a crate may have once: the kind, the target, the operator.
fn keys(entry: &Registration) -> Vec<Key> {
    let key = |what, op: &Operator| (what, "", [op.domain, op.name], op.since_version);
    match entry.item {
        Item::Operators(operators) => {
            let evaluators = operators.iter().filter(|op| op.eval.is_some()).map(|op| key("the evaluator of", op));
            operators.iter().map(|op| key("operator", op)).chain(evaluators).collect()
        }
        Item::Additions(additions) => {
            let key = |op: &Operator, target| ("an addition to", target, [op.domain, op.name], op.since_version);
            additions.iter().map(|addition| key(&addition.op, addition.target)).collect()
        }
        Item::Evaluators(evaluators) => {
            let key = |domain, name, since| ("the evaluator of", "", [domain, name], since);
            evaluators.iter().map(|eval| key(eval.domain, eval.name, eval.since_version)).collect()
        }
        _ => Vec::new(),
    }
}

fn full_name(domain: &str, name: &str) -> String {
    if domain.is_empty() { name.to_owned() } else { format!("{domain}::{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Spec;
    use relais_ops::op::{Addition, EvalCx, Evaluator};

    const SILU: Operator = Operator::new("acme", "Silu", 1);
    const FIRST: &[Operator] = &[SILU, Operator::new("acme", "Silu", 2).eval(nothing)];
    const SECOND: &[Operator] = &[SILU.body(r#"def @Silu(%x) #[opset = {"": 13}] { %y = Relu(%x); %z }"#)];
    const ADDITIONS: &[Addition] = &[
        Addition::of(FIRST[1].body(r#"def @Silu(%x, %y) #[opset = {"": 13}] { Mul(%x, %y) }"#)),
        Addition::of(Operator::new("other", "Op", 1).body(r#"def @Op(%x) #[opset = {"": 13}] { Relu(%x %x) }"#)),
    ];
    const EVALUATORS: &[Evaluator] = &[Evaluator { domain: "acme", name: "Silu", since_version: 2, eval: nothing }];

    fn nothing(_: &mut EvalCx<'_>) -> Result<(), relais_ops::error::OpError> {
        Ok(())
    }

    macro_rules! registered {
        ($crate_name:literal, $kind:ident, $table:expr) => {{
            const LEN: usize = Spec::$kind($table).len();
            static RECORDS: [u8; LEN] = Spec::$kind($table).bytes();
            Registration { crate_name: $crate_name, records: &RECORDS, item: Item::$kind($table) }
        }};
    }

    #[test]
    fn what_the_compiler_does_not_see_is_found() {
        let all = [
            registered!("acme", Operators, FIRST),
            registered!("acme", Operators, SECOND),
            registered!("acme", Additions, ADDITIONS),
            registered!("acme", Evaluators, EVALUATORS),
            registered!("other", Operators, FIRST),
        ];
        let faults = faults_of(all.iter());
        let has = |wanted: &str| assert!(faults.iter().any(|fault| fault.contains(wanted)), "{wanted}: {faults:#?}");
        has("`acme` has operator `acme::Silu` since version 1 twice");
        has("`acme` has the evaluator of `acme::Silu` since version 2 twice");
        has("the body of `acme::Silu`:1:");
        has("`%z` is not defined");
        has("the body of `acme::Silu` has 2 parameters, and the operator takes 1 arguments");
        has("the body of `other::Op`:1:43");
        assert_eq!(faults.len(), 5, "{faults:#?}");
        assert!(faults_of(all[3..].iter()).is_empty());
    }
}
