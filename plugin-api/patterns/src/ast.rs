//! Rules as data.

/// Bytes of a text. Spans do not take part in comparisons of what has them.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextSpan {
    /// The first byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
}

impl TextSpan {
    /// Returns the line and the column in characters at which it begins, both counted from 1.
    pub fn place(self, text: &str) -> (usize, usize) {
        let at = (0..=self.start.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let before = &text[..at];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
    }
}

impl PartialEq for TextSpan {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A name in a text.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Its place.
    pub span: TextSpan,
}

impl Rule {
    /// The patterns of outermost calls: alternatives of one, or one of each.
    pub fn roots(&self) -> impl Iterator<Item = &CallPattern> {
        self.patterns.iter().chain(&self.others)
    }
}

/// The name of an operator.
#[derive(Clone, PartialEq, Debug)]
pub struct OpName {
    /// The domain; empty is the default one.
    pub domain: String,
    /// The name.
    pub name: String,
    /// Its place, with the domain.
    pub span: TextSpan,
}

/// A rule.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// Its name.
    pub name: Option<Name>,
    /// The version of the default domain that it needs.
    pub opset: Option<i64>,
    /// The patterns of the outermost call, in the order in which they are tried.
    pub patterns: Vec<CallPattern>,
    /// The patterns of further outermost calls. If there are any, each outermost call has one pattern and a variable.
    pub others: Vec<CallPattern>,
    /// The replacements of the outermost call's results, at least one; of several outermost calls, one for each, or a
    /// call whose results they are.
    pub results: Vec<NewValue>,
    /// Conditions, all of which must hold.
    pub conditions: Vec<Condition>,
    /// Its place.
    pub span: TextSpan,
}

/// A pattern of calls.
#[derive(Clone, PartialEq, Debug)]
pub struct CallPattern {
    /// The operator.
    pub op: OpName,
    /// The first version and, if there is one, the last version of the domain's operator set that calls are written for.
    pub versions: Option<(i64, Option<i64>)>,
    /// The listed attributes.
    pub attrs: Vec<AttrPattern>,
    /// Whether attributes that are not listed may have any value.
    pub any_attrs: bool,
    /// Patterns of arguments.
    pub args: Vec<ArgPattern>,
    /// The result that the pattern stands for.
    pub result: u16,
    /// The variable that the value is bound to.
    pub bind: Option<Name>,
    /// Whether the value may have users outside the match.
    pub is_shared: bool,
    /// Its place.
    pub span: TextSpan,
}

/// A pattern of an attribute.
#[derive(Clone, PartialEq, Debug)]
pub struct AttrPattern {
    /// The attribute's name.
    pub key: Name,
    /// The value that it must have.
    pub value: AttrWanted,
}

/// The value that an attribute must have.
#[derive(Clone, PartialEq, Debug)]
pub enum AttrWanted {
    /// Equal to a literal.
    Literal(Literal),
    /// Any value, bound to a variable.
    Bind(Name),
    /// Any value or none.
    Any,
}

/// A pattern of an argument.
#[derive(Clone, PartialEq, Debug)]
pub enum ArgPattern {
    /// A value.
    Var(Name),
    /// Any value.
    Any(TextSpan),
    /// Absent.
    Absent(TextSpan),
    /// A value, or absent.
    Optional(Name),
    /// All remaining arguments.
    Rest(Name),
    /// A constant.
    Const {
        /// The variable.
        name: Name,
        /// Whether all elements are equal.
        is_splat: bool,
    },
    /// A constant with one element.
    Number {
        /// The element.
        value: Number,
        /// The relative tolerance.
        tolerance: Option<Number>,
        /// Its place.
        span: TextSpan,
    },
    /// A constant vector.
    List(Vec<Literal>, TextSpan),
    /// The result of a call.
    Call(Box<CallPattern>),
    /// The result of one of these calls.
    Either(Vec<CallPattern>, TextSpan),
}

/// A number. Floats are compared by their bits.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// An integer.
    Int(i64),
    /// A float, which is finite.
    Float(f64),
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits(),
            _ => false,
        }
    }
}

impl Number {
    /// The value as a float, rounded if it is a large integer.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

/// A literal.
#[derive(Clone, PartialEq, Debug)]
pub enum Literal {
    /// A number.
    Number(Number),
    /// A string.
    String(String),
    /// A list.
    List(Vec<Literal>),
}

/// A value of the right side.
#[derive(Clone, PartialEq, Debug)]
pub enum NewValue {
    /// A variable.
    Var(Name),
    /// A scalar constant.
    Number(Number, TextSpan),
    /// A constant vector.
    List(Vec<Computation>, TextSpan),
    /// An absent argument, or a result that is not used.
    Absent(TextSpan),
    /// All values of a variable.
    Rest(Name),
    /// The constant that a call of constants gives.
    Eval(Box<NewValue>, TextSpan),
    /// A call.
    Call {
        /// The operator.
        op: OpName,
        /// Attributes.
        attrs: Vec<Setting>,
        /// Arguments.
        args: Vec<NewValue>,
    },
    /// A call like the one that a variable names.
    Like {
        /// The variable.
        call: Name,
        /// Attributes that replace or join its own.
        attrs: Vec<Setting>,
        /// Arguments.
        args: Vec<NewValue>,
    },
}

/// An attribute of a call on the right side.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// The attribute's name.
    pub key: Name,
    /// Its value.
    pub value: Computation,
}

/// A computation.
#[derive(Clone, PartialEq, Debug)]
pub enum Computation {
    /// A number.
    Number(Number, TextSpan),
    /// A string.
    String(String, TextSpan),
    /// A variable, or the name of an element type.
    Var(Name),
    /// A function of its arguments.
    Call(Name, Vec<Computation>),
    /// A list.
    List(Vec<Computation>, TextSpan),
    /// The negative of a number.
    Neg(Box<Computation>, TextSpan),
    /// An operation on two numbers.
    Binary(Operation, Box<(Computation, Computation)>),
}

impl Computation {
    /// Its place.
    pub fn span(&self) -> TextSpan {
        match self {
            Self::Number(_, span) | Self::String(_, span) | Self::List(_, span) | Self::Neg(_, span) => *span,
            Self::Var(name) | Self::Call(name, _) => name.span,
            Self::Binary(_, sides) => TextSpan { start: sides.0.span().start, end: sides.1.span().end },
        }
    }
}

/// An operation on two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// The sum.
    Add,
    /// The difference.
    Sub,
    /// The product.
    Mul,
    /// The quotient.
    Div,
}

/// A condition.
#[derive(Clone, PartialEq, Debug)]
pub enum Condition {
    /// A comparison.
    Compare(Computation, Comparison, Computation),
    /// The value is one of a list.
    In(Computation, Vec<Computation>),
    /// A function of values.
    Holds(Name, Vec<Name>),
}

impl Condition {
    /// Where it begins.
    pub fn span(&self) -> TextSpan {
        match self {
            Self::Compare(left, ..) | Self::In(left, _) => left.span(),
            Self::Holds(name, _) => name.span,
        }
    }
}

/// A comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}
