//! Options as the macros declare them. A fault of a declaration is a panic in const evaluation, and so an error of the
//! compiler where the macros place the call; its message names the option.

use super::*;
use relais_ir::const_text::Text;

/// Appends `from … to …`, unless the bounds are those of all.
const fn push_bounds(text: Text, (min, max): (i64, i64), all: (i64, i64)) -> Text {
    if min == all.0 && max == all.1 {
        return text;
    }
    text.push(" from ").push_int(min).push(" to ").push_int(max)
}

/// Appends the values that an option accepts. Bounds of floats are as the author has written them, if he has.
const fn push_kind(text: Text, kind: OptionKind, range: &str) -> Text {
    match kind {
        OptionKind::Bool => text.push("`true` or `false`"),
        OptionKind::Int { min, max } => push_bounds(text.push("an integer"), (min, max), (i64::MIN, i64::MAX)),
        OptionKind::Bytes { min, max } => push_bounds(text.push("a number of bytes"), (min, max), (0, i64::MAX)),
        OptionKind::Float { .. } if range.is_empty() => text.push("a float"),
        OptionKind::Float { .. } => text.push("a float in `").push(range).push("`"),
        OptionKind::Str => text.push("a string"),
        OptionKind::Path => text.push("the path of a file or a folder"),
        OptionKind::Choice(choices) => {
            let (mut text, mut i) = (text.push("one of "), 0);
            while i < choices.len() {
                text = text.push(if i > 0 { ", `" } else { "`" }).push(choices[i].name).push("`");
                i += 1;
            }
            text
        }
        OptionKind::List(item) => push_kind(text.push("a list of which each item is "), *item, range),
        OptionKind::Struct(_) => text.push("a table of options"),
    }
}

/// The macros call these.
///
/// # Panics
/// In const evaluation, so at compile time, if the declaration of the option is at fault.
#[doc(hidden)]
impl OptionSpec {
    /// An option without a default.
    pub const fn new(name: &'static str, doc: &'static str, kind: OptionKind, is_optional: bool) -> Self {
        Self { name, doc, kind, default: None, is_optional }
    }

    /// The same option, which is not a list with items that may be absent.
    pub const fn without_optional_items(self, has_any: bool) -> Self {
        if has_any {
            let said = Text::new().push("option `").push(self.name).push("` has items of type `Option`");
            said.push(", which is for a whole option: a list may be empty").panic();
        }
        self
    }

    /// The same integer as a number of bytes.
    pub const fn in_bytes(mut self) -> Self {
        let OptionKind::Int { min, max } = self.kind else {
            self.takes_kind("").push(", and `unit` is for integers").panic();
        };
        self.kind = OptionKind::Bytes { min: if min < 0 { 0 } else { min }, max };
        self
    }

    /// The same option with bounds on an integer (or a float).
    pub const fn with_int_range(mut self, lower: Option<i64>, upper: Option<i64>) -> Self {
        self.kind = match self.kind {
            OptionKind::Int { min, max } => {
                let (min, max) = self.bounds((min, max), (lower, upper));
                OptionKind::Int { min, max }
            }
            OptionKind::Bytes { min, max } => {
                let (min, max) = self.bounds((min, max), (lower, upper));
                OptionKind::Bytes { min, max }
            }
            OptionKind::Float { .. } => {
                let lower = if let Some(lower) = lower { Some(lower as f64) } else { None };
                let upper = if let Some(upper) = upper { Some(upper as f64) } else { None };
                return self.with_float_range(lower, upper);
            }
            _ => self.takes_kind("").push(", and a `range` is for integers and floats").panic(),
        };
        self
    }

    /// The same option with bounds on a float.
    pub const fn with_float_range(mut self, lower: Option<f64>, upper: Option<f64>) -> Self {
        self.kind = match self.kind {
            OptionKind::Float { min, max } => OptionKind::Float {
                min: if let Some(lower) = lower { lower } else { min },
                max: if let Some(upper) = upper { upper } else { max },
            },
            _ => self.takes_kind("").push(", and a `range` of floats is for floats").panic(),
        };
        if let OptionKind::Float { min, max } = self.kind
            && min <= max
        {
            return self;
        }
        self.empty_range()
    }

    /// The same option with a default, which its author has written as `text`; `range` is its range, as written.
    pub const fn with_default(mut self, default: DefaultSpec, text: &str, range: &str) -> Self {
        if self.is_optional {
            Text::new()
                .push("option `")
                .push(self.name)
                .push("` is of type `Option`, and so has no `default`: it is `None` unless given")
                .panic();
        }
        if let OptionKind::Struct(_) = self.kind {
            self.takes_kind("").push(", each of which has a `default` of its own").panic();
        }
        if !self.kind.takes(default) {
            let said = self.takes_kind(range).push(", and its `default` is `").push(text).push("`");
            match (self.kind, default) {
                (OptionKind::Float { .. }, DefaultSpec::Int(_)) => {
                    said.push("\n  help: write `").push(text).push(".0`").panic()
                }
                _ => said.panic(),
            }
        }
        self.default = Some(default);
        self
    }

    /// The number of bytes that a default of this option states.
    pub const fn bytes_of(&self, text: &str) -> i64 {
        let said = match parse_bytes(text) {
            Ok(bytes) => return bytes,
            Err(BytesError::Form) => "\"`\n  help: write an integer, or a text such as \"64KiB\"",
            Err(BytesError::Large) => "\"`, which does not fit 64 bits",
        };
        self.takes_kind("").push(", and its `default` is `\"").push(text).push(said).panic()
    }

    /// `option … takes …`
    const fn takes_kind(&self, range: &str) -> Text {
        push_kind(Text::new().push("option `").push(self.name).push("` takes "), self.kind, range)
    }

    /// The bounds of a range, which are within those of the type.
    const fn bounds(&self, (min, max): (i64, i64), (lower, upper): (Option<i64>, Option<i64>)) -> (i64, i64) {
        let lower = if let Some(lower) = lower { lower } else { min };
        let upper = if let Some(upper) = upper { upper } else { max };
        if lower > upper {
            self.empty_range();
        }
        if lower < min || max < upper {
            self.takes_kind("").push(", and its `range` goes beyond that").panic();
        }
        (lower, upper)
    }

    const fn empty_range(&self) -> ! {
        Text::new().push("the `range` of option `").push(self.name).push("` has no value").panic()
    }
}
