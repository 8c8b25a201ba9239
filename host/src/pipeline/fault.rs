//! The faults of a pipeline, and their places.

use crate::words::or_list;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use relais_plugin_api::{boundary::abi::error_kind, diagnostics::PassError};
use std::{collections::BTreeSet, fmt, ops::Range};

/// The prefix of the name of a plugin's pipeline, where files are named.
pub(super) const PLUGIN: &str = "plugin:";

/// The kinds of fault in a pipeline.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Code {
    /// The file is not TOML.
    Syntax,
    /// No such key is accepted here.
    UnknownKey,
    /// The value has another type than the one accepted.
    WrongType,
    /// The value has the right type, but is not accepted.
    Value,
    /// Something mandatory is not given.
    Missing,
    /// Something is given twice.
    Duplicate,
    /// An included file cannot be read.
    Include,
    /// A file includes itself.
    IncludeCycle,
    /// The file asks for more than is accepted: size, depth, number.
    Limit,
    /// Nothing provides this name.
    UnknownName,
    /// Several passes have this name, or several plugins provide it.
    Ambiguous,
    /// The plugin that provides it was refused.
    Refused,
    /// Passes that require each other.
    RequirementCycle,
    /// A required pass is missing.
    RequirementMissing,
    /// A required pass is disabled.
    RequirementDisabled,
    /// A required pass cannot be made without options.
    RequirementOptions,
    /// A plugin is missing or has another version.
    Plugin,
    /// The key belongs to the whole run.
    WholeRun,
    /// The pass could not be made.
    Create,
}

impl Code {
    /// Returns the code as printed in messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "P001",
            Self::UnknownKey => "P002",
            Self::WrongType => "P003",
            Self::Value => "P004",
            Self::Missing => "P005",
            Self::Duplicate => "P006",
            Self::Include => "P007",
            Self::IncludeCycle => "P008",
            Self::Limit => "P009",
            Self::UnknownName => "P010",
            Self::Ambiguous => "P011",
            Self::Refused => "P012",
            Self::RequirementCycle => "P013",
            Self::RequirementMissing => "P014",
            Self::RequirementDisabled => "P015",
            Self::RequirementOptions => "P016",
            Self::Plugin => "P017",
            Self::WholeRun => "P018",
            Self::Create => "P019",
        }
    }
}

/// A file of a pipeline, or another text that settings came from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SourceId(u32);

/// A stretch of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The source.
    pub source: SourceId,
    start: u32,
    end: u32,
}

impl Place {
    /// The place of those bytes.
    pub fn new(source: SourceId, span: Range<usize>) -> Self {
        let clamp = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self { source, start: clamp(span.start), end: clamp(span.end) }
    }

    /// The bytes.
    pub fn span(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A text that settings came from.
#[derive(Clone, Debug)]
pub struct SourceText {
    /// The file's path, or another name for the text.
    pub name: String,
    /// The text.
    pub text: String,
}

/// Every text that a pipeline was read from.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    sources: Vec<SourceText>,
}

impl Sources {
    /// Adds a text.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> SourceId {
        let id = SourceId(u32::try_from(self.sources.len()).expect("fewer than 2^32 sources"));
        self.sources.push(SourceText { name: name.into(), text: text.into() });
        id
    }

    /// A text that is its own place, such as an argument of the command line; the place is all of it.
    pub fn add_whole(&mut self, name: impl Into<String>, text: impl Into<String>) -> Place {
        let source = self.add(name, text);
        Place::new(source, 0..self.get(source).text.len())
    }

    /// The source of that id.
    pub fn get(&self, id: SourceId) -> &SourceText {
        &self.sources[id.0 as usize]
    }

    /// The names of the texts: the paths of files, and what others are called.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().map(|source| source.name.as_str())
    }

    /// The pipelines of plugins among the texts, by full name.
    pub(crate) fn plugin_pipelines(&self) -> BTreeSet<String> {
        let names = self.sources.iter().filter_map(|source| source.name.strip_prefix(PLUGIN));
        names.map(str::to_owned).collect()
    }

    /// `name:line:column`, both counted from 1, columns in characters.
    pub fn locate(&self, place: Place) -> String {
        let SourceText { name, text } = self.get(place.source);
        let before = &text[..floor(text, place.start as usize)];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
        format!("{name}:{line}:{}", before[line_start..].chars().count() + 1)
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub struct PipelineFault {
    /// Its kind.
    pub code: Code,
    /// The message.
    pub message: String,
    /// Its place; none if it is not in a text.
    pub place: Option<Place>,
    /// The label at the place.
    pub label: String,
    /// Other places, with their labels.
    pub related: Vec<(Place, String)>,
    /// Further information.
    pub notes: Vec<String>,
    /// A suggestion.
    pub help: Option<String>,
}

impl PipelineFault {
    /// A fault.
    pub fn new(code: Code, place: impl Into<Option<Place>>, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            place: place.into(),
            label: String::new(),
            related: Vec::new(),
            notes: Vec::new(),
            help: None,
        }
    }

    /// The same with words at its place.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// The same with another place.
    pub fn related(mut self, place: impl Into<Option<Place>>, label: impl Into<String>) -> Self {
        self.related.extend(place.into().map(|place| (place, label.into())));
        self
    }

    /// The same with one more note.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// The same with a suggestion.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same with the nearest names as help, if there are any.
    pub fn nearest(mut self, nearest: &[String]) -> Self {
        if !nearest.is_empty() {
            self.help = Some(format!("did you mean {}?", or_list(nearest)));
        }
        self
    }
}

