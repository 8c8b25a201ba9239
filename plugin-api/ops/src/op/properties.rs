//! The properties of an operator that passes ask for, beside its types: how calls treat the axes of values, where results are the same
//! bits everywhere, and in which precision calls are computed.

use super::{FusionKind, Operator};
use crate::op::tags::{op_tag, property_tag};
use relais_ir::wire::Writer;

/// The names of the properties that passes ask for. Other names contain a dot, `acme.color`, and are for passes that
/// know them.
pub mod property {
    /// How calls treat axes: an [`Axes`](super::Axes).
    pub const AXES: &str = "axes";
    /// Where results are the same bits in every runtime: an [`Exactness`](super::Exactness).
    pub const EXACT: &str = "exact";
    /// The precision of calls: a [`Precision`](super::Precision).
    pub const PRECISION: &str = "precision";
}

/// How calls of an operator treat the axes of their first argument, by which a transpose is moved past them: the results
/// of a call whose axes are in another order are the same, in that order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Axes<'a> {
    /// `elementwise`: each is like the others. Further arguments are numbers, or say a type.
    Elementwise,
    /// `broadcast`: each is like the others, and so are those of all arguments, which are broadcast as in NumPy.
    Broadcast,
    /// `along axis`: the one that the attribute `axis` names is special; every result has all of them.
    Along {
        /// The attribute or argument that has its number.
        axis: AxisFrom<'a>,
        /// Whether elements are added up along it.
        sums: bool,
    },
    /// `each @1`: all are treated alike, and argument 1 is a list with an entry for each.
    Each {
        /// The position of the list.
        argument: usize,
    },
    /// `reduce axes`: those that the attribute `axes`, or else argument 1, lists are reduced, all without a list; the result
    /// has them, with a size of 1, unless `keepdims` is 0. Without a list, nothing is reduced if `noop_with_empty_axes` is
    /// not 0. `reduce axis` is about the one that the attribute `axis` names.
    Reduce {
        /// The attribute that names them, `axes` or `axis`.
        attribute: &'a str,
        /// Whether elements are added up along them.
        sums: bool,
    },
}

/// The place where the number of an axis is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AxisFrom<'a> {
    /// This attribute: `along axis`.
    Attribute(&'a str),
    /// The argument at this position: `along @1`.
    Argument(usize),
}

/// For which element types every runtime computes the same bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Exactness {
    /// `moved`: for all of them; the elements of results are those of arguments, or say where those are.
    Moved,
    /// `rounded`: for integers and booleans, and for `float32` and `float64`, because IEEE 754 says how results are
    /// rounded, or because results are among the arguments.
    Rounded,
    /// `integers`: for integers and booleans.
    Integers,
    /// `never`: for none; the same as saying nothing.
    Never,
}

/// The precision in which calls are computed where a pass lowers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Precision<'a> {
    /// `lower`: in that one, whatever their arguments were computed in.
    Lower,
    /// `keep`: in that of the model, for the reason that follows: `keep: it adds up many terms`.
    Keep(&'a str),
}

impl Axes<'static> {
    /// One axis is special, which an attribute names.
    pub const fn along(attribute: &'static str) -> Self {
        Self::Along { axis: AxisFrom::Attribute(attribute), sums: false }
    }

    /// One axis is special, whose number an argument is.
    pub const fn along_argument(position: usize) -> Self {
        Self::Along { axis: AxisFrom::Argument(position), sums: false }
    }

    /// The axes that an attribute names are reduced: `axes` or `axis`.
    pub const fn reduce(attribute: &'static str) -> Self {
        Self::Reduce { attribute, sums: false }
    }

    /// The same, where elements are added up along the axes: in another order, the sum may be rounded otherwise.
    ///
    /// # Panics
    /// Panics if no axis is special.
    pub const fn sums(self) -> Self {
        match self {
            Self::Along { axis, .. } => Self::Along { axis, sums: true },
            Self::Reduce { attribute, .. } => Self::Reduce { attribute, sums: true },
            _ => panic!("nothing is added up along axes that are all alike"),
        }
    }

    /// Writes the value of the property.
    const fn write(self, w: &mut Writer<'_>) {
        let sums = match self {
            Self::Elementwise => {
                w.raw(b"elementwise");
                false
            }
            Self::Broadcast => {
                w.raw(b"broadcast");
                false
            }
            Self::Along { axis: AxisFrom::Attribute(name), sums } => {
                w.raw(b"along ");
                w.raw(name.as_bytes());
                sums
            }
            Self::Along { axis: AxisFrom::Argument(position), sums } => {
                w.raw(b"along @");
                w.raw(&[digit(position)]);
                sums
            }
            Self::Each { argument } => {
                w.raw(b"each @");
                w.raw(&[digit(argument)]);
                false
            }
            Self::Reduce { attribute, sums } => {
                w.raw(b"reduce ");
                w.raw(attribute.as_bytes());
                sums
            }
        };
        if sums {
            w.raw(b" sums");
        }
    }
}

