//! Typed ids into a function's arena.

use abi_stable::StableAbi;
use std::fmt;

macro_rules! arena_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(StableAbi, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into a dense side vector.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The id at `index`.
            ///
            /// # Panics
            /// Panics if `index` does not fit 32 bits: an arena holds fewer than 2^32 entries.
            #[inline]
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("an arena holds fewer than 2^32 entries"))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

arena_id! {
    /// A node of a function's arena. Its `Display` is its text form, `%7`.
    NodeId, "%"
}
arena_id! {
    /// A block: an ordered list of bindings and a result.
    BlockId, "block"
}
arena_id! {
    /// An interned type of a function's arena. Equal ids mean equal types.
    TypeId, "type"
}
arena_id! {
    /// A string in a function's byte pool. Interned strings have equal ids when equal.
    StrId, "str"
}
arena_id! {
    /// An operator that a function uses, in the function's own operator table.
    OpId, "op"
}
arena_id! {
    /// A tensor in a function's constant table.
    ConstId, "const"
}

impl NodeId {
    /// The absent operand (ONNX's empty input name): node 0 of every function.
    pub const ABSENT: Self = Self(0);

    /// Whether this is the absent operand.
    #[inline]
    pub const fn is_absent(self) -> bool {
        self.0 == 0
    }
}

impl TypeId {
    /// Nothing is known: type 0 of every function.
    pub const UNKNOWN: Self = Self(0);
}

impl StrId {
    /// The empty string: string 0 of every function.
    pub const EMPTY: Self = Self(0);
}
