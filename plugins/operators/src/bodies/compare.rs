//! Comparisons.

pub const GREATER_OR_EQUAL: &str = r#"def @GreaterOrEqual(%a, %b) #[opset = {"": 16}] {
    %g = Greater(%a, %b); %e = Equal(%a, %b); Or(%g, %e)
}"#;

pub const LESS_OR_EQUAL: &str = r#"def @LessOrEqual(%a, %b) #[opset = {"": 16}] {
    %l = Less(%a, %b); %e = Equal(%a, %b); Or(%l, %e)
}"#;
