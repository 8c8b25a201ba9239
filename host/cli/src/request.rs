//! The requests that arguments make.

use super::{
    args::{AdjustArgs, ExternalData, JudgeArgs, PipelineArgs, ReproducerArgs, RunArgs, Stripped, Verbosity},
    args_check::{CheckArgs, CheckWith},
    catalogue, instruments, model,
    terminal::CliError,
};
use relais::{
    onnx::{self, StatedTypes, Strip},
    pass::{Remarks, Verify},
    pipeline::spec::Extensions,
};
use relais_session::{
    Argument, Counts, Failures, Judging, OutputRequest, Reproducers, Request,
    check::{self, CheckRequest, FailedOutput, UnseenParts},
    model::Part,
    pipeline::{Chosen, PipelineRequest},
};
use std::{num::NonZero, path::Path, time::Duration};

/// A run over one model.
pub(crate) fn run(args: &RunArgs, model: &Path, output: &Path, verbosity: Verbosity) -> Result<Request, CliError> {
    Ok(Request {
        model: model::given(model),
        part: Part {
            input_shapes: args.input_shape.clone(),
            inputs: args.inputs.clone(),
            outputs: args.outputs.clone(),
            ..Part::default()
        },
        keep: args.keep.clone(),
        pipeline: pipeline(&args.pipeline),
        instruments: instruments::requested(&args.instruments)?,
        lock: args.locked.clone(),
        judging: judging(&args.judge),
        verify: args.verify_each.then_some(Verify::Each),
        remarks: remarks(verbosity),
        stop_after: args.instruments.stop_after,
        threads: args.threads.and_then(NonZero::new),
        check: check(&args.check),
        output: Some(self::output(args, output)),
        counts: if verbosity > Verbosity::Quiet { Counts::Take } else { Counts::Leave },
        report: args.report.clone(),
        reproducers: reproducers(&args.reproducer, output, Failures::All),
    })
}

/// The pipeline that arguments ask for.
pub(crate) fn pipeline(args: &PipelineArgs) -> PipelineRequest {
    let chosen = match (&args.pipeline, &args.passes, args.opt_level) {
        (Some(name), ..) => Chosen::Named(name.clone()),
        (None, Some(passes), _) => Chosen::PassList(Argument::new("--passes", passes.clone())),
        (None, None, Some(level)) => Chosen::Level(level),
        (None, None, None) => Chosen::Default,
    };
    PipelineRequest {
        opt_level: args.opt_level,
        rules: Argument::numbered("--rule", args.rule.iter().cloned()),
        rule_files: args.rules.clone(),
        target_opset: args.target_opset.map(|target| Argument::new("--target-opset", target)),
        dtype: args.dtype.clone().map(|dtype| Argument::new("--dtype", dtype)),
        ..adjusted(chosen, &args.adjust)
    }
}

/// A pipeline with passes switched and options set.
pub(crate) fn adjusted(chosen: Chosen, args: &AdjustArgs) -> PipelineRequest {
    PipelineRequest {
        chosen,
        disabled: Argument::each("--disable", args.disable.iter().cloned()),
        required: Argument::each("--require", args.require.iter().cloned()),
        settings: Argument::each("--set", args.set.iter().cloned()),
        extensions: args.no_extensions.then_some(Extensions::Off),
        isolated: isolated(&args.isolate),
        ..PipelineRequest::default()
    }
}

/// The plugins that run in processes of their own.
fn isolated(args: &[String]) -> Vec<Argument> {
    catalogue::isolated().into_iter().chain(Argument::each("--isolate", args.iter().cloned())).collect()
}

/// Whether rules are judged.
pub(crate) fn judging(args: &JudgeArgs) -> Judging {
    if args.no_judge { Judging::Trust } else { Judging::Judge }
}

/// Whether passes explain themselves.
pub(crate) fn remarks(verbosity: Verbosity) -> Remarks {
    if verbosity >= Verbosity::Debug { Remarks::Show } else { Remarks::Hide }
}

/// Where reproducers go: beside an output, unless the arguments say otherwise.
pub(crate) fn reproducers(args: &ReproducerArgs, output: &Path, of: Failures) -> Option<Reproducers> {
    let folder = args.reproducer_dir.clone();
    (!args.no_reproducer).then(|| Reproducers { beside: output.to_owned(), folder, of })
}

fn check(args: &CheckArgs) -> CheckRequest {
    CheckRequest {
        n_random: args.check.map_or(0, |runs| runs.n),
        inputs: args.check_inputs.clone(),
        seed: args.check_seed,
        tolerance: args.tolerance(),
        time: (args.check_seconds > 0).then(|| Duration::from_secs(args.check_seconds)),
        max_bytes: args.check_memory << 30,
        with: match args.check_with {
            CheckWith::Relais => check::CheckWith::Evaluators,
            CheckWith::Onnxruntime => check::CheckWith::Onnxruntime(args.python.clone()),
        },
        failed: FailedOutput::Keep,
        unseen: match args.check {
            Some(runs) if runs.is_strict => UnseenParts::Refuse,
            _ => UnseenParts::Warn,
        },
    }
}

fn output(args: &RunArgs, path: &Path) -> OutputRequest {
    let mut strip = Strip::default();
    for part in &args.strip {
        match part {
            Stripped::Docs => strip.docs = true,
            Stripped::Metadata => strip.metadata = true,
            Stripped::Names => strip.names = true,
            Stripped::ValueInfo => strip.value_info = true,
        }
    }
    let external_data = match args.external_data {
        ExternalData::Auto => onnx::ExternalData::default(),
        ExternalData::Keep => onnx::ExternalData::Keep { threshold: 1024 },
        ExternalData::Always => onnx::ExternalData::External { min_bytes: 1024 },
        ExternalData::Never => onnx::ExternalData::Inline,
    };
    let stated_types = if args.infer_shapes { StatedTypes::Known } else { StatedTypes::AsRead };
    OutputRequest { path: path.to_owned(), external_data, stated_types, strip }
}
