//! `relais rules`.

use super::{
    args::RulesArgs,
    catalogue,
    terminal::{self, CliError},
};
use relais::{
    files::{Destination, Existing},
    registry::{Registry, ResolveError},
    words::{nearest, or_list},
};
use relais_plugin_api::pattern::{self, OpName};
use relais_session::model::NotWritten;
use std::path::Path;

/// Prints rules, or writes them in the form that the output's name says.
pub(crate) fn rules(args: &RulesArgs) -> Result<(), CliError> {
    let failed = |error| NotWritten::File("output", error);
    let output = args.output.as_deref().map(|path| Destination::of_argument(path, Existing::Replace));
    let output = output.transpose().map_err(failed)?;
    let registry = catalogue::registry(&args.plugins)?;
    let rules = pattern::read(&args.source, &text(&args.source, &registry)?)?;
    let as_text = || rules.iter().map(|rule| format!("{rule};\n")).collect::<String>();
    let is_onnx = |output: &Destination| output.named().extension().is_some_and(|end| end == "onnx");
    match output {
        None => terminal::print(&as_text()),
        Some(output) => {
            let bytes = match is_onnx(&output) {
                true => pattern::write_pairs(&rules, &|op, key| kind(&registry, op, key))?,
                false => as_text().into_bytes(),
            };
            Ok(output.write(|out| out.write_all(&bytes)).map_err(failed)?)
        }
    }
}

/// The text of the rules in a file, or of a pass.
fn text(source: &str, registry: &Registry) -> Result<String, CliError> {
    let path = Path::new(source);
    if path.exists() {
        return Ok(pattern::read_file(path)?);
    }
    let pass = registry.pass(source).map_err(|error| match error {
        ResolveError::Unknown { .. } => {
            let error = CliError::new(format_args!("no file and no pass is named `{source}`"));
            let passes = registry.passes().map(|(pass, _)| pass.name.as_str());
            match nearest(source, passes).as_slice() {
                [] => error.help("`relais list rules` shows the passes that consist of rules"),
                near => error.help(format_args!("did you mean {}?", or_list(near))),
            }
        }
        error => CliError::new(error),
    })?;
    pass.rules.clone().ok_or_else(|| {
        let error = CliError::new(format_args!("pass `{}` does not consist of rules", pass.name));
        error.help("`relais list rules` shows the passes that do")
    })
}

/// The kind of an operator's attribute, in the last version that has it.
fn kind(registry: &Registry, op: &OpName, key: &str) -> Option<u8> {
    let versions = registry.operators().filter(|(record, _)| record.domain == op.domain && record.name == op.name);
    let kinds = versions.filter_map(|(record, _)| {
        let attr = record.attrs().flatten().find(|attr| attr.name == key)?;
        Some((record.since_version, attr.kind))
    });
    kinds.max().map(|(_, kind)| kind)
}
