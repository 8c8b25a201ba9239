//! `relais show`.

use super::{
    args::{self, ShowArgs},
    model,
    terminal::{self, CliError},
};
use relais::files::{Destination, Existing, write_text_form};
use relais_plugin_api::text::{self, Large, PrintOptions, Types};
use relais_session::model::NotWritten;

/// Prints a model in the text form.
pub(crate) fn show(args: &ShowArgs) -> Result<(), CliError> {
    let failed = |error| NotWritten::File("output", error);
    let output = args.output.as_deref().map(|path| Destination::of_argument(path, Existing::Replace));
    let output = output.transpose().map_err(failed)?;
    let module = model::read(&args.model)?.module;
    let types = match args.types {
        args::Types::All => Types::All,
        args::Types::Signatures => Types::Signatures,
    };
    let large = if args.full || output.is_some() { Large::Hex } else { Large::Elide };
    let mut options = PrintOptions::default();
    (options.types, options.large) = (types, large);
    match output {
        None => terminal::print(&text::print(&module, &options)),
        Some(output) => Ok(write_text_form(&module, &output, &options).map(drop).map_err(failed)?),
    }
}
