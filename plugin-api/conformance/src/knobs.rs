//! Values of options to try, from the schema of a pass.

use super::{
    bench::{Knob, KnobKind},
    random::Random,
};
use relais_plugin_api::options::Value;

/// How many sets of random values are tried.
const N_RANDOM: usize = 8;

/// The most items of a list.
const MAX_ITEMS: u64 = 3;

/// Options to run a pass with: its defaults, each option at each of its bounds and choices, and all at random. Paths keep
/// their defaults; there are no options to run with if one must be given.
pub fn legal(knobs: &[Knob], random: &mut Random) -> Vec<Value> {
    if not_made_up(knobs).is_some() {
        return Vec::new();
    }
    let knobs: Vec<&Knob> = knobs.iter().filter(|knob| knob.kind.is_made_up()).collect();
    let defaults = base(&knobs, random);
    let mut sets = vec![Value::Struct(defaults.clone())];
    for knob in &knobs {
        for value in edges(&knob.kind, random) {
            sets.push(with(&defaults, &knob.name, value));
        }
    }
    if !knobs.is_empty() {
        sets.extend((0..N_RANDOM).map(|_| table(&knobs, random)));
    }
    let mut distinct: Vec<Value> = Vec::new();
    for set in sets {
        if !distinct.contains(&set) {
            distinct.push(set);
        }
    }
    distinct
}

/// The option that must be given, and cannot be made up.
pub fn not_made_up(knobs: &[Knob]) -> Option<&Knob> {
    knobs.iter().find(|knob| knob.is_mandatory() && !knob.kind.is_made_up())
}

/// Random values of options; an optional one may be left out.
fn table(knobs: &[&Knob], random: &mut Random) -> Value {
    let mut entries = Vec::new();
    for knob in knobs {
        if !(knob.is_optional && random.below(2) == 0) {
            entries.push((knob.name.clone(), any(&knob.kind, random)));
        }
    }
    Value::Struct(entries)
}

/// Options that a host refuses, each for one reason.
pub fn illegal(knobs: &[Knob], random: &mut Random) -> Vec<Value> {
    let made_up: Vec<&Knob> = knobs.iter().filter(|knob| knob.kind.is_made_up()).collect();
    let defaults = base(&made_up, random);
    let mut sets = vec![with(&defaults, "no-such_option", Value::Bool(true))];
    for knob in knobs {
        sets.extend(outside(&knob.kind).into_iter().map(|value| with(&defaults, &knob.name, value)));
    }
    sets
}

/// The options that must be given.
fn base(knobs: &[&Knob], random: &mut Random) -> Vec<(String, Value)> {
    knobs.iter().filter(|knob| knob.is_mandatory()).map(|knob| (knob.name.clone(), any(&knob.kind, random))).collect()
}

fn with(defaults: &[(String, Value)], name: &str, value: Value) -> Value {
    let mut entries: Vec<(String, Value)> = defaults.iter().filter(|(other, _)| other != name).cloned().collect();
    entries.push((name.to_owned(), value));
    Value::Struct(entries)
}

/// The values at the bounds of an option. The depth is that of a schema, which is limited.
fn edges(kind: &KnobKind, random: &mut Random) -> Vec<Value> {
    match kind {
        KnobKind::Bool => vec![Value::Bool(false), Value::Bool(true)],
        KnobKind::Int(min, max) => {
            let mut values = vec![*min, *max];
            values.extend([0, 1].into_iter().filter(|value| min < value && value < max));
            values.into_iter().map(Value::Int).collect()
        }
        KnobKind::Float(min, max) => {
            let mut values = vec![*min, *max];
            values.extend([0.0, 1.0, f64::MIN_POSITIVE].into_iter().filter(|value| min < value && value < max));
            values.into_iter().map(Value::Float).collect()
        }
        KnobKind::Str => ["", "Relu", "\0é\"\\\n", &"x".repeat(4096)].map(|text| Value::Str(text.to_owned())).to_vec(),
        KnobKind::Choice(names) => names.iter().cloned().map(Value::Str).collect(),
        KnobKind::List(item) => {
            let edges = edges(item, random);
            vec![Value::List(Vec::new()), Value::List(edges)]
        }
        KnobKind::Struct(fields) => legal(fields, random),
        KnobKind::Path | KnobKind::Other => Vec::new(),
    }
}

/// A random value that an option accepts. The depth is that of a schema, which is limited.
fn any(kind: &KnobKind, random: &mut Random) -> Value {
    match kind {
        KnobKind::Bool => Value::Bool(random.below(2) == 1),
        KnobKind::Int(min, max) => {
            // Users write small numbers; the bounds are tried anyway.
            let (low, high) = (i128::from(*min), i128::from(*max));
            let near = (low.max(0) + i128::from(random.below(16))).min(high);
            let far = low + (u128::from(random.next()) % (high - low + 1).unsigned_abs()).cast_signed();
            Value::Int(i64::try_from(if random.below(2) == 0 { near.max(low) } else { far }).unwrap_or(*min))
        }
        KnobKind::Float(min, max) => {
            let (low, high) = (min.max(-1e6), max.min(1e6));
            Value::Float((low + random.unit() * (high - low)).clamp(*min, *max))
        }
        KnobKind::Str => {
            let letters = (0..random.below(9)).map(|_| char::from(b'a' + random.below(26) as u8));
            Value::Str(letters.collect())
        }
        KnobKind::Choice(names) => Value::Str(names[random.below(names.len() as u64) as usize].clone()),
        KnobKind::List(item) => Value::List((0..random.below(MAX_ITEMS + 1)).map(|_| any(item, random)).collect()),
        KnobKind::Struct(fields) => {
            table(&fields.iter().filter(|field| field.kind.is_made_up()).collect::<Vec<_>>(), random)
        }
        // Callers leave them out.
        KnobKind::Path | KnobKind::Other => Value::Struct(Vec::new()),
    }
}

