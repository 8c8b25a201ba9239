//! The default values of attributes of ONNX's own operators, by version.

mod table;

/// A default value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum DefaultValue {
    /// A float.
    Float(f32),
    /// An integer.
    Int(i64),
    /// A string.
    Str(&'static str),
    /// Integers.
    Ints(&'static [i64]),
    /// Strings.
    Strs(&'static [&'static str]),
}

/// Returns the default value of an attribute in a version of an operator, if it has one. In versions before the first one
/// that says a default, the operator did by itself what that says.
pub fn value(op: &str, attr: &str, version: i64) -> Option<DefaultValue> {
    let first = table::ALL.partition_point(|row| (row.0, row.1) < (op, attr));
    let rows = table::ALL[first..].iter().take_while(|row| (row.0, row.1) == (op, attr));
    let mut rows = rows.map(|&(.., since, value)| (since, value));
    let (_, mut found) = rows.next()?;
    for (_, value) in rows.take_while(|&(since, _)| since <= version) {
        found = value;
    }
    Some(found)
}

/// Returns the default of a float attribute.
pub fn float(op: &str, attr: &str, version: i64) -> Option<f32> {
    if let DefaultValue::Float(value) = value(op, attr, version)? { Some(value) } else { None }
}

/// Returns the default of an integer attribute.
pub fn int(op: &str, attr: &str, version: i64) -> Option<i64> {
    if let DefaultValue::Int(value) = value(op, attr, version)? { Some(value) } else { None }
}

/// Returns the default of a string attribute.
pub fn str(op: &str, attr: &str, version: i64) -> Option<&'static str> {
    if let DefaultValue::Str(value) = value(op, attr, version)? { Some(value) } else { None }
}

/// Returns the default of an attribute that is a list of integers.
pub fn ints(op: &str, attr: &str, version: i64) -> Option<&'static [i64]> {
    if let DefaultValue::Ints(value) = value(op, attr, version)? { Some(value) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_is_that_of_the_version() {
        assert_eq!(
            [1, 5, 6, 22].map(|version| float("Selu", "gamma", version)),
            [1.0507, 1.0507, 1.050_701, 1.050_701].map(Some)
        );
        assert_eq!([1, 11, 12, 13].map(|version| int("Softmax", "axis", version)), [1, 1, 1, -1].map(Some));
        assert_eq!(str("Resize", "mode", 19), Some("nearest"));
        assert_eq!(ints("MeanVarianceNormalization", "axes", 13), Some(&[0, 2, 3][..]));
        assert_eq!(value("RNN", "activations", 7), Some(DefaultValue::Strs(&["Tanh", "Tanh"])));
    }

    #[test]
    fn an_attribute_without_a_default_has_none() {
        assert_eq!(value("TopK", "k", 1), None);
        assert_eq!(value("Relu", "alpha", 14), None);
        assert_eq!(value("NoSuch", "alpha", 1), None);
        // Of another kind, there is none.
        assert_eq!(float("Softmax", "axis", 13), None);
    }

    #[test]
    fn what_a_version_does_not_have_yet_is_as_where_it_begins() {
        assert_eq!(int("Resize", "antialias", 11), Some(0));
        assert_eq!(int("ReduceMax", "noop_with_empty_axes", 1), Some(0));
        assert_eq!(float("Clip", "max", 1), Some(f32::MAX));
    }

    #[test]
    fn rows_are_sorted() {
        assert!(table::ALL.is_sorted_by_key(|row| (row.0, row.1, row.2)));
    }
}
