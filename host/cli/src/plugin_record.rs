//! `relais plugin record`: the records of a plugin that is not written in Rust.

use super::{args_plugin::RecordArgs, terminal::CliError};
use relais::{
    files::Existing,
    isolation::Isolation,
    plugin::{describe, is_program, records_beside},
    registry::{Beside, report_program},
};
use relais_session::{Outputs, model::NotWritten};
use std::{fmt::Write, path::Path};

/// How many bytes a line of C has.
const IN_LINE: usize = 16;

/// Writes the records: of a description as C, of a program as a description.
pub(crate) fn record(args: &RecordArgs) -> Result<(), CliError> {
    let is_program = is_program(&args.file);
    let usual = if is_program { records_beside(&args.file) } else { "-".into() };
    let mut outputs = Outputs::default();
    let destination = outputs.add("records", args.output.as_ref().unwrap_or(&usual), Existing::Replace)?;
    outputs.spare("the description", [args.file.as_path()])?;
    let isolation = settings(args.isolate.as_deref())?;
    let out = if is_program { of_program(&args.file, &isolation, Beside::Imported)? } else { as_c(&args.file)? };
    let written = destination.write(|file| file.write_all(out.as_bytes()));
    written.map_err(|error| NotWritten::File("records", error).into())
}

/// The file of records beside a program, which says itself what it has.
pub(crate) fn of_program(file: &Path, isolation: &Isolation, beside: Beside) -> Result<String, CliError> {
    let report = report_program(file, isolation, beside).map_err(|error| CliError::new(&error))?;
    Ok(format!("# The records of `{}`, written by `relais plugin record`.\n{}", name_of(file), report.text))
}

/// Settings of isolation, as an argument has them.
pub(crate) fn settings(text: Option<&str>) -> Result<Isolation, CliError> {
    let isolation = text.map(str::parse::<Isolation>).transpose();
    Ok(isolation.map_err(|why| CliError::usage(format!("`--isolate`: {why}")))?.unwrap_or_default())
}

fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The records of a description as C.
fn as_c(file: &Path) -> Result<String, CliError> {
    let shown = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| CliError::new(format_args!("`{shown}` cannot be read: {error}")))?;
    let records = describe(&text).map_err(|error| {
        let place = error.place(&text).map_or_else(String::new, |(line, column)| format!(":{line}:{column}"));
        let help = error.help.clone();
        let error = CliError::new(format_args!("{shown}{place}: {error}"));
        help.into_iter().fold(error, CliError::help)
    })?;
    let mut out = String::from(
        "/* The records of a plugin, written by `relais plugin record`. Include this in one source, after \"relais.h\". */\n",
    );
    // Writing to a string does not fail.
    let _ = write!(out, "RELAIS_RECORDS static const unsigned char relais_records[{}] = {{", records.len());
    for line in records.chunks(IN_LINE) {
        out.push_str("\n   ");
        for byte in line {
            let _ = write!(out, " {byte},");
        }
    }
    out.push_str("\n};\n");
    Ok(out)
}
