//! Values with the words by which they were given.

/// A value with the argument that gave it, by which errors point at it: `--rule[0]` of a command line, `rules[0]` of a
/// program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Argument<T = String> {
    /// The name of the argument.
    pub origin: String,
    /// The value.
    pub value: T,
}

impl<T> Argument<T> {
    /// The value of an argument.
    pub fn new(origin: &str, value: T) -> Self {
        Self { origin: origin.to_owned(), value }
    }

    /// The values of an argument that is given several times.
    pub fn each(origin: &str, values: impl IntoIterator<Item = T>) -> Vec<Self> {
        values.into_iter().map(|value| Self::new(origin, value)).collect()
    }

    /// The same, each with its number.
    pub fn numbered(origin: &str, values: impl IntoIterator<Item = T>) -> Vec<Self> {
        values.into_iter().enumerate().map(|(at, value)| Self { origin: format!("{origin}[{at}]"), value }).collect()
    }
}

/// A text that a program asks for; errors quote it.
impl From<&str> for Argument {
    fn from(value: &str) -> Self {
        Self::new("the request", value.to_owned())
    }
}
