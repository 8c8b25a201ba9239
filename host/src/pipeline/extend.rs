//! Extension points: the additions of files and plugins at named places of pipelines.

use super::{
    fault::{Code, PipelineFault, Sources},
    file_parser::Extend,
    parse::Parser,
    spec::{MAX_STEPS, StepSpec, Written},
};
use crate::words::nearest;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A file of a pipeline, with its additions.
pub(super) struct File {
    /// The file that includes it, by index.
    pub parent: Option<usize>,
    /// Its displayed name.
    pub shown: String,
    /// The steps that it adds, to its own steps and to those of the files that it includes.
    pub extends: Vec<Extend>,
}

/// The steps of a pipeline while it is read.
pub(super) struct Nodes<'a> {
    /// Every step.
    pub all: &'a mut Vec<Written<StepSpec>>,
    /// Where some come from.
    pub origins: &'a mut BTreeMap<usize, String>,
    /// The faults found so far.
    pub faults: &'a mut Vec<PipelineFault>,
}

/// Inserts the additions of files: at each point in their own steps, and in those of the files that they include.
/// Additions of the inner file come first. `points` maps each point to the file that contains it.
pub(super) fn attach(nodes: &mut Nodes<'_>, steps: &[usize], files: &[File], points: &BTreeMap<usize, usize>) {
    let by_name: Vec<BTreeMap<&str, usize>> = files
        .iter()
        .map(|file| file.extends.iter().enumerate().map(|(at, it)| (it.point.value.as_str(), at)).collect())
        .collect();
    let mut used: BTreeSet<(usize, usize)> = BTreeSet::new();
    // The names of the points that each file's table can mean.
    let mut known: Vec<BTreeSet<String>> = vec![BTreeSet::new(); files.len()];
    for node in reached(nodes.all, steps) {
        let (StepSpec::Extension { point, .. }, Some(&home)) = (&nodes.all[node].value, points.get(&node)) else {
            continue;
        };
        let point = point.clone();
        let mut new = Vec::new();
        let mut at = Some(home);
        while let Some(file) = at {
            if !files[file].extends.is_empty() {
                known[file].insert(point.value.clone());
            }
            if let Some(&extend) = by_name[file].get(point.value.as_str()) {
                used.insert((file, extend));
                let from = files[file].extends[extend].node;
                let Some(copies) = copy(nodes.all, from) else {
                    let message = format!("the pipeline has over {MAX_STEPS} steps");
                    nodes.faults.push(PipelineFault::new(Code::Limit, point.place, message).help("add fewer steps"));
                    return;
                };
                let origin = format!("`{}` adds it", files[file].shown.escape_debug());
                nodes.origins.extend(copies.iter().map(|&copy| (copy, origin.clone())));
                new.extend(copies);
            }
            at = files[file].parent;
        }
        if let StepSpec::Extension { added, .. } = &mut nodes.all[node].value {
            *added = new;
        }
    }
    for (file, File { extends, .. }) in files.iter().enumerate() {
        // Those of a pipeline that is included there are left out.
        let added: Vec<usize> = extends.iter().map(|extend| extend.node).collect();
        for node in reached(nodes.all, &added).into_iter().filter(|node| points.get(node) == Some(&file)) {
            let StepSpec::Extension { point, .. } = &nodes.all[node].value else { continue };
            let message = "an extension point cannot be added at another one";
            let fault = PipelineFault::new(Code::Value, point.place, message.to_owned());
            nodes.faults.push(fault.help("add the steps themselves, or put the point into `steps`"));
        }
        let unused = extends.iter().enumerate().filter(|&(at, _)| !used.contains(&(file, at)));
        nodes.faults.extend(unused.map(|(_, extend)| no_point(&extend.point, &known[file])));
    }
}

fn no_point(point: &Written<String>, known: &BTreeSet<String>) -> PipelineFault {
    let message = format!("the pipeline has no extension point `{}`", super::schema::shorten(&point.value));
    let fault = PipelineFault::new(Code::UnknownName, point.place, message);
    match known.is_empty() {
        true => fault
            .note("neither the steps of this file nor those that it includes have any")
            .help("include a pipeline that has it: `{ include = \"builtin:default\" }`"),
        false => fault
            .note(format!("it has {}", crate::words::and_list(&known.iter().collect::<Vec<_>>())))
            .nearest(&nearest(&point.value, known.iter().map(String::as_str))),
    }
}

/// The points among some steps and those within them, in order.
fn reached(nodes: &[Written<StepSpec>], steps: &[usize]) -> Vec<usize> {
    let mut out = Vec::new();
    let mut todo: Vec<usize> = steps.iter().rev().copied().collect();
    while let Some(node) = todo.pop() {
        let step = &nodes[node].value;
        if matches!(step, StepSpec::Extension { .. }) {
            out.push(node);
        }
        todo.extend(step.steps().iter().rev());
    }
    out
}

/// A copy of the steps of a node, and of those within them. A point among them is left out: additions cannot be
/// extended. `None` if there would be too many.
fn copy(nodes: &mut Vec<Written<StepSpec>>, from: usize) -> Option<Vec<usize>> {
    let mut out = Vec::new();
    let mut todo: VecDeque<(usize, Option<usize>)> =
        nodes[from].value.steps().iter().map(|&step| (step, None)).collect();
    while let Some((old, owner)) = todo.pop_front() {
        if nodes.len() >= MAX_STEPS {
            return None;
        }
        let mut new = nodes[old].clone();
        if matches!(new.value, StepSpec::Extension { .. }) {
            continue;
        }
        let id = nodes.len();
        let within = new.value.steps_mut().map(std::mem::take).unwrap_or_default();
        todo.extend(within.into_iter().map(|step| (step, Some(id))));
        nodes.push(new);
        match owner.and_then(|owner| nodes[owner].value.steps_mut()) {
            Some(steps) => steps.push(id),
            None => out.push(id),
        }
    }
    Some(out)
}

/// The names of the extension points in a text.
pub(crate) fn points_of(toml: &str) -> Vec<String> {
    let mut sources = Sources::default();
    let source = sources.add("", toml);
    let mut parser = Parser { sources: &mut sources, nodes: Vec::new(), faults: Vec::new() };
    let points = parser.file(source).points;
    let name = |node: usize| match &parser.nodes[node].value {
        StepSpec::Extension { point, .. } => Some(point.value.clone()),
        _ => None,
    };
    points.into_iter().filter_map(name).collect()
}
