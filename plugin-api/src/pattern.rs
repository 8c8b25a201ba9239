//! Rules as text: `docs/patterns.md` of Relais describes the language.
//!
//! ```
//! use relais_plugin_api::{prelude::*, testing};
//!
//! operators! { &[Operator::new("acme", "Neg", 1)] }
//!
//! /// Removes two negations.
//! #[rule_pass(name = "acme.NoNegNeg", required = [])]
//! const NEG_NEG: &str = "acme::Neg(acme::Neg(x)) => x";
//!
//! # fn main() {
//! let text = r#"def @main(%x) #[opset = {"acme": 1}] { %a = acme::Neg(%x); %b = acme::Neg(%a); Abs(%b) }"#;
//! assert!(testing::run("acme.NoNegNeg", text).contains("Abs(%x)"));
//! # }
//! ```
//!
//! A pass that makes its rules, or does more than they say, uses [`Rules`]. They are parsed once. [`apply`] compiles
//! them for the operator sets that a function imports, and rewrites the function by one matcher for all rules, which
//! looks at each call once.
//!
//! ```
//! use relais_plugin_api::{pattern::{self, Rules}, prelude::*, testing};
//!
//! operators! { &[Operator::new("acme", "Neg", 1)] }
//!
//! /// Removes two negations.
//! #[function_pass(name = "acme.Remove")]
//! fn remove(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
//!     let rules = Rules::parse("rules", &["acme::Neg(acme::Neg(x)) => x"])?;
//!     pattern::apply(edit, cx, &rules).map(|_| ())
//! }
//!
//! # fn main() {
//! let text = r#"def @main(%x) #[opset = {"acme": 1}] { %a = acme::Neg(%x); %b = acme::Neg(%a); Abs(%b) }"#;
//! assert!(testing::run("acme.Remove", text).contains("Abs(%x)"));
//! # }
//! ```
//!
//! A condition can be a function, which stands beside the rule and is named by it:
//!
//! ```
//! use relais_plugin_api::{pattern::{Unmet, Matched}, prelude::*, testing};
//!
//! operators! { &[Operator::new("acme", "Repeat", 1).inputs(2, 2)] }
//!
//! /// Repeats half as often what is repeated twice.
//! #[rule_pass(name = "acme.Halve", required = [], conditions = [is_even])]
//! const HALVE: &str = "acme::Repeat(x, const n) => acme::Twice(x, n) if is_even(n)";
//!
//! fn is_even(found: &Matched<'_>, _: &RewriteCx<'_>) -> Result<(), Unmet> {
//!     match found.constant(0)?.to_i64() {
//!         Some(n) if n % 2 == 0 => Ok(()),
//!         Some(n) => Err(format!("{n} is odd").into()),
//!         None => Err("it is not an integer".into()),
//!     }
//! }
//!
//! # fn main() {
//! let text = |n| format!("def @main(%x) #[opset = {{\"acme\": 1}}] {{ acme::Repeat(%x, const(int64, (), [{n}])) }}");
//! assert!(testing::run("acme.Halve", &text(4)).contains("Twice"));
//! assert!(testing::run("acme.Halve", &text(5)).contains("Repeat"));
//! # }
//! ```

#[doc(inline)]
pub use relais_boundary::rules::{apply, check, check_module};
#[doc(inline)]
pub use relais_ops::pattern::*;
