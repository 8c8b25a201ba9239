//! The text form: printer and parser.
//!
//! Printed text parses to an equal module. `docs/text-form.md` contains the grammar.
//!
//! ```
//! use relais_plugin_api::text;
//! let module = text::parse_str("def @main(%x: Tensor[(1, N), float32]) { %y = Relu(%x); Add(%y, 1.0) }").unwrap();
//! assert!(text::print(&module, &Default::default()).contains("%y = Relu(%x);"));
//! ```

mod error;
mod frame;
mod lex;
mod literal;
mod number;
mod options;
mod parse;
mod parse_attr;
mod parse_body;
mod parse_const;
mod parse_function;
mod parse_type;
mod parser;
mod prim;
mod print;
mod print_attrs;
mod print_forms;
mod print_header;
mod print_node;
mod print_operands;
mod print_prim;
mod print_type;
mod printer;
mod side_file;
#[cfg(test)]
mod tests;
mod words;

pub use error::{TextCode, TextError};
pub use options::{Large, PrintOptions, Types};
pub use side_file::SideFile;

use crate::{Function, IRModule, NodeId, Tensor, TypeId};
use std::{fmt, io};

/// Prints a module. Large constants never go to a side file: see [`print_to`].
pub fn print(module: &IRModule, options: &PrintOptions) -> String {
    let mut text = String::new();
    let options = PrintOptions { large: without_side_file(options.large), ..options.clone() };
    print_to(module, &options, &mut text).expect("a string takes everything");
    text
}

/// Prints a module into `sink`, and returns the tensors that the text refers to by name, for the side file.
///
/// # Errors
/// Returns an error if the sink fails.
pub fn print_to(
    module: &IRModule,
    options: &PrintOptions,
    sink: &mut dyn fmt::Write,
) -> Result<Vec<(String, Tensor)>, fmt::Error> {
    let mut side_file = Vec::new();
    print::module(module, options, sink, &mut side_file)?;
    Ok(side_file)
}

/// Prints a module to a file or another sink of bytes, and returns the tensors that the text refers to by name.
///
/// # Errors
/// Returns an error if the sink fails.
pub fn print_io(
    module: &IRModule,
    options: &PrintOptions,
    sink: &mut dyn io::Write,
) -> io::Result<Vec<(String, Tensor)>> {
    let mut sink = IoSink { sink, error: None };
    print_to(module, options, &mut sink).map_err(|_| sink.error.take().unwrap_or_else(|| io::ErrorKind::Other.into()))
}

/// Prints one function, as `def @name…`, or as `prim @name…` if it calls core operators.
pub fn print_function(name: &str, function: &Function, options: &PrintOptions) -> String {
    let mut text = String::new();
    let options = PrintOptions { large: without_side_file(options.large), ..options.clone() };
    let rest = match prim::is_prim(function) {
        true => print::print_prim_func(name, function, &options, &mut Vec::new(), "prim @".to_owned(), &mut text),
        false => print::print_function(name, function, &options, &mut Vec::new(), "def @".to_owned(), &mut text),
    };
    text.push_str(&rest.expect("a string takes everything"));
    text
}

/// One node as in the text form, on one line, without blocks and large constants: for messages.
pub fn display(function: &Function, node: NodeId) -> impl fmt::Display {
    struct Line<'a>(&'a Function, NodeId);

    impl fmt::Display for Line<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let options = PrintOptions { large: Large::Elide, ..PrintOptions::default() };
            let mut side_file = Vec::new();
            let mut printer = printer::Printer::new(self.0, &options, &mut side_file);
            printer.line_of(self.1);
            f.write_str(&printer.out)
        }
    }

    Line(function, node)
}

/// A type as in the text form.
pub fn display_type(function: &Function, ty: TypeId) -> impl fmt::Display {
    struct Type<'a>(&'a Function, TypeId);

    impl fmt::Display for Type<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let mut text = String::new();
            print_type::ty(&mut text, self.0, self.1);
            f.write_str(&text)
        }
    }

    Type(function, ty)
}

/// Reads a module. `source` names the text in errors; `side_file` has the constants that the text refers to.
///
/// # Errors
/// Returns an error if the text is at fault: up to 20 faults, in the order of the text.
pub fn parse(source: &str, text: &str, side_file: &SideFile) -> Result<IRModule, Vec<TextError>> {
    parse::module(source, text, side_file)
}

/// Parses a module from a text without a side file.
///
/// # Errors
/// As for [`parse`].
pub fn parse_str(text: &str) -> Result<IRModule, Vec<TextError>> {
    parse("text", text, &SideFile::default())
}

fn without_side_file(large: Large) -> Large {
    if large == Large::SideFile { Large::Hex } else { large }
}

/// Text into a sink of bytes, its error kept.
struct IoSink<'a> {
    sink: &'a mut dyn io::Write,
    error: Option<io::Error>,
}

impl fmt::Write for IoSink<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.sink.write_all(text.as_bytes()).map_err(|error| {
            self.error = Some(error);
            fmt::Error
        })
    }
}
