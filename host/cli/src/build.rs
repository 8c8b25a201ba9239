//! `relais build`: arguments in, files and words out.

use super::{
    args::{BuildArgs, Verbosity},
    catalogue,
    compile::Library,
    instruments, model,
    progress::Progress,
    reproduce, request,
    said::{findings, say},
    terminal::{self, CliError},
};
use relais::{
    files::{Destination, Existing, FileError, FileSet},
    ir::IRModule,
    pass::Verify,
    pipeline::BUILT_IN,
    registry::Registry,
};
use relais_conformance::{
    check::{Evaluators, random_inputs},
    interpret::NotComputed,
};
use relais_session::{
    Argument, Failures, Finished, Outputs, Request, Session,
    model::{NotWritten, Part},
    npz,
    pipeline::{Chosen, PipelineRequest},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    env::consts::DLL_SUFFIX,
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
};

/// The target that C is written for.
const C: &str = "c";

/// The files of a build, by name, with their contents.
type BuiltFiles = BTreeMap<String, Vec<u8>>;

/// Makes source code of a model.
pub(crate) fn build(args: &BuildArgs, verbosity: Verbosity) -> Result<(), CliError> {
    let named = Named::of(&args.output)?;
    let mut outputs = Outputs::default();
    outputs.add("output", &args.output, Existing::Replace)?;
    spare(&outputs, args, &[])?;
    let compiled = [("--shared", args.shared), ("--static", args.archive)].into_iter().find(|(_, is_given)| *is_given);
    if let Some((option, _)) = compiled.filter(|_| args.target != C) {
        let error = CliError::usage(format!("`{option}` compiles C, and the target is another one"));
        return Err(error.help("leave one of the two away"));
    }
    if args.instruments.stop_after.is_some() {
        let error = CliError::usage("a build that `--stop-after` ends has no source code to write");
        return Err(error.help("`relais run -p build-c --stop-after N` writes the module that there is then"));
    }
    let session = catalogue::session(&args.plugins)?;
    let request = request(args, &named, &session, verbosity)?;
    let progress = Progress::new(verbosity);
    let mut finished = match session.run_with(&progress, &request) {
        Ok(finished) => finished,
        Err(stopped) => {
            drop(progress);
            return Err(reproduce::stopped(*stopped, &args.plugins, verbosity));
        }
    };
    let files = files(args, &named, &mut finished, &progress)?;
    for other in files.keys().filter(|other| **other != named.file) {
        outputs.add("a file of the build", &named.folder.join(other), Existing::Replace)?;
    }
    spare(&outputs, args, &finished.read)?;
    if !args.overwrite {
        spare_others(&named, &files)?;
    }
    let written = write(&named.folder, &files)?;
    drop(progress);
    say(&finished.course.report, verbosity);
    findings(&finished.course.report);
    if verbosity > Verbosity::Quiet {
        let lines: Vec<String> = written.iter().map(|(path, n)| format!("{} ({n} bytes)", path.display())).collect();
        terminal::print(&format!("{}\n", lines.join("\n")))?;
    }
    Ok(())
}

/// The run that makes the source code.
fn request(args: &BuildArgs, named: &Named, session: &Session, verbosity: Verbosity) -> Result<Request, CliError> {
    let mut pipeline = request::pipeline(&args.pipeline);
    let registry = session.registry();
    if args.pipeline.passes.is_none() && args.pipeline.pipeline.is_none() {
        pipeline.chosen = Chosen::Named(pipeline_of(&args.target, registry)?);
    } else if args.target != C && !registry.targets().contains(args.target.as_str()) {
        let error = CliError::usage(format!("no plugin adds anything for the target `{}`", args.target));
        return Err(
            error.help("a pipeline or passes of your own say themselves what they build: leave `--target` away")
        );
    }
    let mut settings = vec![format!("build.name={}", named.name)];
    for (option, is_given) in [("weights", args.weights), ("main", args.main), ("bench", args.bench)] {
        settings.extend(is_given.then(|| format!("build.{option}=true")));
    }
    pipeline.settings.extend(Argument::each("-o", settings));
    pipeline.target = Some(Argument::new("--target", args.target.clone()));
    Ok(Request {
        model: model::given(&args.model),
        part: Part { input_shapes: args.input_shape.clone(), ..Part::default() },
        pipeline: PipelineRequest { opt_level: args.pipeline.opt_level, ..pipeline },
        judging: request::judging(&args.judge),
        verify: args.verify_each.then_some(Verify::Each),
        remarks: request::remarks(verbosity),
        reproducers: request::reproducers(&args.reproducer, &args.output, Failures::Unexplained),
        instruments: instruments::requested(&args.instruments)?,
        ..Request::default()
    })
}

