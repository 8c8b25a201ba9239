//! The passes of a program that embeds the host.

use relais::{
    ir::{Function, IRModule},
    plugin::{Policy, WritableFiles, discover},
    registry::{Choices, Linked, Registry},
    transform::Pass,
};
use relais_plugin_api::text;
use std::env;

/// The plugins whose files `EMBEDDER_PLUGINS` lists.
pub fn registry() -> Registry {
    let files: Vec<_> = env::split_paths(&env::var_os("EMBEDDER_PLUGINS").expect("it lists plugins")).collect();
    let found = discover(&[], &files, Policy { writable: WritableFiles::Allow });
    let registry = Registry::new(found, Linked::Exclude, &Choices::new());
    assert_eq!(registry.refused(), []);
    registry
}

/// Parses a module.
pub fn parse(text: &str) -> IRModule {
    text::parse_str(text).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// Prints a module.
pub fn print(module: &IRModule) -> String {
    text::print(module, &Default::default())
}

/// `x + x` and then a sum of constants, some of it computed twice and some of it unused.
pub fn example() -> IRModule {
    parse(
        "def @main(%x: Tensor[(1, 3), float32]) -> Tensor[(1, 3), float32] #[opset = {\"\": 17}] {
  %c = const(float32, [1.0, 2.0, 3.0]);
  %y0 = Add(%c, %c);
  %y1 = Add(%x, %y0);
  %y2 = Add(%x, %y0);
  %unused = Mul(%y2, %c);
  %z = Add(%y1, %y2);
  %z
}
",
    )
}

/// A pass that puts a function in the place of each that it is shown: several may be made, with other functions.
pub fn replace_func(new: Function) -> Pass {
    Pass::function("TestReplaceFunc", 1, move |_, _, _| Ok(Some(new.clone())))
}
