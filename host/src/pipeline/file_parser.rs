//! The contents of one file while it is read.

use super::{
    fault::{PipelineFault, Place, SourceId},
    spec::*,
};
use std::path::PathBuf;
use toml::{Spanned, de::DeValue};

/// The most bytes of a pipeline file.
pub(super) const MAX_BYTES: usize = 16 << 20;

pub(super) type Node<'t> = Spanned<DeValue<'t>>;

pub(super) type Pairs<'t, 'a> = Vec<(&'a Spanned<std::borrow::Cow<'t, str>>, &'a Node<'t>)>;

/// An include that is still to be read: the steps go in the place of a node.
pub(super) struct Include {
    /// The file as it was written.
    pub path: Written<String>,
    /// The node that takes its steps.
    pub node: usize,
}

/// Steps that a file adds at an extension point.
pub(super) struct Extend {
    /// The point's name.
    pub point: Written<String>,
    /// The node that contains these steps; it has no place in the text.
    pub node: usize,
}

/// The contents of a file.
pub(super) struct ParsedFile {
    pub name: Option<String>,
    pub run: RunSpec,
    pub scope: ScopeSpec,
    pub steps: Vec<usize>,
    pub includes: Vec<Include>,
    pub extends: Vec<Extend>,
    /// The nodes that are extension points.
    pub points: Vec<usize>,
    /// The keys that belong to the whole run, which an included file must not set.
    pub run_keys: Vec<(&'static str, Place)>,
}

pub(super) struct FileParser<'p> {
    pub faults: &'p mut Vec<PipelineFault>,
    pub nodes: &'p mut Vec<Written<StepSpec>>,
    pub source: SourceId,
    /// The folder at which relative paths start.
    pub folder: PathBuf,
    /// Whether a plugin provides the text.
    pub is_of_plugin: bool,
    pub out: ParsedFile,
}

impl<'p> FileParser<'p> {
    pub fn new(source: SourceId, faults: &'p mut Vec<PipelineFault>, nodes: &'p mut Vec<Written<StepSpec>>) -> Self {
        let out = ParsedFile {
            name: None,
            run: RunSpec::default(),
            scope: ScopeSpec::default(),
            steps: Vec::new(),
            includes: Vec::new(),
            extends: Vec::new(),
            points: Vec::new(),
            run_keys: Vec::new(),
        };
        Self { faults, nodes, source, folder: PathBuf::new(), is_of_plugin: false, out }
    }

    pub fn place<T>(&self, node: &Spanned<T>) -> Place {
        Place::new(self.source, node.span())
    }

    pub fn fault(&mut self, fault: PipelineFault) {
        self.faults.push(fault);
    }
}
