//! Reads a pipeline's file and those it includes.

use super::{
    extend,
    fault::{Code, Faults, PLUGIN, PipelineFault, Place, Sources, first_of},
    file_parser::{Include, MAX_BYTES, ParsedFile},
    parse::{Parser, include_path},
    spec::*,
};
use crate::pass::{Candidate, NoPass};
use relais_plugin_api::boundary::record::is_name;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    io::Read,
    path::{Path, PathBuf},
};

/// The most files that may be read for one pipeline, each counted as often as it is included.
const MAX_INCLUDES: usize = 1000;

/// A pipeline that a plugin provides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedPipeline {
    /// Its full name.
    pub name: String,
    /// Its text.
    pub toml: String,
    /// The plugin and its version.
    pub plugin: String,
}

/// Where files come from, the disk or memory, and the pipelines of plugins.
pub trait Files {
    /// The text of a file.
    ///
    /// # Errors
    /// Returns an error if it cannot be read as text.
    fn read(&self, path: &Path) -> io::Result<String>;

    /// The text of a file that another file includes.
    ///
    /// # Errors
    /// As for [`read`](Self::read), and if the file cannot be a pipeline: only its author chose it.
    fn read_included(&self, path: &Path) -> io::Result<String> {
        self.read(path)
    }

    /// A name that is the same for two paths of one file.
    fn identity(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    /// The pipeline of that name, full or short, that a plugin provides; `demands` choose among several plugins.
    ///
    /// # Errors
    /// Returns an error if the name does not resolve to a pipeline.
    fn named(&self, _name: &str, _demands: &[PluginDemand]) -> Result<NamedPipeline, NoPass> {
        Err(NoPass::Unknown(Vec::new()))
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

    fn read_included(&self, path: &Path) -> io::Result<String> {
        let is_built_in = path.to_str().is_some_and(|path| path.starts_with(super::built_in::PREFIX));
        if !is_built_in {
            // The name of a link does not reveal the file behind it.
            let file = path.canonicalize()?;
            if !file.is_file() || file.extension().is_none_or(|extension| extension != "toml") {
                return Err(io::Error::other("it is not a file whose name ends in `.toml`"));
            }
        }
        self.read(path)
    }

    fn identity(&self, path: &Path) -> PathBuf {
        path.canonicalize().unwrap_or_else(|_| path.to_owned())
    }
}

impl PipelineSpec {
    /// Reads a pipeline's file and those it includes.
    ///
    /// # Errors
    /// Returns an error if something is wrong with one of them; all that is wrong is reported.
    pub fn read(path: &Path, files: &dyn Files) -> Result<Self, Faults> {
        let (spec, faults) = Self::read_in_part(path, files)?;
        spec.unless(faults)
    }

    /// Reads as much of a pipeline's file, and of those it includes, as can be read, with all errors.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read at all.
    pub fn read_in_part(path: &Path, files: &dyn Files) -> Result<(Self, Vec<PipelineFault>), Faults> {
        let mut sources = Sources::default();
        if let Some(name) = path.to_str().and_then(|path| path.strip_prefix(PLUGIN)) {
            let place = sources.add_whole("command line", name);
            return match files.named(name, &[]) {
                Ok(found) => {
                    let shown = format!("{PLUGIN}{}", found.name);
                    Ok(Self::parse_named(&shown, &found.toml, Some(PathBuf::from(&shown)), files))
                }
                Err(why) => Err(Faults { list: vec![no_pipeline(name, Some(place), &why)], sources }),
            };
        }
        match files.read(path) {
            Ok(text) => Ok(Self::parse_named(&path.display().to_string(), &text, Some(files.identity(path)), files)),
            Err(error) => {
                let place = sources.add_whole("command line", path.display().to_string());
                let fault = PipelineFault::new(
                    Code::Include,
                    place,
                    format!("the pipeline `{}` cannot be read: {error}", path.display()),
                )
                .help("`relais list pipelines` lists the ones that have names");
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

    /// All errors of a text by itself: its includes are not read, and no name is looked up.
    pub fn check_text(name: &str, text: &str) -> Faults {
        let mut sources = Sources::default();
        let source = sources.add(name, text);
        let mut parser = Parser { sources: &mut sources, nodes: Vec::new(), faults: Vec::new() };
        parser.file(source);
        Faults { list: parser.faults, sources }
    }

    /// The pipeline, unless something is wrong with it.
    ///
    /// # Errors
    /// Returns the faults, if there are some.
    pub fn unless(self, faults: Vec<PipelineFault>) -> Result<Self, Faults> {
        match faults.is_empty() {
            true => Ok(self),
            false => Err(Faults { list: faults, sources: self.sources }),
        }
    }

    fn parse_named(name: &str, text: &str, identity: Option<PathBuf>, files: &dyn Files) -> (Self, Vec<PipelineFault>) {
        let mut sources = Sources::default();
        let source = sources.add(name, text);
        let mut parser = Parser { sources: &mut sources, nodes: Vec::new(), faults: Vec::new() };
        let root = parser.file(source);
        let ParsedFile { name: own_name, mut run, scope, steps, includes, extends, points, .. } = root;
        let mut loader = Loader {
            files,
            todo: Vec::new(),
            demands: run.plugins.clone(),
            plugins: Vec::new(),
            read: Vec::new(),
            identities: vec![identity],
            chain: vec![extend::File { parent: None, shown: name.to_owned(), extends }],
            points: points.into_iter().map(|node| (node, 0)).collect(),
            origins: BTreeMap::new(),
        };
        loader.push(includes, 0);
        loader.run(&mut parser);
        run.plugins.append(&mut loader.plugins);
        let Parser { mut nodes, mut faults, .. } = parser;
        let Loader { chain, points, mut origins, .. } = loader;
        // A file that was not read may contain the missing point.
        if !faults.iter().any(|fault| matches!(fault.code, Code::Syntax | Code::Include | Code::IncludeCycle)) {
            let mut all = extend::Nodes { all: &mut nodes, origins: &mut origins, faults: &mut faults };
            extend::attach(&mut all, &steps, &chain, &points);
        }
        faults.sort_by_key(|fault| fault.place.map(|place| (place.source, place.span().start)));
        let spec = Self {
            name: own_name.unwrap_or_else(|| stem(name)),
            run,
            scope,
            steps,
            nodes,
            origins,
            sources,
            ..Self::default()
        };
        (spec, faults)
    }
}

/// The target of an include.
struct Found {
    identity: PathBuf,
    shown: String,
    text: String,
    /// Where it comes from, in words.
    origin: String,
}

struct Loader<'f> {
    files: &'f dyn Files,
    /// Includes to be read, with the link of the file that contains them.
    todo: Vec<(Include, usize)>,
    /// The demands of the outermost file on plugins.
    demands: Vec<PluginDemand>,
    /// The demands of the others.
    plugins: Vec<PluginDemand>,
    /// Files whose faults were reported: a file included twice reports them once.
    read: Vec<PathBuf>,
    identities: Vec<Option<PathBuf>>,
    /// Every file, as often as it is included, by the same index.
    chain: Vec<extend::File>,
    /// By extension point, the file that contains it.
    points: BTreeMap<usize, usize>,
    origins: BTreeMap<usize, String>,
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
                parser
                    .faults
                    .push(PipelineFault::new(Code::Limit, include.path.place, message).help("include fewer files"));
                return;
            }
            self.include(parser, &include, link);
        }
    }

    fn include(&mut self, parser: &mut Parser<'_>, include: &Include, parent: usize) {
        let found = self.find(&include.path, parent).and_then(|found| {
            let cycle = self.cycle(&found.identity, &include.path, parent);
            cycle.map_or(Ok(found), |fault| Err(Box::new(fault)))
        });
        let Found { identity, shown, text, origin } = match found {
            Ok(found) => found,
            Err(fault) => return parser.faults.push(*fault),
        };
        let source = parser.sources.add(shown.clone(), text);
        let n_faults = parser.faults.len();
        let file = parser.file(source);
        for (key, place) in &file.run_keys {
            parser.faults.push(whole_run(key, *place, include.path.place));
        }
        let n_own = parser.faults.len() - n_faults;
        if self.read.contains(&identity) {
            parser.faults.truncate(n_faults);
        } else {
            self.read.push(identity.clone());
            // Faults quote the text they are about. A file elsewhere may be anything, including a secret.
            if n_own > 0 && !self.is_near(&identity) {
                parser.faults.truncate(n_faults);
                let message = format!("`{shown}` is not a pipeline that can be included");
                let fault = PipelineFault::new(Code::Include, include.path.place, message);
                parser.faults.push(fault.help(format!("`relais pipeline check {shown}` says what is wrong with it")));
            }
        }
        parser.nodes[include.node].value = StepSpec::Scope { scope: file.scope, instruments: None, steps: file.steps };
        self.plugins.extend(file.run.plugins);
        self.origins.insert(include.node, origin);
        let link = self.chain.len();
        self.identities.push(Some(identity));
        self.chain.push(extend::File { parent: Some(parent), shown, extends: file.extends });
        self.points.extend(file.points.into_iter().map(|node| (node, link)));
        self.push(file.includes, link);
    }

    /// Whether a file is in the folder of the outermost file, or below it. A text without a path is not a file.
    fn is_near(&self, identity: &Path) -> bool {
        let folder = self.identities.first().and_then(Option::as_deref).and_then(Path::parent);
        !identity.is_absolute() || folder.is_some_and(|folder| identity.starts_with(folder))
    }

    /// The file, or the pipeline of a plugin, that an include means. A plugin's pipeline cannot include files.
    fn find(&self, include: &Written<String>, parent: usize) -> Result<Found, Box<PipelineFault>> {
        let wanted = include.value.as_str();
        let from = &self.chain[parent].shown;
        let is_built_in = wanted.starts_with(super::built_in::PREFIX);
        if let Some(name) = wanted.strip_prefix(PLUGIN) {
            return self.named(name, include.place);
        }
        if from.starts_with(PLUGIN) && !is_built_in {
            return self.named(wanted, include.place);
        }
        let path = include_path(from, wanted);
        let error = match self.files.read_included(&path) {
            Ok(text) => {
                let shown = path.display().to_string();
                let origin = format!("from `{}`", shown.escape_debug());
                return Ok(Found { identity: self.files.identity(&path), shown, text, origin });
            }
            Err(error) => error,
        };
        let may_be_name = is_name(wanted) && path.extension().is_none_or(|extension| extension != "toml");
        if may_be_name && error.kind() == io::ErrorKind::NotFound {
            return self.named(wanted, include.place);
        }
        let fault =
            PipelineFault::new(Code::Include, include.place, format!("`{}` cannot be read: {error}", path.display()));
        Err(Box::new(fault.help(match is_built_in {
            true => "`relais list pipelines` lists the built-in ones",
            false => "an include's path starts from the folder of the file that it stands in",
        })))
    }

    fn named(&self, name: &str, place: Option<Place>) -> Result<Found, Box<PipelineFault>> {
        let found = self.files.named(name, &self.demands).map_err(|why| Box::new(no_pipeline(name, place, &why)))?;
        let NamedPipeline { name, toml: text, plugin } = found;
        let origin = format!("from `{name}` of plugin `{plugin}`");
        let shown = format!("{PLUGIN}{name}");
        Ok(Found { identity: PathBuf::from(&shown), shown, text, origin })
    }

    fn cycle(&self, identity: &Path, path: &Written<String>, parent: usize) -> Option<PipelineFault> {
        let mut seen = BTreeSet::new();
        let mut at = Some(parent);
        let mut names = vec![path.value.as_str()];
        while let Some(link) = at.filter(|&link| seen.insert(link)) {
            let extend::File { parent, shown, .. } = &self.chain[link];
            names.push(shown);
            if self.identities[link].as_deref() == Some(identity) {
                let chain = names.iter().rev().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" includes ");
                let fault =
                    PipelineFault::new(Code::IncludeCycle, path.place, format!("`{}` includes itself", path.value));
                return Some(fault.note(chain).help("remove one of these includes"));
            }
            at = *parent;
        }
        None
    }
}

