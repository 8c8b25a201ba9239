//! `relais build`.

use super::{
    args::{BuildArgs, PipelineArgs, Verbosity},
    catalogue, judge, model, npz,
    outputs::{self, Outputs},
    progress::Progress,
    reproduce,
    run::dropped,
    said::{findings, say},
    spec,
    terminal::{self, CliError},
};
use relais::{
    files::{Destination, Existing, FileError, FileSet, NewFolder, write as write_file},
    frontend::{Model, StatedRules, forget_outdated_sizes, set_input_shapes, set_options},
    ir::IRModule,
    manager::{self, RunOptions, free_folder},
    onnx::data_files,
    pass::{Remarks, Verify},
    pipeline::BUILT_IN,
    registry::Registry,
};
use relais_conformance::{
    check::{Evaluators, random_inputs},
    interpret::NotComputed,
};
use relais_plugin_api::boundary::abi::error_kind;
use std::{
    collections::{BTreeMap, BTreeSet},
    env::consts::DLL_SUFFIX,
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::Command,
};

/// The arguments for the C compiler: C99 without changes to the results, and fast.
const FLAGS: &[&str] = &["-std=c99", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"];

/// Makes source code of a model.
pub(crate) fn build(args: &BuildArgs, verbosity: Verbosity) -> Result<(), CliError> {
    let (folder, file, name) = parts(&args.output)?;
    let mut outputs = Outputs::default();
    outputs.add("output", &args.output, Existing::Replace)?;
    outputs.spare("the model", [&args.model])?;
    outputs.spare_pipeline(&args.pipeline)?;
    outputs.spare("plugin", &args.plugins.plugin)?;
    let compiled = [("--shared", args.shared), ("--static", args.archive)].into_iter().find(|(_, is_given)| *is_given);
    if let Some((option, _)) = compiled.filter(|_| args.target != "c") {
        let error = CliError::usage(format!("`{option}` compiles C, and the target is another one"));
        return Err(error.help("leave one of the two away"));
    }
    let registry = catalogue::registry(&args.plugins)?;
    let mut pipeline: PipelineArgs = args.pipeline.clone();
    if pipeline.passes.is_none() && pipeline.pipeline.is_none() {
        pipeline.pipeline = Some(pipeline_of(&args.target, &registry)?);
    }
    let mut spec = spec::spec(&pipeline, &registry)?;
    let registry = catalogue::choose(&registry, &spec, &args.plugins);
    let mut settings = vec![format!("build.name={name}")];
    for (option, is_given) in [("weights", args.weights), ("main", args.main), ("bench", args.bench)] {
        settings.extend(is_given.then(|| format!("build.{option}=true")));
    }
    set_options(&mut spec, "-o", &settings)?;
    let pipeline = spec.resolve(&registry)?;
    if verbosity > Verbosity::Quiet {
        pipeline.warnings.iter().for_each(terminal::warn);
        spec::say_additions(&pipeline);
    }
    let stated = StatedRules::of(&pipeline)?;
    judge::judge(&args.judge, &stated, &registry, verbosity)?;
    let progress = Progress::new(verbosity);
    progress.says("reading the model");
    let Model { mut module, .. } = model::read(&args.model)?;
    let changes = set_input_shapes(&mut module, &args.input_shape, &registry)?;
    forget_outdated_sizes(&mut module, &registry);
    if verbosity > Verbosity::Quiet {
        changes.iter().for_each(terminal::note);
    }
    let options = RunOptions {
        verify: args.verify_each.then_some(Verify::Each),
        remarks: if verbosity >= Verbosity::Debug { Remarks::Show } else { Remarks::Hide },
        output: Some(progress.output()),
        progress: Some(&progress),
        ..RunOptions::default()
    };
    let outcome = manager::run(&pipeline, &module, &registry, &options);
    let mut report = match outcome {
        Ok((_, report)) => report,
        Err(failure) => {
            // A pass that says by a code why it does not build the model is not at fault.
            let rec = failure.kind.error().rec();
            let reproducers = match rec.kind == error_kind::RETURNED && !rec.code.is_empty() {
                true => Vec::new(),
                false => reproduce::write(&args.reproducer, &args.output, &pipeline, &failure.report, &registry),
            };
            drop(progress);
            say(&failure.report, verbosity);
            findings(&failure.report);
            let error = CliError::new(format!("{failure}\n  nothing was written")).code(failure.kind.code());
            return Err(reproduce::explain(error, &reproducers, &args.plugins));
        }
    };
    drop(pipeline);
    dropped()?;
    let vectors = if args.test_vectors { test_vectors(&module, &registry, &progress, &name)? } else { Vec::new() };
    let mut files = std::mem::take(&mut report.files);
    if !files.contains_key(&file) {
        let made: Vec<&str> = files.keys().map(String::as_str).collect();
        let made = if made.is_empty() { "no file".to_owned() } else { made.join(", ") };
        return Err(CliError::new(format!("the pipeline does not write `{file}`: it gives {made}")).help(
            "name the output as the target does, or end the pipeline with a pass that writes it: `relais.EmitC`",
        ));
    }
    let mut libraries = Vec::new();
    if args.shared {
        libraries.push(Library { file: format!("{name}{DLL_SUFFIX}"), is_static: false });
    }
    if args.archive {
        libraries.push(Library { file: format!("lib{name}.a"), is_static: true });
    }
    if !libraries.is_empty() {
        progress.says("compiling");
        let made = libraries.iter().map(|library| Ok((library.file.clone(), library.compile(&files, &args.output)?)));
        let made: Vec<(String, Vec<u8>)> = made.collect::<Result<_, CliError>>()?;
        files.extend(made);
    }
    files.extend(vectors);
    for other in files.keys().filter(|other| **other != file) {
        outputs.add("a file of the build", &folder.join(other), Existing::Replace)?;
    }
    let weights: Vec<PathBuf> = data_files(&module).into_iter().map(PathBuf::from).collect();
    outputs.spare("the model", [&args.model])?;
    outputs.spare("weights of the model, in", &weights)?;
    outputs.spare_pipeline(&args.pipeline)?;
    outputs.spare("the rules", stated.iter().filter_map(|rules| rules.file.as_ref()))?;
    outputs.spare("plugin", &args.plugins.plugin)?;
    if !args.overwrite {
        spare_others(&folder, &file, &files)?;
    }
    let written = write(&folder, &files)?;
    drop(progress);
    say(&report, verbosity);
    findings(&report);
    if verbosity > Verbosity::Quiet {
        let lines: Vec<String> = written.iter().map(|(path, n)| format!("{} ({n} bytes)", path.display())).collect();
        terminal::print(&format!("{}\n", lines.join("\n")))?;
    }
    Ok(())
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

/// The folder of an output, its name, and that without an ending.
fn parts(output: &Path) -> Result<(PathBuf, String, String), CliError> {
    let file = output.file_name().and_then(|name| name.to_str()).filter(|_| !model::is_stream(output));
    let name = output.file_stem().and_then(|name| name.to_str());
    match (file, name) {
        (Some(file), Some(name)) if output.extension().is_some() => {
            Ok((output.parent().map_or_else(PathBuf::new, Path::to_owned), file.to_owned(), name.to_owned()))
        }
        _ => Err(CliError::usage(format!("output `{}` is not the name of a source file", output.display()))
            .help("name a file such as `model.c`, which the others stand beside")),
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
fn spare_others(folder: &Path, file: &str, files: &BTreeMap<String, Vec<u8>>) -> Result<(), CliError> {
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
fn write(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<Vec<(PathBuf, usize)>, CliError> {
    let failed = |error: FileError| outputs::failed("output", &error);
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
    for (kind, tensors) in [("in", &inputs), ("out", &outputs)] {
        for (at, tensor) in tensors.iter().enumerate() {
            let bytes = npz::npy(tensor).map_err(|why| failed(format!("{kind}put {at} {why}")))?;
            files.push((format!("{name}_{kind}_{at}.npy"), bytes));
        }
    }
    Ok(files)
}

/// A library that is compiled from the source.
struct Library {
    file: String,
    is_static: bool,
}

impl Library {
    /// Compiles it in a folder of its own, beside the output; returns it. The folder stays if that fails, so that what the
    /// compiler says can be looked up there.
    fn compile(&self, files: &BTreeMap<String, Vec<u8>>, output: &Path) -> Result<Vec<u8>, CliError> {
        let cc = Tool::of("CC", "C compiler", "cc", "set `CC` to a compiler of C99, or compile the source yourself");
        let failed = |error: io::Error| cc.failed(&format!("has no folder to work in: {error}"));
        let failures = free_folder(output, "failed").ok_or_else(|| {
            CliError::new(format!("there are a hundred failed builds beside `{}` already", output.display()))
                .help("remove some")
        })?;
        let folder = NewFolder::new(&failures).map_err(failed)?;
        for (name, bytes) in files {
            write_file(&folder.path().join(name), Existing::Keep, bytes)
                .map_err(|error| cc.failed(&format!("gets no source: {}", error.of("source"))))?;
        }
        match self.run(&cc, folder.path(), &output.file_name().unwrap_or_default().to_string_lossy()) {
            Ok(library) => Ok(library),
            Err(error) => {
                folder.commit().map_err(failed)?;
                Err(error.line(format_args!("nothing was replaced; the source is in `{}`", failures.display())))
            }
        }
    }

    fn run(&self, cc: &Tool, folder: &Path, source: &str) -> Result<Vec<u8>, CliError> {
        let Self { file, is_static } = self;
        if *is_static {
            cc.run(folder, &[FLAGS, &["-c", "-o", "model.o", source]].concat())?;
            let ar = Tool::of("AR", "archiver", "ar", "set `AR` to an archiver, or compile the source yourself");
            ar.run(folder, &["rcs", file, "model.o"])?;
        } else {
            cc.run(folder, &[FLAGS, &["-fPIC", "-shared", "-o", file, source, "-lm"]].concat())?;
        }
        fs::read(folder.join(file)).map_err(|error| cc.failed(&format!("made no library: {error}")))
    }
}

/// A program that a variable of the environment names, with arguments, as `make` takes it.
struct Tool {
    words: String,
    kind: &'static str,
    help: &'static str,
}

impl Tool {
    fn of(variable: &str, kind: &'static str, default: &str, help: &'static str) -> Self {
        let words = std::env::var(variable).ok().filter(|words| !words.trim().is_empty());
        Self { words: words.unwrap_or_else(|| default.to_owned()), kind, help }
    }

    fn failed(&self, why: &str) -> CliError {
        let Self { words, kind, help } = self;
        CliError::new(format!("the {kind} `{words}` {why}")).help(help)
    }

    fn run(&self, folder: &Path, args: &[&str]) -> Result<(), CliError> {
        let mut words = self.words.split_whitespace();
        let program = Path::new(words.next().unwrap_or_default());
        // A path is one from here, not from the folder.
        let program = match program.components().count() {
            0 | 1 => program.to_owned(),
            _ => std::path::absolute(program).unwrap_or_else(|_| program.to_owned()),
        };
        let mut command = Command::new(program);
        command.current_dir(folder).args(words).args(args);
        let output = command.output().map_err(|error| self.failed(&format!("cannot be started: {error}")))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(self.failed(&format!("failed: {}\n{}", output.status, said.trim_end())));
        }
        Ok(())
    }
}