/// The files that passes made, and those that are made of them.
fn files(
    args: &BuildArgs,
    named: &Named,
    finished: &mut Finished,
    progress: &Progress,
) -> Result<BuiltFiles, CliError> {
    let vectors = match args.test_vectors {
        true => test_vectors(&finished.given, &finished.plugins, progress, &named.name)?,
        false => Vec::new(),
    };
    let mut files = std::mem::take(&mut finished.course.report.files);
    if !files.contains_key(&named.file) {
        let made: Vec<&str> = files.keys().map(String::as_str).collect();
        let made = if made.is_empty() { "no file".to_owned() } else { made.join(", ") };
        return Err(CliError::new(format!("the pipeline does not write `{}`: it gives {made}", named.file)).help(
            "name the output as the target does, or end the pipeline with a pass that writes it: `relais.EmitC`",
        ));
    }
    let mut libraries = Vec::new();
    if args.shared {
        libraries.push(Library { file: format!("{}{DLL_SUFFIX}", named.name), is_static: false });
    }
    if args.archive {
        libraries.push(Library { file: format!("lib{}.a", named.name), is_static: true });
    }
    if !libraries.is_empty() {
        progress.says("compiling");
        let made = libraries.iter().map(|library| Ok((library.file.clone(), library.compile(&files, &args.output)?)));
        let made: Vec<(String, Vec<u8>)> = made.collect::<Result<_, CliError>>()?;
        files.extend(made);
    }
    files.extend(vectors);
    Ok(files)
}

/// Refuses to replace what the build reads.
fn spare(outputs: &Outputs, args: &BuildArgs, others: &[(&str, PathBuf)]) -> Result<(), CliError> {
    outputs.spare("the model", [args.model.as_path()])?;
    for (what, path) in others {
        outputs.spare(what, [path.as_path()])?;
    }
    outputs.spare("the pipeline", args.pipeline.pipeline.as_deref().map(Path::new))?;
    outputs.spare("the rules", args.pipeline.rules.iter().map(PathBuf::as_path))?;
    Ok(outputs.spare("plugin", args.plugins.plugin.iter().map(PathBuf::as_path))?)
}

/// The name of the pipeline that builds for a target.
fn pipeline_of(target: &str, registry: &Registry) -> Result<String, CliError> {
    const START: &str = "build-";
    let plugins = registry.pipelines().map(|(pipeline, _)| pipeline.name.as_str());
    let names = plugins.map(|name| name.rsplit_once('.').map_or(name, |(_, name)| name));
    let names = BUILT_IN.iter().map(|(name, _)| *name).chain(names);
    let targets: BTreeSet<&str> = names.filter_map(|name| name.strip_prefix(START)).collect();
    if targets.contains(target) {
        return Ok(format!("{START}{target}"));
    }
    let targets: Vec<String> = targets.into_iter().map(|target| format!("`{target}`")).collect();
    Err(CliError::usage(format!("there is no target `{target}`"))
        .line(format_args!("there are: {}", targets.join(", ")))
        .help(format_args!("a plugin with the pipeline `{START}{target}` adds it: `--plugin FILE`")))
}

/// The names that an output gives to the files of a build.
struct Named {
    /// The folder of all files.
    folder: PathBuf,
    /// The source file.
    file: String,
    /// That without an ending, with which the names of the others begin.
    name: String,
}