/// How faults are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// Text alone.
    Plain,
    /// With colours, as terminals show them.
    Coloured,
}

/// The name and the version in a description of a plugin.
pub(super) fn described(plugin: &str) -> Option<(&str, &str)> {
    plugin.strip_prefix('`')?.split_once('`')?.0.split_once(' ')
}

/// The name of the first of several plugins.
pub(super) fn first_of(plugins: &[String]) -> &str {
    plugins.first().and_then(|plugin| described(plugin)).map_or("NAME", |(name, _)| name)
}

/// Everything that is wrong with a pipeline.
#[derive(Clone, Debug)]
pub struct Faults {
    /// The faults, in the order in which they were found.
    pub list: Vec<PipelineFault>,
    /// The texts that contain the faults' places.
    pub sources: Sources,
}

/// A reader of thousands of faults reads the first ones; the count shows how many more there are.
const MAX_SHOWN: usize = 50;

impl Faults {
    /// The faults with the lines they are in.
    pub fn render(&self, style: Style) -> String {
        let mut out = String::new();
        for fault in self.list.iter().take(MAX_SHOWN) {
            if !out.is_empty() {
                out.push_str("\n\n");
            }
            out.push_str(&fault.render(&self.sources, style));
        }
        if let Some(n_more) = self.list.len().checked_sub(MAX_SHOWN).filter(|&n| n > 0) {
            out.push_str(&format!("\n\nerror: {n_more} more of these"));
        }
        out
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Style::Plain))
    }
}

impl std::error::Error for Faults {}

/// The faults of a pass that another pass requests, as one error for the caller.
impl From<Faults> for PassError {
    fn from(faults: Faults) -> Self {
        let mut list = faults.list.into_iter();
        let Some(first) = list.next() else { return Self::with_kind(error_kind::HOST, "it cannot be made") };
        let more = list.map(|fault| fault.message).collect::<Vec<_>>();
        let message = std::iter::once(first.message).chain(more).collect::<Vec<_>>().join("; ");
        let error = Self::with_kind(error_kind::HOST, message);
        first.notes.iter().map(String::as_str).chain(first.help.as_deref()).fold(error, Self::help)
    }
}

impl PipelineFault {
    fn render(&self, sources: &Sources, style: Style) -> String {
        let mut group = Group::with_title(Level::ERROR.primary_title(&self.message).id(self.code.as_str()));
        let mut places: Vec<(Place, &str, AnnotationKind)> = Vec::new();
        places.extend(self.place.map(|place| (place, self.label.as_str(), AnnotationKind::Primary)));
        places.extend(self.related.iter().map(|(place, label)| (*place, label.as_str(), AnnotationKind::Context)));
        for (place, label, kind) in places {
            let source = sources.get(place.source);
            let (line, text, span) = excerpt(&source.text, place.span());
            let annotation = match label {
                "" => kind.span(span),
                label => kind.span(span).label(label),
            };
            group =
                group.element(Snippet::source(text).line_start(line).path(source.name.as_str()).annotation(annotation));
        }
        if self.place.is_none() && !self.label.is_empty() {
            // An item that is not in a file has no place for the label.
            group = group.element(Level::NOTE.message(&self.label));
        }
        for note in &self.notes {
            group = group.element(Level::NOTE.message(note));
        }
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help));
        }
        let renderer = match style {
            Style::Plain => Renderer::plain(),
            Style::Coloured => Renderer::styled(),
        };
        renderer.render(&[group])
    }
}

/// The lines that a span is in, at most two of them, with the number of the first and the span within them.
fn excerpt(text: &str, span: Range<usize>) -> (usize, &str, Range<usize>) {
    const MAX_LINE: usize = 2000;
    let start = floor(text, span.start);
    let end = floor(text, span.end.max(start));
    let first = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let number = text[..first].bytes().filter(|&byte| byte == b'\n').count() + 1;
    // A line of a megabyte is cut around the place.
    let first = floor(text, first.max(start.saturating_sub(MAX_LINE)));
    let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let last = floor(text, line_end.min(start + MAX_LINE));
    let end = end.clamp(start, last);
    (number, &text[first..last], start - first..end - first)
}

/// The greatest boundary of characters at or below an index.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_show_line_and_column() {
        let mut sources = Sources::default();
        let source = sources.add("a.toml", "x = 1\n  ö = 2\n");
        let place = Place::new(source, 8..10);
        assert_eq!(sources.locate(place), "a.toml:2:3");
        let fault = PipelineFault::new(Code::UnknownKey, place, "unknown key `ö`").label("here").help("do without");
        let text = Faults { list: vec![fault], sources }.to_string();
        assert_eq!(
            text,
            "error[P002]: unknown key `ö`\n --> a.toml:2:3\n  |\n2 |   ö = 2\n  |   ^ here\n  |\n  = help: do without"
        );
    }

    #[test]
    fn places_outside_a_text_do_not_panic() {
        for span in [0..0, 2..3, 900..1000] {
            let mut sources = Sources::default();
            let source = sources.add("a", "ä\n");
            let fault = PipelineFault::new(Code::Syntax, Place::new(source, span), "m");
            assert!(Faults { list: vec![fault], sources }.to_string().contains("P001"));
        }
    }
}
