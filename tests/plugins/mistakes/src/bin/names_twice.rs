use relais_plugin_api::prelude::*;

#[module_pass(name = "acme.Tidy")]
fn tidy(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[derive(Default)]
struct Watch;

#[instrument(name = "acme.Watch")]
impl Instrument for Watch {}

config_option! { "acme.depth": i64, default = 1, doc = "How deep." }

pipeline! { name = "acme.release", toml = "steps = [\"acme.Tidy\"]" }

operators! { &[Operator::new("acme", "Gelu", 1).doc("Of one module."), Operator::new("acme", "Gelu", 2)] }

/// The compiler sees names in all modules of a crate.
mod other {
    use super::*;

    #[function_pass(name = "acme.Tidy")]
    fn tidy(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
        Ok(())
    }

    /// A pass that repeats its own name repeats nothing of others.
    #[function_pass(name = "acme.Other", aliases = ["acme.Other", "acme.Tidy"])]
    fn other(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
        Ok(())
    }

    #[derive(Default)]
    struct Watch;

    #[instrument(name = "acme.Watch")]
    impl Instrument for Watch {}

    #[derive(Default)]
    struct OtherWatch;

    /// Another kind of thing may have the name of a pass.
    #[instrument(name = "acme.Tidy")]
    impl Instrument for OtherWatch {}

    config_option! { "acme.depth": i64, default = 2, doc = "How deep." }

    pipeline! { name = "acme.release", toml = "steps = []" }

    operators! { &[Operator::new("acme", "Gelu", 1).doc("Of another module.")] }
}

fn main() {}
