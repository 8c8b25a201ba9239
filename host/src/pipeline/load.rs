//! Reads a pipeline's file and those it includes.

use super::{
    fault::{Code, Fault, Faults, Place, Sources},
    parse::{Include, MAX_BYTES, ParsedFile, Parser, include_path},
    spec::*,
};
use std::{
    collections::BTreeSet,
    fs, io,
    io::Read,
    path::{Path, PathBuf},
};

/// So many files may be read for one pipeline, each counted as often as it is included.
const MAX_INCLUDES: usize = 1000;
/// A pipeline has so many steps at most, those of includes counted.
const MAX_STEPS: usize = 1_000_000;

/// Where files come from: the disk, or memory in tests and for pipelines that are built in.
pub trait Files {
    /// The text of a file.
    ///
    /// # Errors
    /// When it cannot be read as text.
    fn read(&self, path: &Path) -> io::Result<String>;

    /// A name that is the same for two paths of one file.
    fn identity(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }
}

/// The files of the disk, and the built-in ones as `builtin:NAME`.
#[derive(Clone, Copy, Debug)]
pub struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path) -> io::Result<String> {
        if let Some(name) = path.to_str().and_then(|path| path.strip_prefix(super::built_in::PREFIX)) {
            let unknown = || {
                let names: Vec<String> = super::BUILT_IN.iter().map(|(name, _)| format!("`builtin:{name}`")).collect();
                io::Error::new(io::ErrorKind::NotFound, format!("the built-in ones are {}", names.join(", ")))
            };
            let found = super::built_in(name).ok_or_else(unknown)?;
            return Ok(found.to_owned());
        }
        // A device or a pipe may never end.
        let mut text = String::new();
        fs::File::open(path)?.take(MAX_BYTES as u64 + 1).read_to_string(&mut text)?;
        Ok(text)
    }

    fn identity(&self, path: &Path) -> PathBuf {
        path.canonicalize().unwrap_or_else(|_| path.to_owned())
    }
}

impl PipelineSpec {
    /// Reads a pipeline's file and those it includes.
    ///
    /// # Errors
    /// When something is wrong with one of them; all that is wrong is reported.
    pub fn read(path: &Path, files: &dyn Files) -> Result<Self, Faults> {
        let (spec, faults) = Self::read_in_part(path, files)?;
        spec.unless(faults)
    }

    /// Reads as much of a pipeline's file, and of those it includes, as can be read, with everything that is wrong.
    ///
    /// # Errors
    /// When the file cannot be read at all.
    pub fn read_in_part(path: &Path, files: &dyn Files) -> Result<(Self, Vec<Fault>), Faults> {
        let mut sources = Sources::default();
        match files.read(path) {
            Ok(text) => Ok(Self::parse_named(&path.display().to_string(), &text, Some(files.identity(path)), files)),
            Err(error) => {
                let place = sources.add_whole("command line", path.display().to_string());
                let fault = Fault::new(
                    Code::Include,
                    place,
                    format!("the pipeline `{}` cannot be read: {error}", path.display()),
                )
                .help("`relais list pipelines` lists the ones that are built in");
                Err(Faults { list: vec![fault], sources })
            }
        }
    }

    /// Reads a pipeline from a text. Includes are looked for beside `name`.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn parse(name: &str, text: &str, files: &dyn Files) -> Result<Self, Faults> {
        let (spec, faults) = Self::parse_named(name, text, Some(files.identity(Path::new(name))), files);
        spec.unless(faults)
    }

    /// The pipeline, unless something is wrong with it.
    fn unless(self, faults: Vec<Fault>) -> Result<Self, Faults> {
        match faults.is_empty() {
            true => Ok(self),
            false => Err(Faults { list: faults, sources: self.sources }),
        }
    }

    fn parse_named(name: &str, text: &str, identity: Option<PathBuf>, files: &dyn Files) -> (Self, Vec<Fault>) {
        let mut sources = Sources::default();
        let source = sources.add(name, text);
        let mut parser = Parser { sources: &mut sources, nodes: Vec::new(), faults: Vec::new() };
        let root = parser.file(source);
        let mut loader = Loader { files, todo: Vec::new(), plugins: Vec::new(), read: Vec::new(), chain: vec![] };
        loader.chain.push(ChainLink { identity, parent: None, shown: name.to_owned() });
        let ParsedFile { name: own_name, mut run, scope, steps, includes, .. } = root;
        loader.push(includes, 0);
        loader.run(&mut parser);
        run.plugins.append(&mut loader.plugins);
        let Parser { nodes, mut faults, .. } = parser;
        faults.sort_by_key(|fault| fault.place.map(|place| (place.source, place.span().start)));
        let spec = Self {
            name: own_name.unwrap_or_else(|| stem(name)),
            run,
            scope,
            steps,
            nodes,
            sources,
            settings: Vec::new(),
        };
        (spec, faults)
    }
}

