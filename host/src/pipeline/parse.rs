//! From TOML to a pipeline as it was written. Collects every fault.

use super::{
    fault::{Code, PLUGIN, PipelineFault, Place, SourceId, Sources},
    file_parser::{Extend, FileParser, Include, MAX_BYTES, Node, Pairs, ParsedFile},
    parse_value::type_name,
    spec::*,
};
use crate::{
    pass::{Dependencies, OnFailure, Verify},
    words::{nearest, or_list},
};
use std::path::PathBuf;
use toml::de::{DeTable, DeValue};

/// Reads files into one list of nodes.
pub(super) struct Parser<'s> {
    pub sources: &'s mut Sources,
    pub nodes: Vec<Written<StepSpec>>,
    pub faults: Vec<PipelineFault>,
}

const PIPELINE_KEYS: &[&str] = &[
    "name",
    "opt_level",
    "required",
    "disabled",
    "dependencies",
    "config",
    "instruments",
    "plugins",
    "on_failure",
    "target",
    "verify",
    "steps",
    "extend",
    "extensions",
];
const WHOLE_RUN_KEYS: &[&str] = &["dependencies", "extensions", "instruments", "on_failure", "target", "verify"];
const PASS_KEYS: &[&str] = &["pass", "options", "opt_level"];
const SEQUENCE_KEYS: &[&str] = &["sequence", "name", "opt_level", "required"];
const FIXPOINT_KEYS: &[&str] = &["fixpoint", "max_rounds"];
const REQUIREMENT_KEYS: &[&str] = &["pass", "options"];

const SCOPE_KEYS: &[&str] = &["scope", "opt_level", "required", "disabled", "config", "instruments"];
const INCLUDE_KEYS: &[&str] = &["include"];
const LEVELS_KEYS: &[&str] = &["passes", "runtime"];
const WHEN_KEYS: &[&str] = &["when_operator", "steps"];
const EXTENSION_KEYS: &[&str] = &["extension", "then"];
const STEP_KINDS: &[(&str, &[&str])] = &[
    ("pass", PASS_KEYS),
    ("sequence", SEQUENCE_KEYS),
    ("fixpoint", FIXPOINT_KEYS),
    ("scope", SCOPE_KEYS),
    ("include", INCLUDE_KEYS),
    ("passes", LEVELS_KEYS),
    ("when_operator", WHEN_KEYS),
    ("extension", EXTENSION_KEYS),
];

/// An array of steps that is still to be read, and the node whose steps they are; `None` is the file itself.
type Todo<'t, 'a> = (&'a Node<'t>, Option<usize>);

impl Parser<'_> {
    /// Reads a file's text.
    pub fn file(&mut self, source: SourceId) -> ParsedFile {
        let source_text = self.sources.get(source);
        let (name, text) = (source_text.name.clone(), source_text.text.clone());
        let mut file = FileParser::new(source, &mut self.faults, &mut self.nodes);
        file.folder = include_path(&name, "");
        file.is_of_plugin = name.starts_with(PLUGIN);
        file.read(&text);
        file.out
    }
}

