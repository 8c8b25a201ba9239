//! `relais plugin record`: the records of a plugin that is not written in Rust.

use super::{args_plugin::RecordArgs, terminal::CliError};
use relais::{files::Existing, plugin::describe};
use relais_session::{Outputs, model::NotWritten};
use std::fmt::Write;

/// How many bytes a line of C has.
const IN_LINE: usize = 16;

/// Writes the records as C.
pub(crate) fn record(args: &RecordArgs) -> Result<(), CliError> {
    let shown = args.file.display();
    let mut outputs = Outputs::default();
    let destination = outputs.add("records", &args.output, Existing::Replace)?;
    outputs.spare("the description", [args.file.as_path()])?;
    let text = std::fs::read_to_string(&args.file)
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
    let written = destination.write(|file| file.write_all(out.as_bytes()));
    written.map_err(|error| NotWritten::File("records", error).into())
}
