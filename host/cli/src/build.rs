//! `relais build`.

use super::{
    args::{BuildArgs, PipelineArgs, Verbosity},
    catalogue, model,
    outputs::{self, Outputs},
    progress::Progress,
    reproduce,
    run::dropped,
    said::{findings, say},
    spec,
    terminal::{self, CliError},
};
use relais::{
    files::{Destination, Existing, FileError, FileSet, write as write_file},
    frontend::{Model, forget_outdated_sizes, set_input_shapes, set_options},
    manager::{self, RunOptions},
    onnx::data_files,
    pass::{Remarks, Verify},
};
use std::{
    collections::BTreeMap,
    env::consts::DLL_SUFFIX,
    fs,
    io::{Read, Write},
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
    if args.shared && args.target != "c" {
        let error = CliError::usage("`--shared` compiles C, and the target is another one");
        return Err(error.help("leave one of the two away"));
    }
    let registry = catalogue::registry(&args.plugins)?;
    let mut pipeline: PipelineArgs = args.pipeline.clone();
    if pipeline.passes.is_none() {
        pipeline.pipeline.get_or_insert_with(|| format!("build-{}", args.target));
    }
    let mut spec = spec::spec(&pipeline, &registry)?;
    let registry = catalogue::choose(&registry, &spec, &args.plugins);
    let mut settings = vec![format!("build.name={name}")];
    settings.extend(args.weights.then(|| "build.weights=true".to_owned()));
    settings.extend(args.main.then(|| "build.main=true".to_owned()));
    set_options(&mut spec, "-o", &settings)?;
    let pipeline = spec.resolve(&registry)?;
    if verbosity > Verbosity::Quiet {
        pipeline.warnings.iter().for_each(terminal::warn);
        spec::say_additions(&pipeline);
    }
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
            let reproducers = reproduce::write(None, &args.output, &pipeline, &failure.report, &registry);
            drop(progress);
            say(&failure.report, verbosity);
            findings(&failure.report);
            let error = CliError::new(format!("{failure}\n  nothing was written")).code(failure.kind.code());
            return Err(reproduce::explain(error, &reproducers, &args.plugins));
        }
    };
    drop(pipeline);
    dropped()?;
    let mut files = std::mem::take(&mut report.files);
    if !files.contains_key(&file) {
        let made: Vec<&str> = files.keys().map(String::as_str).collect();
        let made = if made.is_empty() { "no file".to_owned() } else { made.join(", ") };
        return Err(CliError::new(format!("the pipeline does not write `{file}`: it gives {made}")).help(
            "name the output as the target does, or end the pipeline with a pass that writes it: `relais.EmitC`",
        ));
    }
    if args.shared {
        progress.says("compiling");
        let library = format!("{name}{DLL_SUFFIX}");
        let bytes = compile(&files, &file, &library)?;
        files.insert(library, bytes);
    }
    for other in files.keys().filter(|other| **other != file) {
        outputs.add("a file of the build", &folder.join(other), Existing::Replace)?;
    }
    let weights: Vec<PathBuf> = data_files(&module).into_iter().map(PathBuf::from).collect();
    outputs.spare("the model", [&args.model])?;
    outputs.spare("weights of the model, in", &weights)?;
    outputs.spare_pipeline(&args.pipeline)?;
    outputs.spare("plugin", &args.plugins.plugin)?;
    if !args.overwrite {
        spare_others(&folder, &file, &name, &files)?;
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

/// Refuses to replace files that the command line does not name, unless a build wrote them: those without its words are
/// its own where its header is.
fn spare_others(folder: &Path, file: &str, name: &str, files: &BTreeMap<String, Vec<u8>>) -> Result<(), CliError> {
    let was_built_before = is_built(&folder.join(format!("{name}.h")));
    let foreign = |path: &PathBuf| path.exists() && !is_built(path) && !was_built_before;
    match files.keys().filter(|other| *other != file).map(|other| folder.join(other)).find(foreign) {
        Some(path) => Err(CliError::new(format!("no build wrote `{}`, which this one would replace", path.display()))
            .line("nothing was written")
            .help("move it, choose another name for the output, or give `--overwrite`")),
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

/// Compiles a shared library in a folder of its own; returns it.
fn compile(files: &BTreeMap<String, Vec<u8>>, source: &str, library: &str) -> Result<Vec<u8>, CliError> {
    let shown = std::env::var("CC").ok().filter(|cc| !cc.trim().is_empty()).unwrap_or_else(|| "cc".to_owned());
    // With arguments, as `make` takes it.
    let mut words = shown.split_whitespace();
    let compiler = words.next().unwrap_or("cc");
    let failed = |why: String| {
        CliError::new(format!("the C compiler `{shown}` {why}\n  nothing was written"))
            .help("set `CC` to a compiler of C99, or compile the source yourself: leave `--shared` away")
    };
    let folder = tempfile::tempdir().map_err(|error| failed(format!("has no folder to work in: {error}")))?;
    for (name, bytes) in files {
        write_file(&folder.path().join(name), Existing::Keep, bytes)
            .map_err(|error| failed(format!("gets no source: {}", error.of("source"))))?;
    }
    let mut command = Command::new(compiler);
    command.current_dir(folder.path()).args(words).args(FLAGS).args(["-fPIC", "-shared", "-o", library, source, "-lm"]);
    let output = command.output().map_err(|error| failed(format!("cannot be started: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(format!("failed: {}\n{}", output.status, said.trim_end())));
    }
    fs::read(folder.path().join(library)).map_err(|error| failed(format!("made no library: {error}")))
}