impl FileParser<'_> {
    fn read(&mut self, text: &str) {
        if text.len() > MAX_BYTES {
            let fault =
                PipelineFault::new(Code::Limit, Place::new(self.source, 0..0), "this file is too large for a pipeline");
            self.faults.push(fault.help(format!("a pipeline has at most {MAX_BYTES} bytes")));
            return;
        }
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut places: Vec<(usize, std::ops::Range<usize>, &str)> = Vec::new();
        for error in &errors {
            let span = error.span().unwrap_or(0..0);
            let line_start = text.as_bytes()[..span.start.min(text.len())].iter().rposition(|&byte| byte == b'\n');
            places.push((line_start.map_or(0, |at| at + 1), span, error.message()));
        }
        // The first fault of a line begets the others.
        places.sort_by_key(|(_, span, _)| span.start);
        places.dedup_by_key(|(line, ..)| *line);
        for (_, span, message) in places {
            self.faults.push(syntax(Place::new(self.source, span), message));
        }
        // The apparent contents of a damaged file are not worth more faults.
        if errors.is_empty() {
            self.pipeline(table.get_ref());
        }
    }

    fn pipeline(&mut self, table: &DeTable<'_>) {
        let pairs = self.pairs(table, "a pipeline", PIPELINE_KEYS);
        let mut todo: Vec<Todo<'_, '_>> = Vec::new();
        for (key, value) in pairs {
            if let Some(name) = WHOLE_RUN_KEYS.iter().find(|name| *name == key.get_ref()) {
                let place = self.place(key);
                self.out.run_keys.push((name, place));
            }
            match &**key.get_ref() {
                "name" => self.out.name = self.string(value, "name").map(|name| name.value),
                "opt_level" => self.out.scope.opt_level = self.level(value, "opt_level"),
                "required" => self.out.scope.required = self.names(value, "required"),
                "disabled" => self.out.scope.disabled = self.names(value, "disabled"),
                "config" => self.out.scope.config = self.config(value),
                "dependencies" => {
                    self.out.run.dependencies = self.choice(value, "dependencies", &Dependencies::NAMES);
                }
                "on_failure" => {
                    let choices =
                        [("fail", OnFailure::Fail), ("skip", OnFailure::Skip), ("quarantine", OnFailure::Quarantine)];
                    self.out.run.on_failure = self.choice(value, "on_failure", &choices);
                }
                "verify" => {
                    let choices = [("each", Verify::Each), ("off", Verify::Off)];
                    self.out.run.verify = self.choice(value, "verify", &choices);
                }
                "target" => self.out.run.target = self.string(value, "target"),
                "instruments" => {
                    let used = self.instruments(value);
                    self.out.run.instruments.extend(used);
                }
                "plugins" => self.plugins(value),
                "extensions" => {
                    let choices = [("on", Extensions::On), ("off", Extensions::Off)];
                    self.out.run.extensions = self.choice(value, "extensions", &choices);
                }
                "extend" => self.extend(value, &mut todo),
                "steps" => todo.push((value, None)),
                _ => {}
            }
        }
        self.steps(todo);
    }

    /// Reads arrays of steps; nested ones are deferred, so that nesting needs no recursion.
    fn steps<'t, 'a>(&mut self, mut todo: Vec<Todo<'t, 'a>>) {
        while let Some((list, owner)) = todo.pop() {
            let Some(items) = self.array(list, "steps") else { continue };
            let mut steps = Vec::with_capacity(items.len());
            for item in items {
                steps.extend(self.step(item, &mut todo));
            }
            match owner {
                None => self.out.steps = steps,
                Some(owner) => {
                    if let Some(slot) = self.nodes[owner].value.steps_mut() {
                        *slot = steps;
                    }
                }
            }
        }
    }

    /// Reads the additions at extension points: a table of arrays of steps.
    fn extend<'t, 'a>(&mut self, node: &'a Node<'t>, todo: &mut Vec<Todo<'t, 'a>>) {
        let DeValue::Table(table) = node.get_ref() else {
            return self.wrong_type(self.place(node), "`extend`", "a table", type_name(node.get_ref()));
        };
        let mut pairs: Pairs<'_, '_> = table.iter().collect();
        pairs.sort_by_key(|(key, _)| key.span().start);
        for (key, steps) in pairs {
            let point = Written::at(self.place(key), key.get_ref().to_string());
            let place = self.place(steps);
            let list = StepSpec::Sequence { name: None, opt_level: 0, required: Vec::new(), steps: Vec::new() };
            let node = self.add(place, list);
            self.out.extends.push(Extend { point, node });
            todo.push((steps, Some(node)));
        }
    }

    fn step<'t, 'a>(&mut self, item: &'a Node<'t>, todo: &mut Vec<Todo<'t, 'a>>) -> Option<usize> {
        let place = self.place(item);
        let table = match item.get_ref() {
            DeValue::String(name) => {
                let name = Written::at(place, name.to_string());
                return Some(self.add(place, StepSpec::Pass { name, options: Vec::new(), opt_level: None }));
            }
            DeValue::Table(table) => table,
            other => {
                self.wrong_type(place, "a step", "the name of a pass or a table", type_name(other));
                return None;
            }
        };
        let kinds: Vec<&(&str, &[&str])> = STEP_KINDS.iter().filter(|(kind, _)| table.contains_key(*kind)).collect();
        let (kind, accepted) = match kinds.as_slice() {
            [(kind, accepted)] => (*kind, *accepted),
            [] => {
                self.no_step(place, table);
                return None;
            }
            [(first, _), (second, _), ..] => {
                let fault =
                    PipelineFault::new(Code::Duplicate, place, format!("a step is `{first}` or `{second}`, not both"));
                self.fault(fault.help("write two steps"));
                return None;
            }
        };
        let pairs = self.pairs(table, &format!("a step with `{kind}`"), accepted);
        let get = |name: &str| pairs.iter().find(|(key, _)| key.get_ref() == name).map(|&(_, value)| value);
        let main = get(kind).expect("the key by which the kind was found");
        let step = match kind {
            "pass" => StepSpec::Pass {
                name: self.string(main, "pass")?,
                options: get("options").map_or_else(Vec::new, |value| self.entries(value, "options")),
                opt_level: get("opt_level").and_then(|value| self.level(value, "opt_level")),
            },
            "sequence" => StepSpec::Sequence {
                name: get("name").and_then(|value| self.string(value, "name")),
                opt_level: get("opt_level").and_then(|value| self.level(value, "opt_level")).unwrap_or(0),
                required: get("required").map_or_else(Vec::new, |value| self.requirements(value)),
                steps: Vec::new(),
            },
            "fixpoint" => StepSpec::Fixpoint {
                steps: Vec::new(),
                max_rounds: get("max_rounds").map_or(DEFAULT_MAX_ROUNDS, |value| self.rounds(value)),
            },
            "scope" => StepSpec::Scope {
                scope: ScopeSpec {
                    opt_level: get("opt_level").and_then(|value| self.level(value, "opt_level")),
                    required: get("required").map_or_else(Vec::new, |value| self.names(value, "required")),
                    disabled: get("disabled").map_or_else(Vec::new, |value| self.names(value, "disabled")),
                    config: get("config").map_or_else(Vec::new, |value| self.config(value)),
                },
                instruments: get("instruments").map(|value| self.instruments(value)),
                steps: Vec::new(),
            },
            "include" => {
                let path = self.string(main, "include")?;
                let node = self
                    .add(place, StepSpec::Scope { scope: ScopeSpec::default(), instruments: None, steps: Vec::new() });
                self.out.includes.push(Include { path, node });
                return Some(node);
            }
            "extension" => {
                let point = self.string(main, "extension")?;
                let node = self.add(place, StepSpec::Extension { point, added: Vec::new(), then: Vec::new() });
                self.out.points.push(node);
                todo.extend(get("then").map(|then| (then, Some(node))));
                return Some(node);
            }
            "passes" => {
                let text = self.string(main, "passes")?;
                let Some(set) = LevelSet::parse(&text.value) else {
                    let fault =
                        PipelineFault::new(Code::Value, text.place, format!("`{}` is not a set of levels", text.value));
                    self.fault(fault.help("write `level<=N`, `level<N`, `level==N`, `level>=N` or `level>N`"));
                    return None;
                };
                StepSpec::Levels { set, runtime: get("runtime").and_then(|value| self.string(value, "runtime")) }
            }
            "when_operator" => {
                let Some(steps) = get("steps") else {
                    let fault = PipelineFault::new(Code::Missing, place, "a step with `when_operator` has no `steps`");
                    self.fault(fault.help("say which steps run when the operator is there: `steps = [...]`"));
                    return None;
                };
                let operators = match main.get_ref() {
                    DeValue::String(name) => vec![Written::at(self.place(main), name.to_string())],
                    _ => self.names(main, "when_operator"),
                };
                let node = self.add(place, StepSpec::When { operators, steps: Vec::new() });
                todo.push((steps, Some(node)));
                return Some(node);
            }
            _ => return None,
        };
        let has_steps = !matches!(step, StepSpec::Pass { .. } | StepSpec::Levels { .. });
        let node = self.add(place, step);
        if has_steps {
            todo.push((main, Some(node)));
        }
        Some(node)
    }

    /// The passes that a sequence requires: each a name, or a table with options.
    fn requirements(&mut self, node: &Node<'_>) -> Vec<RequirementSpec> {
        let Some(items) = self.array(node, "required") else { return Vec::new() };
        let one = |item: &Node<'_>| {
            let DeValue::Table(table) = item.get_ref() else {
                return Some(RequirementSpec { name: self.string(item, "required")?, options: Vec::new() });
            };
            let pairs = self.pairs(table, "a requirement", REQUIREMENT_KEYS);
            let get = |name: &str| pairs.iter().find(|(key, _)| key.get_ref() == name).map(|&(_, value)| value);
            let Some(name) = get("pass") else {
                let fault = PipelineFault::new(Code::Missing, self.place(item), "a requirement has no `pass`");
                self.fault(fault.help("write its name, or `{ pass = \"…\", options = { … } }`"));
                return None;
            };
            let name = self.string(name, "pass")?;
            let options = get("options").map_or_else(Vec::new, |value| self.entries(value, "options"));
            Some(RequirementSpec { name, options })
        };
        items.iter().filter_map(one).collect()
    }

    fn no_step(&mut self, place: Place, table: &DeTable<'_>) {
        let kinds: Vec<&str> = STEP_KINDS.iter().map(|(kind, _)| *kind).collect();
        let near =
            table.keys().flat_map(|key| nearest(key.get_ref(), kinds.iter().copied())).take(1).collect::<Vec<_>>();
        let fault = PipelineFault::new(Code::Missing, place, "this table does not say what the step is");
        self.fault(fault.note(format!("a step has one of the keys {}", or_list(&kinds))).nearest(&near));
    }

    fn add(&mut self, place: Place, step: StepSpec) -> usize {
        self.nodes.push(Written::at(place, step));
        self.nodes.len() - 1
    }
}

/// Where an include leads, seen from the file that has it.
pub(super) fn include_path(from: &str, path: &str) -> PathBuf {
    if path.starts_with(super::built_in::PREFIX) || path.starts_with(PLUGIN) {
        return PathBuf::from(path);
    }
    let folder = std::path::Path::new(from).parent().unwrap_or(std::path::Path::new(""));
    folder.join(path)
}

fn syntax(place: Place, message: &str) -> PipelineFault {
    let mut lines = message.lines();
    let first = lines.next().unwrap_or("not TOML").trim_end_matches('.');
    let fault = PipelineFault::new(Code::Syntax, place, format!("not TOML: {first}"));
    lines.fold(fault, |fault, line| fault.note(line))
}