/// Values just outside the range of an option, and of another type.
fn outside(kind: &KnobKind) -> Vec<Value> {
    let text = || Value::Str("no such thing".to_owned());
    match kind {
        KnobKind::Bool => vec![Value::Int(1), text()],
        KnobKind::Int(min, max) => {
            let mut values = vec![Value::Bool(true), Value::Float(1.0), text()];
            values.extend(min.checked_sub(1).into_iter().chain(max.checked_add(1)).map(Value::Int));
            values
        }
        KnobKind::Float(min, max) => {
            let mut values = vec![Value::Bool(true), text(), Value::Float(f64::NAN)];
            let beyond = [*min - min.abs().max(1.0), *max + max.abs().max(1.0)];
            values.extend(beyond.into_iter().filter(|value| value.is_finite()).map(Value::Float));
            values
        }
        KnobKind::Str | KnobKind::Path => vec![Value::Int(1), Value::Bool(true)],
        KnobKind::Choice(_) => vec![text(), Value::Str(String::new()), Value::Int(0)],
        KnobKind::List(item) => {
            let items = outside(item);
            let lists = items.into_iter().map(|item| Value::List(vec![item]));
            lists.chain([text(), Value::Int(1)]).collect()
        }
        KnobKind::Struct(_) => vec![text(), Value::Struct(vec![("no-such_option".into(), Value::Bool(true))])],
        KnobKind::Other => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knob(name: &str, kind: KnobKind, default: Option<Value>) -> Knob {
        Knob { name: name.into(), kind, default, is_optional: false }
    }

    fn optional(name: &str, kind: KnobKind) -> Knob {
        Knob { is_optional: true, ..knob(name, kind, None) }
    }

    #[test]
    fn bounds_choices_and_defaults_are_tried() {
        let knobs = [
            knob("n", KnobKind::Int(2, 5), Some(Value::Int(3))),
            knob("mode", KnobKind::Choice(vec!["a".into(), "b".into()]), None),
        ];
        let sets = legal(&knobs, &mut Random::new(1));
        for (name, value) in [
            ("n", Value::Int(2)),
            ("n", Value::Int(5)),
            ("mode", Value::Str("a".into())),
            ("mode", Value::Str("b".into())),
        ] {
            assert!(sets.iter().any(|set| set.get(name) == Some(&value)), "{name} = {value}");
        }
        // A mandatory option is always given; one with a default is omitted once.
        assert!(sets.iter().all(|set| set.get("mode").is_some()));
        assert!(sets.iter().any(|set| set.get("n").is_none()));
        let in_range = |set: &Value| match set.get("n") {
            Some(Value::Int(n)) => (2..=5).contains(n),
            other => other.is_none(),
        };
        assert!(sets.iter().all(in_range));
        assert_eq!(legal(&[], &mut Random::new(1)), [Value::Struct(Vec::new())]);
    }

    #[test]
    fn what_is_out_of_range_is_tried() {
        let knobs = [knob("n", KnobKind::Int(2, 5), Some(Value::Int(3)))];
        let sets = illegal(&knobs, &mut Random::new(1));
        for value in [Value::Int(1), Value::Int(6), Value::Bool(true)] {
            assert!(sets.iter().any(|set| set.get("n") == Some(&value)), "{value}");
        }
        assert!(sets.iter().any(|set| set.get("no-such_option").is_some()));
    }

    #[test]
    fn the_widest_ranges_do_not_overflow() {
        let knobs = [
            knob("i", KnobKind::Int(i64::MIN, i64::MAX), None),
            knob("f", KnobKind::Float(f64::NEG_INFINITY, f64::INFINITY), None),
        ];
        assert!(legal(&knobs, &mut Random::new(7)).len() > N_RANDOM);
        assert!(!illegal(&knobs, &mut Random::new(7)).is_empty());
    }

    #[test]
    fn paths_are_not_made_up() {
        let path = || KnobKind::Path;
        let inner = KnobKind::Struct(vec![optional("file", path()), knob("on", KnobKind::Bool, None)]);
        let knobs = [
            knob("file", path(), Some(Value::Str("a".into()))),
            optional("other", path()),
            knob("all", KnobKind::List(Box::new(path())), Some(Value::List(Vec::new()))),
            knob("inner", inner, None),
        ];
        let sets = legal(&knobs, &mut Random::new(1));
        assert!(sets.iter().all(|set| ["file", "other", "all"].iter().all(|name| set.get(name).is_none())), "{sets:?}");
        let inner: Vec<&Value> = sets.iter().filter_map(|set| set.get("inner")).collect();
        assert_eq!(inner.len(), sets.len());
        assert!(inner.iter().all(|inner| inner.get("file").is_none() && inner.get("on").is_some()), "{inner:?}");
        let must = [knob("n", KnobKind::Bool, None), knob("file", path(), None)];
        assert!(legal(&must, &mut Random::new(1)).is_empty());
        assert_eq!(not_made_up(&must).unwrap().name, "file");
        assert!(not_made_up(&knobs).is_none());
    }

    #[test]
    fn optional_ones_are_given_and_left_out() {
        let knobs = [optional("n", KnobKind::Int(0, 9)), optional("on", KnobKind::Bool)];
        let sets = legal(&knobs, &mut Random::new(1));
        assert_eq!(sets[0], Value::Struct(Vec::new()));
        for name in ["n", "on"] {
            assert!(sets[1..].iter().any(|set| set.get(name).is_some()));
            assert!(sets[1..].iter().any(|set| set.get(name).is_none()));
        }
    }
}