/// A file that is being read, and the one that includes it.
struct ChainLink {
    identity: Option<PathBuf>,
    parent: Option<usize>,
    shown: String,
}

struct Loader<'f> {
    files: &'f dyn Files,
    /// Includes to be read, with the link of the file they stand in.
    todo: Vec<(Include, usize)>,
    plugins: Vec<PluginDemand>,
    /// Files whose faults were reported: a file included twice reports them once.
    read: Vec<PathBuf>,
    chain: Vec<ChainLink>,
}

impl Loader<'_> {
    fn push(&mut self, includes: Vec<Include>, link: usize) {
        // Taken from the end: the first include is read first.
        self.todo.extend(includes.into_iter().rev().map(|include| (include, link)));
    }

    fn run(&mut self, parser: &mut Parser<'_>) {
        let mut n_read = 0;
        while let Some((include, link)) = self.todo.pop() {
            n_read += 1;
            if n_read > MAX_INCLUDES || parser.nodes.len() > MAX_STEPS {
                let message =
                    format!("the pipeline includes more than {MAX_INCLUDES} files or has over {MAX_STEPS} steps");
                parser.faults.push(Fault::new(Code::Limit, include.path.place, message).help("include fewer files"));
                return;
            }
            self.include(parser, &include, link);
        }
    }

    fn include(&mut self, parser: &mut Parser<'_>, include: &Include, parent: usize) {
        let path = include_path(&self.chain[parent].shown, &include.path.value);
        let identity = self.files.identity(&path);
        if let Some(fault) = self.cycle(&identity, &include.path, parent) {
            parser.faults.push(fault);
            return;
        }
        let text = match self.files.read(&path) {
            Ok(text) => text,
            Err(error) => {
                let fault = Fault::new(
                    Code::Include,
                    include.path.place,
                    format!("`{}` cannot be read: {error}", path.display()),
                );
                parser.faults.push(fault.help(match include.path.value.starts_with(super::built_in::PREFIX) {
                    true => "`relais list pipelines` lists the built-in ones",
                    false => "an include's path starts from the folder of the file that it stands in",
                }));
                return;
            }
        };
        let shown = path.display().to_string();
        let source = parser.sources.add(shown.clone(), text);
        let n_faults = parser.faults.len();
        let file = parser.file(source);
        for (key, place) in &file.run_keys {
            parser.faults.push(whole_run(key, *place, include.path.place));
        }
        if self.read.contains(&identity) {
            parser.faults.truncate(n_faults);
        } else {
            self.read.push(identity.clone());
        }
        parser.nodes[include.node].value = StepSpec::Scope { scope: file.scope, steps: file.steps };
        self.plugins.extend(file.run.plugins);
        self.chain.push(ChainLink { identity: Some(identity), parent: Some(parent), shown });
        let link = self.chain.len() - 1;
        self.push(file.includes, link);
    }

    fn cycle(&self, identity: &Path, path: &Written<String>, parent: usize) -> Option<Fault> {
        let mut seen = BTreeSet::new();
        let mut at = Some(parent);
        let mut names = vec![path.value.as_str()];
        while let Some(link) = at.filter(|&link| seen.insert(link)) {
            let ChainLink { identity: other, parent, shown } = &self.chain[link];
            names.push(shown);
            if other.as_deref() == Some(identity) {
                let chain = names.iter().rev().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" includes ");
                let fault = Fault::new(Code::IncludeCycle, path.place, format!("`{}` includes itself", path.value));
                return Some(fault.note(chain).help("remove one of these includes"));
            }
            at = *parent;
        }
        None
    }
}

fn whole_run(key: &str, place: Place, included: Option<Place>) -> Fault {
    Fault::new(Code::WholeRun, place, format!("`{key}` belongs to the whole run"))
        .label("in an included file")
        .related(included, "included here")
        .help("say it in the outermost file")
}

fn stem(name: &str) -> String {
    let name = name.strip_prefix(super::built_in::PREFIX).unwrap_or(name);
    let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str()).filter(|stem| !stem.is_empty());
    stem.unwrap_or("pipeline").to_owned()
}
