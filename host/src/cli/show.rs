//! `relais show`.

use super::{
    args::{self, ShowArgs},
    model,
    terminal::{self, CliError},
};
use relais_plugin_api::text::{self, Large, PrintOptions, Types};

/// Prints a model in the text form.
pub(crate) fn show(args: &ShowArgs) -> Result<(), CliError> {
    if let Some(output) = &args.output {
        model::check_output(output)?;
    }
    let module = model::read(&args.model)?.module;
    let types = match args.types {
        args::Types::All => Types::All,
        args::Types::Signatures => Types::Signatures,
    };
    let large = if args.no_large { Large::Elide } else { Large::Hex };
    let mut options = PrintOptions::default();
    (options.types, options.large) = (types, large);
    match &args.output {
        None => terminal::print(&text::print(&module, &options)),
        Some(output) => text::write_files(&module, output, &options)
            .map_err(|error| CliError::new(format!("output `{}`: {error}", output.display()))),
    }
}