/// Returns the fault for a name that does not resolve to a pipeline of a plugin.
fn no_pipeline(name: &str, place: Option<Place>, why: &NoPass) -> PipelineFault {
    let short = super::schema::shorten(name);
    match why {
        NoPass::Unknown(near) => PipelineFault::new(
            Code::UnknownName,
            place,
            format!("no file and no plugin's pipeline is called `{short}`"),
        )
        .note("`relais list pipelines` shows the ones that were found")
        .nearest(near),
        NoPass::Ambiguous(several) => {
            let fault = PipelineFault::new(Code::Ambiguous, place, format!("`{short}` can mean several pipelines"));
            let fault = several.iter().fold(fault, |fault, candidate| fault.note(candidate.to_string()));
            fault.help(Candidate::help(several, &short, "pipelines"))
        }
        NoPass::Conflict(providers) => {
            let fault =
                PipelineFault::new(Code::Ambiguous, place, format!("several plugins provide pipeline `{short}`"));
            let fault = providers.iter().fold(fault, |fault, plugin| fault.note(format!("plugin {plugin}")));
            fault.help(format!(
                "include it in a file that chooses one in the table `[plugins]`: `{} = {{ pipelines = [\"{short}\"] }}`",
                first_of(providers)
            ))
        }
        NoPass::Refused { plugin, reason } => PipelineFault::new(
            Code::Refused,
            place,
            format!("plugin `{plugin}`, which provides `{short}`, was refused"),
        )
        .note(reason.clone()),
    }
}

fn whole_run(key: &str, place: Place, included: Option<Place>) -> PipelineFault {
    PipelineFault::new(Code::WholeRun, place, format!("`{key}` belongs to the whole run"))
        .label("in an included file")
        .related(included, "included here")
        .help("say it in the outermost file")
}

fn stem(name: &str) -> String {
    if let Some(name) = name.strip_prefix(PLUGIN) {
        return name.to_owned();
    }
    let name = name.strip_prefix(super::built_in::PREFIX).unwrap_or(name);
    let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str()).filter(|stem| !stem.is_empty());
    stem.unwrap_or("pipeline").to_owned()
}
