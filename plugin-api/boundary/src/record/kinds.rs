//! The kinds of passes and analyses, as in their records.

/// The unit that a pass receives. Append-only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Level(pub u8);

impl Level {
    /// The module.
    pub const MODULE: Self = Self(0);
    /// One function.
    pub const FUNCTION: Self = Self(1);
    /// One loop program.
    pub const PRIM_FUNC: Self = Self(2);
    /// One call at a time.
    pub const REWRITE: Self = Self(3);
    /// Nothing: it names other passes.
    pub const SEQUENTIAL: Self = Self(4);

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MODULE => "module",
            Self::FUNCTION => "function",
            Self::PRIM_FUNC => "prim func",
            Self::REWRITE => "rewrite",
            Self::SEQUENTIAL => "sequential",
            _ => "unknown",
        }
    }
}

/// When a pass runs among all passes of a level: in the order of the numbers. Append-only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Phase(pub u8);

impl Phase {
    /// It infers information that other passes read.
    pub const TYPES: Self = Self(20);
    /// It computes constant values.
    pub const FOLDING: Self = Self(40);
    /// It puts something better in the place of something.
    pub const REWRITES: Self = Self(60);
    /// It removes unneeded parts.
    pub const CLEAN_UP: Self = Self(80);
    /// Never: it prints, or makes a form that others undo.
    pub const NONE: Self = Self(255);

    /// Every phase, in order.
    pub const ALL: [Self; 5] = [Self::TYPES, Self::FOLDING, Self::REWRITES, Self::CLEAN_UP, Self::NONE];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TYPES => "types",
            Self::FOLDING => "folding",
            Self::REWRITES => "rewrites",
            Self::CLEAN_UP => "clean-up",
            Self::NONE => "none",
            _ => "unknown",
        }
    }
}

/// The parts of its unit that an analysis depends on. Append-only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Depends(pub u8);

impl Depends {
    /// Everything.
    pub const EVERYTHING: Self = Self(0);
    /// Nodes, their operands and callees, blocks and their order; not types, attributes, values of constants, names or
    /// metadata.
    pub const STRUCTURE: Self = Self(1);

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::STRUCTURE => super::STRUCTURE,
            _ => "everything",
        }
    }
}