/// Writes the properties of an operator.
pub(super) const fn write(w: &mut Writer<'_>, op: &Operator) {
    if let Some(axes) = op.axes {
        let start = begin(w, property::AXES);
        axes.write(w);
        end(w, start);
    }
    if let Some(exact) = op.exact {
        text(w, property::EXACT, exact.name());
    }
    match op.precision {
        None => {}
        Some(Precision::Lower) => text(w, property::PRECISION, "lower"),
        Some(Precision::Keep(why)) => {
            let start = begin(w, property::PRECISION);
            w.raw(b"keep: ");
            w.raw(why.as_bytes());
            end(w, start);
        }
    }
    let mut i = 0;
    while i < op.properties.len() {
        let (name, value) = op.properties[i];
        assert!(has_dot(name), "the name of a property of one's own contains a dot: `acme.color`");
        text(w, name, value);
        i += 1;
    }
}

const fn text(w: &mut Writer<'_>, name: &str, value: &str) {
    let start = begin(w, name);
    w.raw(value.as_bytes());
    end(w, start);
}

/// Begins a property: its value follows.
const fn begin(w: &mut Writer<'_>, name: &str) -> (usize, usize) {
    let field = w.begin(op_tag::PROPERTY);
    w.text(property_tag::NAME, name);
    (field, w.begin(property_tag::VALUE))
}

const fn end(w: &mut Writer<'_>, (field, value): (usize, usize)) {
    w.end(value);
    w.end(field);
}

const fn digit(position: usize) -> u8 {
    assert!(position < 10, "an argument that says something of axes is one of the first ten");
    b'0' + position as u8
}

const fn has_dot(name: &str) -> bool {
    let mut i = 0;
    while i < name.len() {
        if name.as_bytes()[i] == b'.' {
            return true;
        }
        i += 1;
    }
    false
}

impl<'a> Axes<'a> {
    /// Parses a value of the property; `None` if it is not one, such as one of a later version.
    pub fn parse(text: &'a str) -> Option<Self> {
        let (text, sums) = match text.strip_suffix(" sums") {
            Some(text) => (text, true),
            None => (text, false),
        };
        let (word, of) = text.split_once(' ').unwrap_or((text, ""));
        let argument = of.strip_prefix('@').and_then(|at| at.parse().ok());
        Some(match (word, argument) {
            ("elementwise", None) if of.is_empty() && !sums => Self::Elementwise,
            ("broadcast", None) if of.is_empty() && !sums => Self::Broadcast,
            ("along", Some(argument)) => Self::Along { axis: AxisFrom::Argument(argument), sums },
            ("along", None) if is_name(of) => Self::Along { axis: AxisFrom::Attribute(of), sums },
            ("each", Some(argument)) if !sums => Self::Each { argument },
            ("reduce", None) if matches!(of, "axes" | "axis") => Self::Reduce { attribute: of, sums },
            _ => return None,
        })
    }

    /// How calls treat axes as the fusion kind implies it, for an operator of at most this many arguments, if the kind says
    /// all.
    pub(super) fn of_fusion(fusion: FusionKind, most_inputs: u16) -> Option<Self> {
        match (fusion, most_inputs) {
            (FusionKind::ELEMWISE, 1) => Some(Self::Elementwise),
            // All shapes are equal.
            (FusionKind::ELEMWISE, _) => Some(Self::Broadcast),
            _ => None,
        }
    }
}

impl Exactness {
    /// The value of the property.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Moved => "moved",
            Self::Rounded => "rounded",
            Self::Integers => "integers",
            Self::Never => "never",
        }
    }

    /// Parses a value of the property; `None` if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "moved" => Self::Moved,
            "rounded" => Self::Rounded,
            "integers" => Self::Integers,
            "never" => Self::Never,
            _ => return None,
        })
    }
}

impl<'a> Precision<'a> {
    /// Parses a value of the property; `None` if it is not one.
    pub fn parse(text: &'a str) -> Option<Self> {
        match text {
            "lower" => Some(Self::Lower),
            _ => text.strip_prefix("keep: ").map(Self::Keep).filter(|_| text.len() > "keep: ".len()),
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_axes() {
        let along = |axis, sums| Some(Axes::Along { axis, sums });
        assert_eq!(Axes::parse("elementwise"), Some(Axes::Elementwise));
        assert_eq!(Axes::parse("broadcast"), Some(Axes::Broadcast));
        assert_eq!(Axes::parse("along axis"), along(AxisFrom::Attribute("axis"), false));
        assert_eq!(Axes::parse("along @1 sums"), along(AxisFrom::Argument(1), true));
        assert_eq!(Axes::parse("each @1"), Some(Axes::Each { argument: 1 }));
        assert_eq!(Axes::parse("reduce axes sums"), Some(Axes::Reduce { attribute: "axes", sums: true }));
        for wrong in
            ["", "elementwise sums", "along", "along @", "along @-1", "each axis", "reduce dims", "sums", "along a b"]
        {
            assert_eq!(Axes::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_words_of_exactness_and_precision() {
        assert_eq!(Exactness::parse("moved"), Some(Exactness::Moved));
        assert_eq!(Exactness::parse("Moved"), None);
        assert_eq!(Precision::parse("lower"), Some(Precision::Lower));
        assert_eq!(Precision::parse("keep: it sums"), Some(Precision::Keep("it sums")));
        for wrong in ["", "keep", "keep: ", "higher"] {
            assert_eq!(Precision::parse(wrong), None, "{wrong}");
        }
    }
}
