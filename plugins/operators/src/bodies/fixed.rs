//! Bodies that are right for every call, in the text form.

pub const HARD_SWISH: &str = r#"def @HardSwish(%x) #[opset = {"": 22}] {
    %h = HardSigmoid(%x, alpha = 0.16666667, beta = 0.5); Mul(%x, %h)
}"#;

pub const MISH: &str = r#"def @Mish(%x) #[opset = {"": 22}] {
    %s = Softplus(%x); %t = Tanh(%s); Mul(%x, %t)
}"#;

pub const GREATER_OR_EQUAL: &str = r#"def @GreaterOrEqual(%a, %b) #[opset = {"": 16}] {
    %g = Greater(%a, %b); %e = Equal(%a, %b); Or(%g, %e)
}"#;

pub const LESS_OR_EQUAL: &str = r#"def @LessOrEqual(%a, %b) #[opset = {"": 16}] {
    %l = Less(%a, %b); %e = Equal(%a, %b); Or(%l, %e)
}"#;
