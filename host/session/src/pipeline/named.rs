//! Pipelines that a user asks for by name, and options of theirs.

use crate::argument::Argument;
use relais::{
    pipeline::{
        BUILT_IN, Code, Disk, Faults, PipelineFault, PipelineSpec, built_in,
        fault::Place,
        parse_setting,
        spec::{StepSpec, Written},
    },
    registry::{Registry, ResolveError},
    words::nearest,
};
use std::path::{Path, PathBuf};

/// Sets options of a pipeline, given as `Pass.option=VALUE`, or `option=VALUE` for one of the context: the value is
/// TOML, or else a string that needs no quotes.
///
/// # Errors
/// Returns all texts that set nothing. Whether an option exists and takes the value is determined when the pipeline is
/// resolved.
pub(super) fn set_options(spec: &mut PipelineSpec, settings: &[Argument]) -> Result<(), Faults> {
    let mut faults = Vec::new();
    for Argument { origin, value } in settings {
        match parse_setting(&mut spec.sources, origin, value) {
            Ok(entry) => spec.settings.push(entry),
            Err(fault) => faults.push(*fault),
        }
    }
    match faults.is_empty() {
        true => Ok(()),
        false => Err(Faults { list: faults, sources: spec.sources.clone() }),
    }
}

/// The files from which a pipeline's file is read: itself, and those that it includes, as far as it can be read.
pub fn files_of_pipeline(file: &Path, registry: &Registry) -> Vec<PathBuf> {
    let Ok((spec, _)) = PipelineSpec::read_in_part(file, registry) else { return vec![file.to_owned()] };
    spec.sources.names().map(PathBuf::from).filter(|path| path.is_file()).collect()
}

/// A built-in pipeline.
pub(super) fn read_built_in(name: &str) -> Result<PipelineSpec, Faults> {
    PipelineSpec::read(Path::new(&format!("builtin:{name}")), &Disk)
}

/// The pipeline in a file, otherwise the built-in one or that of a plugin with the name: as far as it can be parsed, with
/// its faults.
///
/// # Errors
/// Returns an error if it cannot be read at all, or there is none of that name.
pub(super) fn pipeline(name: &str, registry: &Registry) -> Result<(PipelineSpec, Vec<PipelineFault>), Faults> {
    let path = Path::new(name);
    if !path.exists() && built_in(name).is_some() {
        return PipelineSpec::read_in_part(Path::new(&format!("builtin:{name}")), registry);
    }
    let is_provided = !path.exists() && !matches!(registry.pipeline(name), Err(ResolveError::Unknown { .. }));
    if is_provided {
        return PipelineSpec::read_in_part(Path::new(&format!("plugin:{name}")), registry);
    }
    PipelineSpec::read_in_part(path, registry).map_err(|mut faults| {
        if let ([fault], false) = (faults.list.as_mut_slice(), path.exists()) {
            let provided = registry.pipelines().map(|(pipeline, _)| pipeline.name.as_str());
            let names = BUILT_IN.iter().map(|(name, _)| *name).chain(provided);
            *fault = fault.clone().nearest(&nearest(name, names));
        }
        faults
    })
}

/// A pipeline of passes, each on whatever its level. Their members are switched by their own levels.
pub(super) fn of_passes(passes: &[Argument]) -> PipelineSpec {
    let mut spec = nameless();
    for Argument { origin, value } in passes {
        let place = spec.sources.add_whole(origin, value);
        add_pass(&mut spec, place, value);
    }
    spec
}

/// The same of a text that names them, with commas between them.
///
/// # Errors
/// Returns an error if a name is empty.
pub(super) fn of_pass_list(Argument { origin, value }: &Argument) -> Result<PipelineSpec, Faults> {
    let mut spec = nameless();
    let source = spec.sources.add(origin, value);
    let mut start = 0;
    let mut faults = Vec::new();
    for part in value.split(',') {
        let at = start + (part.len() - part.trim_start().len());
        let name = part.trim();
        start += part.len() + 1;
        let place = Place::new(source, at..at + name.len());
        match name {
            "" => {
                let fault = PipelineFault::new(Code::Value, place, format!("`{origin}` has an empty name"));
                faults.push(fault.help(format!("write `{origin} A,B`")));
            }
            name => add_pass(&mut spec, place, name),
        }
    }
    spec.unless(faults)
}

fn nameless() -> PipelineSpec {
    PipelineSpec { name: "passes".into(), ..PipelineSpec::default() }
}

fn add_pass(spec: &mut PipelineSpec, place: Place, name: &str) {
    let name = Written::at(place, name.to_owned());
    spec.steps.push(spec.nodes.len());
    spec.nodes.push(Written::at(place, StepSpec::Pass { name, options: Vec::new(), opt_level: Some(0) }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use relais::{
        plugin::Discovery,
        registry::{Choices, Linked},
    };
    use std::fs;

    #[test]
    fn pipelines_are_those_of_a_name_or_of_passes() {
        let registry = Registry::new(Discovery::default(), Linked::Exclude, &Choices::new());
        let (spec, faults) = pipeline("O1", &registry).unwrap();
        assert!(!spec.steps.is_empty() && faults.is_empty());
        let unknown = pipeline("O9", &registry).unwrap_err();
        assert!(unknown.to_string().contains("O9"), "{unknown}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("half.toml");
        fs::write(&path, "name = \"half\"\nsteps = [\"a.B\"]\nwrong = 1\n").unwrap();
        let (half, faults) = pipeline(path.to_str().unwrap(), &registry).unwrap();
        assert_eq!((half.steps.len(), faults.len()), (1, 1));
        assert!(pipeline("gone.toml", &registry).is_err());
        let list = |text: &str| of_pass_list(&Argument::new("--passes", text.to_owned()));
        assert_eq!(list("a.B, a.C").unwrap().steps.len(), 2);
        assert_eq!(list("a.B,,").unwrap_err().list.len(), 2);
        // A name is a whole item of a list.
        assert_eq!(of_passes(&["a.B,a.C".into()]).steps.len(), 1);
    }

    #[test]
    fn options_are_set_and_every_text_that_sets_nothing_is_a_fault() {
        let mut spec = PipelineSpec::default();
        let settings = |texts: &[&str]| Argument::each("--set", texts.iter().map(|&text| text.to_owned()));
        set_options(&mut spec, &settings(&["B.depth=2", "name=plain"])).unwrap();
        assert_eq!(spec.settings.len(), 2);
        let faults = set_options(&mut spec, &settings(&["depth", "B.depth=3", "=1"])).unwrap_err();
        assert_eq!((faults.list.len(), spec.settings.len()), (2, 3));
    }
}