impl Named {
    fn of(output: &Path) -> Result<Self, CliError> {
        let file = output.file_name().and_then(|name| name.to_str()).filter(|_| !model::is_stream(output));
        let name = output.file_stem().and_then(|name| name.to_str());
        match (file, name) {
            (Some(file), Some(name)) if output.extension().is_some() => Ok(Self {
                folder: output.parent().map_or_else(PathBuf::new, Path::to_owned),
                file: file.to_owned(),
                name: name.to_owned(),
            }),
            _ => Err(CliError::usage(format!("output `{}` is not the name of a source file", output.display()))
                .help("name a file such as `model.c`, which the others stand beside")),
        }
    }
}

/// The words that begin the files of a build.
const MARK: &[u8] = b"written by Relais: do not edit";

/// Whether a file begins as those of a build do.
fn is_built(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(512).read_to_end(&mut start));
    read.is_ok() && start.windows(MARK.len()).any(|bytes| bytes == MARK)
}

/// Refuses to replace files that the command line does not name, unless a build wrote them, as they say at their start, or
/// they stay as they are. Weights, libraries and arrays do not say anything.
fn spare_others(Named { folder, file, .. }: &Named, files: &BuiltFiles) -> Result<(), CliError> {
    let others = files.iter().filter(|(other, _)| *other != file);
    let mut others = others.map(|(other, bytes)| (folder.join(other), bytes));
    let is_foreign = |(path, bytes): &(PathBuf, &Vec<u8>)| {
        path.exists() && !is_built(path) && fs::read(path).ok().as_ref() != Some(bytes)
    };
    match others.find(is_foreign) {
        Some((path, _)) => {
            let error = format!("`{}` would be replaced, and does not say that a build wrote it", path.display());
            Err(CliError::new(error)
                .line("nothing was written")
                .help("move it, choose another name for the output, or give `--overwrite`"))
        }
        None => Ok(()),
    }
}

/// Writes all files or none.
fn write(folder: &Path, files: &BuiltFiles) -> Result<Vec<(PathBuf, usize)>, CliError> {
    let failed = |error: FileError| NotWritten::File("output", error);
    let (mut set, mut written) = (FileSet::new(), Vec::new());
    for (name, bytes) in files {
        let path = folder.join(name);
        let destination = Destination::of_argument(&path, Existing::Replace).map_err(failed)?;
        set.add(&destination)
            .map_err(failed)?
            .write_all(bytes)
            .map_err(|error| CliError::new(format!("output `{}` cannot be written: {error}", path.display())))?;
        written.push((path, bytes.len()));
    }
    set.commit().map_err(failed)?;
    Ok(written)
}

/// Returns random inputs of a model and what it computes for them, as files: by name, with their contents.
fn test_vectors(
    module: &IRModule,
    registry: &Registry,
    progress: &Progress,
    name: &str,
) -> Result<Vec<(String, Vec<u8>)>, CliError> {
    let failed = |why: String| {
        CliError::new(format!("the test vectors cannot be computed: {why}\n  nothing was written"))
            .help("leave `--test-vectors` away, and compare with a runtime")
    };
    let main = module.main().ok_or_else(|| failed("the model has no graph `@main`".to_owned()))?;
    let inputs = random_inputs(main, 1, 0).next().ok_or_else(|| failed("there are no random inputs".to_owned()))?;
    let inputs =
        inputs.map_err(|param| failed(format!("there are no random values for the input `{}`", main.name(param))))?;
    let says = |operator: &str| progress.says(format!("computing the test vectors: {operator}"));
    let outputs = Evaluators::new(registry, &says).run(module, &inputs).map_err(|stop| {
        failed(match stop {
            NotComputed::NotCovered { why, .. } | NotComputed::Wrong(why) => why,
        })
    })?;
    let mut files = Vec::new();
    for (kind, tensors) in [("in", &inputs), ("out", &outputs.tensors)] {
        for (at, tensor) in tensors.iter().enumerate() {
            let bytes = npz::npy(tensor).map_err(|why| failed(format!("{kind}put {at} {why}")))?;
            files.push((format!("{name}_{kind}_{at}.npy"), bytes));
        }
    }
    Ok(files)
}
