use relais_plugin_api::prelude::*;

// Each `x` makes four lines of one.
macro_rules! long {
    (x $($more:ident)*; $($line:tt)*) => {
        long! { $($more)*; $($line)* $($line)* $($line)* $($line)* }
    };
    (; $($line:tt)*) => {
        $(#[doc = $line])*
        #[module_pass(name = "acme.Long")]
        fn long(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
            Ok(())
        }
    };
}

long! { x x x x x; " sixty-four bytes of documentation, of which there are 1,024 lines" }

const LETTERS: [u8; 64 * 1024] = [b'a'; 64 * 1024];

const TEXT: &str = match std::str::from_utf8(&LETTERS) {
    Ok(text) => text,
    Err(_) => "",
};

operators! { &[Operator::new("acme", "Gelu", 1).doc(TEXT)] }

fn main() {}
