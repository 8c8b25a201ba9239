//! Properties of the text form and the verifier, on random modules.

use crate::{
    ship::{Exchange, Ship},
    text::{self, Large, PrintOptions, SideFile},
    wild::{self, Tape},
    *,
};
use proptest::{collection::vec, prelude::*};

/// The last place at or before `at` where a character begins.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

fn shown<T: std::fmt::Display>(faults: &[T]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Everything that can be done with a function that the verifier accepts.
fn use_all(function: &Function) {
    let text = text::print_function("f", function, &PrintOptions::default());
    assert!(!text.is_empty());
    equal_functions(function, function).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_printed_is_read_back(bytes in vec(any::<u8>(), 0..600)) {
        let module = wild::module(&mut Tape::new(&bytes));
        let faults = verify(&module);
        prop_assert!(faults.is_empty(), "{}", shown(&faults));
        let printed = text::print(&module, &PrintOptions::default());
        let again = match text::parse_str(&printed) {
            Ok(again) => again,
            Err(errors) => return Err(TestCaseError::fail(format!("{}\n{printed}", shown(&errors)))),
        };
        if let Err(difference) = equal(&module, &again) {
            return Err(TestCaseError::fail(format!("{difference}\n{printed}")));
        }
        let faults = verify(&again);
        prop_assert!(faults.is_empty(), "{}", shown(&faults));
        prop_assert_eq!(&printed, &text::print(&again, &PrintOptions::default()));
    }

    #[test]
    fn a_side_file_is_read_back(bytes in vec(any::<u8>(), 0..600)) {
        let module = wild::module(&mut Tape::new(&bytes));
        let options = PrintOptions { large: Large::SideFile, inline_elements: 0, ..PrintOptions::default() };
        let mut printed = String::new();
        let tensors = text::print_to(&module, &options, &mut printed).unwrap();
        let side_file = SideFile::from_tensors(tensors);
        let again = text::parse("text", &printed, &side_file).unwrap();
        if let Err(difference) = equal(&module, &again) {
            return Err(TestCaseError::fail(format!("{difference}\n{printed}")));
        }
    }

    #[test]
    fn the_verifier_survives_anything(
        bytes in vec(any::<u8>(), 0..600),
        words in vec((any::<usize>(), prop_oneof![any::<u32>(), 0u32..40]), 1..4),
        strings in vec((any::<usize>(), any::<u8>()), 0..2),
    ) {
        let module = wild::module(&mut Tape::new(&bytes));
        let mut function = (**module.main().unwrap()).clone();
        for (at, value) in words {
            function.corrupt_word(at, value);
        }
        for (at, value) in strings {
            function.corrupt_byte(at, value);
        }
        let faults = verify_function(&function, Some(&module));
        shown(&faults);
        if faults.is_empty() {
            use_all(&function);
        } else if !faults.iter().any(|fault| fault.code.as_str().starts_with("V0")) {
            // Broken as a program, but readable: a message may show all of it.
            text::print_function("f", &function, &PrintOptions::default());
        }
    }

    #[test]
    fn what_is_shipped_comes_back(bytes in vec(any::<u8>(), 0..600)) {
        let module = wild::module(&mut Tape::new(&bytes));
        let printed = text::print(&module, &PrintOptions::default());
        let ship = Ship::module(&module);
        // Nothing is known of it: none of its functions is one that was sent.
        let again = ship.module_back(ship.bytes(), &IRModule::new(), |_| {}).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(&printed, &text::print(&again, &PrintOptions::default()));
        prop_assert!(equal(&module, &again).is_ok());
        let faults = verify(&again);
        prop_assert!(faults.is_empty(), "{}", shown(&faults));
        // As it is known: they are the same objects.
        let again = ship.module_back(ship.bytes(), &module, |_| {}).unwrap();
        prop_assert!(module.globals().iter().zip(again.globals()).all(|(before, after)| before.is_same(after)));
        for (_, function) in module.bodies() {
            let ship = Ship::function(function);
            let again = ship.function_back(ship.bytes(), function, |_| panic!("nothing has changed")).unwrap();
            prop_assert!(equal_functions(function, &again).is_ok());
            prop_assert!(Ship::function(&again).bytes() == ship.bytes());
            // It can be changed: what was interned is found, and what is new is added.
            let mut again = again;
            for (id, op) in function.ops().iter().enumerate() {
                let [domain, name, overload] = [op.domain, op.name, op.overload].map(|id| function.str(id));
                prop_assert_eq!(again.add_op(domain, name, overload, op.version), OpId(id as u32));
            }
            for id in (0..function.n_types()).map(TypeId::from_index) {
                prop_assert_eq!(again.add_type(again.clone().ty(id)), id);
            }
        }
    }

    #[test]
    fn both_ends_of_an_exchange_have_the_same(bytes in vec(any::<u8>(), 0..600)) {
        let module = wild::module(&mut Tape::new(&bytes));
        let (mut here, mut there) = (Exchange::default(), Exchange::default());
        let tell = |from: &Exchange, to: &mut Exchange| {
            let new: Vec<Blob> = from.shared()[to.shared().len()..].iter().map(|blob| Blob::from(&**blob)).collect();
            new.into_iter().for_each(|blob| to.add(blob));
        };
        let sent = here.ship_module(&module);
        tell(&here, &mut there);
        let read = there.module(&sent).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert!(equal(&module, &read).is_ok());
        // It is shipped as it came, and is what was sent.
        let back = there.ship_module(&read);
        prop_assert!(back == sent && here.shared().len() == there.shared().len());
        let again = here.module_back(&back, (&module, &sent), |_| {}).unwrap();
        prop_assert!(module.globals().iter().zip(again.globals()).all(|(before, after)| before.is_same(after)));
        for (_, function) in module.bodies() {
            let sent = here.ship_function(function);
            tell(&here, &mut there);
            let mut read = there.function(&sent).unwrap();
            // With another constant, those that were sent are still known, with the bytes that they were read from.
            let n_constants = function.n_constants();
            read.add_constant(Tensor::from_i64(&[4], &[1, 2, 3, 4]), ConstForm::ANY);
            let back = there.ship_function(&read);
            tell(&there, &mut here);
            // An answer says all that it says, and types and values, too.
            let answer = here.answer(&back, (function, &sent)).unwrap();
            prop_assert!(here.ship_function(&answer) == back);
            let again = here.function_back(&back, (function, &sent), |_| {}).unwrap();
            for id in (0..n_constants).map(ConstId::from_index) {
                let [before, after] = [function, &again].map(|f| f.tensor(id));
                prop_assert!(before.is_same(after));
            }
        }
    }

    #[test]
    fn what_comes_back_damaged_is_refused_or_can_be_used(
        bytes in vec(any::<u8>(), 0..300),
        damage in vec((any::<prop::sample::Index>(), prop_oneof![any::<u32>(), 0u32..40]), 1..4),
        cut in prop_oneof![4 => Just(None), 1 => any::<prop::sample::Index>().prop_map(Some)],
    ) {
        let module = wild::module(&mut Tape::new(&bytes));
        let function = module.main().unwrap();
        let (ship, whole) = (Ship::function(function), Ship::module(&module));
        for (ship, is_module) in [(ship, false), (whole, true)] {
            let mut back = ship.bytes().to_vec();
            for (at, word) in &damage {
                let at = at.index(back.len() / 4) * 4;
                back[at..at + 4].copy_from_slice(&word.to_le_bytes());
            }
            back.truncate(cut.map_or(back.len(), |cut| cut.index(back.len())));
            let read = if is_module {
                ship.module_back(&back, &module, |_| {})
            } else {
                ship.function_back(&back, function, |_| {}).map(|f| {
                    let mut module = module.clone();
                    module.set_function(MAIN, f);
                    module
                })
            };
            let Ok(read) = read else { continue };
            let faults = verify(&read);
            prop_assert!(!faults.iter().any(|fault| fault.code.as_str().starts_with("V0")), "{}", shown(&faults));
            text::print(&read, &PrintOptions::default());
        }
    }

    #[test]
    fn the_parser_survives_anything(
        bytes in vec(any::<u8>(), 0..300),
        edits in vec((any::<prop::sample::Index>(), 0usize..4, "[-%@#$\\[\\](){};:,=\"a-z0-9 _.\\\\]{0,3}"), 1..5),
        end in any::<prop::sample::Index>(),
    ) {
        let module = wild::module(&mut Tape::new(&bytes));
        let mut printed = text::print(&module, &PrintOptions::default());
        for (at, len, with) in edits {
            let at = boundary(&printed, at.index(printed.len() + 1));
            let end = boundary(&printed, (at + len).min(printed.len())).max(at);
            printed.replace_range(at..end, &with);
        }
        if end.index(4) == 0 {
            printed.truncate(boundary(&printed, end.index(printed.len() + 1)));
        }
        match text::parse_str(&printed) {
            Ok(module) => {
                let printed = text::print(&module, &PrintOptions::default());
                let mut faults = verify(&module);
                faults.retain(|fault| fault.code.as_str().starts_with("V0") && fault.code != FaultCode::Utf8);
                prop_assert!(faults.is_empty(), "{}", shown(&faults));
                prop_assert!(!printed.contains('\0'));
            }
            Err(errors) => prop_assert!(!errors.is_empty() && errors.len() <= 21),
        }
    }

    #[test]
    fn tokens_in_any_order(tokens in vec(prop::sample::select(&TOKENS[..]), 0..60)) {
        let text = format!("def @main(%x, %y) {{ {}", tokens.join(" "));
        let _ = text::parse_str(&text);
        let _ = text::parse_str(&tokens.join(""));
    }
}

const TOKENS: [&str; 44] = [
    "def @f(",
    "prim @p",
    "%x",
    "%y",
    "%3",
    "%4",
    "let",
    "=",
    ";",
    ",",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    "->",
    "if (",
    "else",
    "fn(",
    "const(",
    "splat(",
    "float32",
    "int4",
    "1",
    "-2.5",
    "nan",
    "hex\"00\"",
    "#[",
    "form",
    "initializer",
    "opset",
    "Tensor[(",
    "Tuple[",
    "Relu(",
    "com.x::Conv@11(",
    "axis",
    "@main(",
    "_",
    "&Relu",
    "$r: int",
    "\"s\"",
    "?",
];
