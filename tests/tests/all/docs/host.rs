//! The functions that the page shows for programs that embed the host, and tests that run them.

use relais::{
    instruments::Timing,
    ir::IRModule,
    pass::{PassContext, PassInfo, PassInstrument, Verify},
    plugin::{Origin, Policy, SearchDir, discover},
    registry::{Choices, Linked, Registry},
    report::Summary,
    transform::{Pass, PassLibrary},
};
use relais_plugin_api::{
    diagnostics::{Diagnostic, PassError},
    options::Value,
};
use relais_session::{
    Argument, Counts, Listener, ModelSource, Notice, Request, Session,
    check::CheckRequest,
    model::Model,
    pipeline::{Chosen, PipelineRequest},
};
use std::{
    error::Error,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// The things that the plugins in some folders register.
fn registry(folders: &[PathBuf]) -> Registry {
    let search = |path: &PathBuf| SearchDir { path: path.clone(), origin: Origin::Named };
    let folders: Vec<SearchDir> = folders.iter().map(search).collect();
    Registry::new(discover(&folders, &[], Policy::default()), Linked::Exclude, &Choices::new())
}

/// Makes a model smaller.
fn shrink(session: &Session, model: &Path, output: &Path) -> Result<(), Box<dyn Error>> {
    let finished = session.run(&Request::file(model).to(output))?;
    println!("{} passes, {:?}", finished.course.report.executions.len(), finished.course.elapsed);
    Ok(())
}

/// Prints what is said as soon as it is known.
struct Printed;

impl Listener for Printed {
    fn notice(&self, notice: &Notice) {
        eprintln!("{}: {notice}", notice.severity.name());
    }
}

/// The request that arguments make.
fn parse(arguments: &[&str]) -> Result<Request, String> {
    let (mut files, mut request) = (Vec::new(), Request { counts: Counts::Take, ..Request::default() });
    let mut arguments = arguments.iter();
    while let Some(&argument) = arguments.next() {
        let mut value = || arguments.next().map(|&value| value.to_owned()).ok_or(format!("`{argument}` needs a value"));
        match argument {
            "--pipeline" => request.pipeline.chosen = Chosen::Named(value()?),
            "--rule" => request.pipeline.rules.push(Argument::new(argument, value()?)),
            "--input-shape" => request.part.input_shapes.push(value()?),
            "--keep" => request.keep.push(value()?),
            "--check" => request.check = CheckRequest::random(3),
            file => files.push(PathBuf::from(file)),
        }
    }
    match files.as_slice() {
        [model, output] => Ok(Request { model: ModelSource::File(model.clone()), ..request.to(output) }),
        _ => Err("name a model and an output".to_owned()),
    }
}

/// A command line: prints how many nodes there were and are, or what is wrong. Returns the exit status.
fn front_end(session: &Session, arguments: &[&str]) -> u8 {
    let request = match parse(arguments) {
        Ok(request) => request,
        Err(wrong) => {
            eprintln!("error: {wrong}");
            return 2;
        }
    };
    match session.run_with(&Printed, &request) {
        Ok(finished) => {
            let n_nodes = |summary: &Option<Summary>| summary.as_ref().map_or(0, Summary::n_nodes);
            println!("{} nodes became {}", n_nodes(&finished.course.before), n_nodes(&finished.after));
            finished.course.closing(None).iter().for_each(|notice| Printed.notice(notice));
            0
        }
        Err(stopped) => {
            eprintln!("error: {stopped}");
            1
        }
    }
}

/// Runs three passes in a context of level 3, and says what each took.
fn optimise(registry: &Registry, module: &IRModule) -> Result<IRModule, Box<dyn Error>> {
    let library = PassLibrary::new(registry);
    let timing = Arc::new(Timing::default());
    let context = library
        .context()
        .opt_level(3)
        .disable("SimplifyInference?")
        .config("acme.Accelerator", Value::Struct(vec![("max_rank".into(), Value::Int(2))]))
        .instrument(timing.clone())
        .build()?;
    let negations = library.get_pass("acme.NegNeg")?;
    let ranks = library.get_pass_with("acme.CheckRanks", vec![("refused".into(), Value::Str("fail".into()))])?;
    let unused = library.get_pass("DeadCodeElimination")?;
    let sequence = Pass::sequence("main.Pipeline", [negations, ranks, unused]);
    let module = Arc::new(context).scope(|_| sequence.run(&library, module))??;
    for pass in timing.times() {
        println!("{:indent$}{} took {:?}", "", pass.name, pass.own, indent = 2 * pass.depth);
    }
    Ok(module)
}

/// Passes of the program's own, in a sequence of level 1.
fn own_passes() -> Pass {
    let entry = Pass::module("main.AddEntry", 0, |module, _| {
        if module.function("entry").is_some() {
            return Ok(None);
        }
        let main = module.main().cloned().ok_or_else(|| PassError::new("the module has no `main`"))?;
        let mut new = module.clone();
        new.set_function("entry", main);
        Ok(Some(new))
    });
    let names = Pass::function("main.ForgetNames", 1, |function, _, cx| {
        let named = |&id: &_| !function.name(id).is_empty();
        let Some(first) = function.bindings(function.body()).iter().copied().find(named) else { return Ok(None) };
        (cx.diagnostics)(Diagnostic::note("forgets names from here on").at(first));
        let mut new = (**function).clone();
        for &id in function.bindings(function.body()) {
            new.set_name(id, "");
        }
        Ok(Some(new))
    })
    .requiring(&["acme.NegNeg"]);
    Pass::sequence("main.Prepare", [entry, names]).at_level(1)
}

/// Counts the passes that run, and lets none of level 3 and above run.
#[derive(Default)]
struct PassCounter {
    n_passes: AtomicUsize,
}

impl PassInstrument for PassCounter {
    fn name(&self) -> &str {
        "pass-counter"
    }

    fn should_run(&self, _: &IRModule, pass: &PassInfo<'_>) -> Result<bool, PassError> {
        Ok(pass.opt_level < 3)
    }

    fn before(&self, _: &IRModule, _: &PassInfo<'_>) -> Result<(), PassError> {
        self.n_passes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Counts the passes that a sequence runs in this thread's current context, whichever that is.
fn count(library: &PassLibrary<'_>, sequence: &Pass, module: &IRModule) -> Result<usize, Box<dyn Error>> {
    let counter = Arc::new(PassCounter::default());
    let current = PassContext::current();
    let before = current.instruments();
    current.override_instruments(vec![counter.clone()])?;
    let ran = sequence.run(library, module);
    current.override_instruments(before)?;
    ran?;
    Ok(counter.n_passes.load(Ordering::Relaxed))
}

/// Runs a pipeline in TOML over a module, each pass verified, and says what each did.
fn run_pipeline(registry: &Registry, toml: &str, module: &IRModule) -> Result<IRModule, Box<dyn Error>> {
    let request = Request {
        model: Model::made(module.clone()).into(),
        pipeline: PipelineRequest::toml("own.toml", toml),
        verify: Some(Verify::Each),
        ..Request::default()
    };
    let finished = Session::of(registry.clone()).run(&request)?;
    for execution in &finished.course.report.executions {
        println!("{}: {:?}", execution.name, execution.fate);
    }
    for (name, findings) in &finished.course.report.findings {
        println!("{name}:\n{}", findings.text);
    }
    Ok(finished.module)
}

/// Every option of a context: key, what it takes, default, who provides it.
fn list_configs(registry: &Registry) -> Vec<String> {
    let options = registry.config_options().map(|(option, provider)| {
        let default = option.default.as_ref().map_or_else(|| "none".to_owned(), Value::to_string);
        format!("{}: {}, default {default}, of {}", option.name, option.kind, provider.records().plugin.name)
    });
    options.collect()
}

mod tests {
    use super::*;
    use crate::docs::{MODEL, plugin_folders};
    use relais::manager::ManagerOptions;
    use relais_plugin_api::text;
    use relais_tests::cli::folder;
    use std::fs;

    fn module() -> IRModule {
        text::parse_str(MODEL).unwrap()
    }

    fn n_calls(module: &IRModule) -> usize {
        module.functions().map(|(_, f)| f.bindings(f.body()).len()).sum()
    }

    #[test]
    fn a_model_is_made_smaller_from_file_to_file() {
        let here = folder("docs-front-end");
        let [model, output] = ["model.relay", "out.relay"].map(|name| here.join(name));
        fs::write(&model, MODEL).unwrap();
        let session = Session::of(registry(&plugin_folders()));
        shrink(&session, &model, &output).unwrap();
        let smaller = || n_calls(&Model::read(&output).unwrap().module);
        assert_eq!(smaller(), 1);
        let wrong = shrink(&session, &here.join("gone.relay"), &output).unwrap_err().to_string();
        assert!(wrong.contains("gone.relay` cannot be read") && wrong.contains("\n  help: "), "{wrong}");
        let [model, output] = [&model, &output].map(|path| path.to_str().unwrap());
        let run = |more: &[&str]| front_end(&session, &[&[model, output], more].concat());
        assert_eq!((run(&["--pipeline", "O0", "--rule", "Neg(Neg(x)) => x", "--check"]), smaller()), (0, 3));
        assert_eq!((run(&["--keep", "a"]), smaller()), (0, 2));
        for wrong in [&["--rule", "Neg(x) => x"][..], &["--pipeline", "nothing"], &["--input-shape", "x:2"]] {
            assert_eq!((run(wrong), smaller()), (1, 2), "{wrong:?}");
        }
        assert_eq!((run(&["--pipeline"]), run(&["another.relay"]), front_end(&session, &[])), (2, 2, 2));
    }

    #[test]
    fn a_sequence_runs_in_its_context() {
        let registry = registry(&plugin_folders());
        assert_eq!(n_calls(&optimise(&registry, &module()).unwrap()), 2);
        assert_eq!(PassContext::current().settings().opt_level, 2);
    }

    #[test]
    fn passes_of_the_program_run_beside_those_of_plugins() {
        let registry = registry(&plugin_folders());
        let library = PassLibrary::new(&registry);
        let (after, report) = own_passes().run_with(&library, &module(), &ManagerOptions::default()).unwrap();
        assert!(after.function("entry").is_some());
        assert_eq!(n_calls(&after), 6, "both functions lost a negation");
        let forgot = report.said.iter().filter(|said| said.pass == "main.ForgetNames").count();
        assert_eq!(forgot, 2);
        assert!(!text::print(&after, &Default::default()).contains("%a"));
    }

    #[test]
    fn members_of_a_sequence_that_a_plugin_runs_are_filtered() {
        let registry = registry(&plugin_folders());
        let library = PassLibrary::new(&registry);
        let settle = library.get_pass("acme.Settle").unwrap();
        let n_left = |context: PassContext| {
            n_calls(&Arc::new(context).scope(|_| settle.run(&library, &module()).unwrap()).unwrap())
        };
        assert_eq!(n_left(library.context().build().unwrap()), 2);
        assert_eq!(n_left(library.context().disable("acme.NegNeg").build().unwrap()), 4);
        assert_eq!(n_left(library.context().opt_level(0).build().unwrap()), 4);
    }

    #[test]
    fn an_instrument_watches_the_default_context() {
        let registry = registry(&plugin_folders());
        let library = PassLibrary::new(&registry);
        let passes = ["acme.NegNeg", "EliminateCommonSubexpr"].map(|name| library.get_pass(name).unwrap());
        let sequence = Pass::sequence("main.Both", passes);
        // The sequence and its first member; the second is of level 3, which a context of level 2 leaves off.
        assert_eq!(count(&library, &sequence, &module()).unwrap(), 2);
        assert!(PassContext::current().instruments().is_empty());
    }

    #[test]
    fn a_pipeline_runs_as_from_the_command_line() {
        let registry = registry(&plugin_folders());
        let toml = "instruments = [\"ir-size\"]\nsteps = [{ include = \"builtin:O1\" }, \"acme.Tidy\"]";
        assert_eq!(n_calls(&run_pipeline(&registry, toml, &module()).unwrap()), 1);
        let error = run_pipeline(&registry, "steps = [\"acme.Tydi\"]", &module()).err().unwrap().to_string();
        assert!(error.contains("did you mean `acme.Tidy`?"), "{error}");
    }

    #[test]
    fn options_of_contexts_are_listed() {
        let registry = registry(&plugin_folders());
        let listed = list_configs(&registry);
        assert!(listed.iter().any(|line| line.starts_with("acme.Accelerator: a table, default")), "{listed:?}");
    }
}
