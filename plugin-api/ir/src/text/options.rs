//! How modules are printed.

/// How a module is printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PrintOptions {
    /// Which types are printed.
    pub types: Types,
    /// How constants of more elements than `inline_elements` are printed.
    pub large: Large,
    /// Constants of at most this many elements are printed as lists of values.
    pub inline_elements: u64,
    /// Whether each binding of a loop program has a statement of its own, instead of standing in the one that uses it.
    pub flat: bool,
}

/// Which types are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Types {
    /// All known types: the parsed text has the same types.
    All,
    /// Those of parameters and functions.
    Signatures,
}

/// How large constants are printed. Splats are never large.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Large {
    /// As a hex string.
    Hex,
    /// As a reference into a side file.
    SideFile,
    /// As `…`: for people, not for parsing.
    Elide,
}

impl Default for PrintOptions {
    fn default() -> Self {
        Self { types: Types::All, large: Large::Hex, inline_elements: 16, flat: false }
    }
}
