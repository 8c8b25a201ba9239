//! Rules as pairs of functions.

use relais_patterns::{OpName, Rule, pairs, parse, print};

const PAGE: &str = include_str!("../../../../docs/patterns.md");

/// Attributes whose kinds the tests know: of all operators.
fn kinds(_: &OpName, key: &str) -> Option<u8> {
    match key {
        "alpha" => Some(1),
        "axis" => Some(2),
        "mode" => Some(3),
        "scales" => Some(6),
        "perm" | "axes" => Some(7),
        _ => None,
    }
}

fn rules(text: &str) -> Vec<Rule> {
    parse(text).unwrap_or_else(|faults| panic!("{text}: {}", faults[0].render(text)))
}

/// Writes rules as functions and reads them again, and returns their text, or the fault of the first one.
fn round_trip(text: &str) -> Result<String, String> {
    let faults = |faults: Vec<pairs::PairFault>| format!("{}\n  {}", faults[0], faults[0].help);
    let file = pairs::write(&rules(text), &kinds).map_err(faults)?;
    let read = pairs::read(&file).unwrap_or_else(|found| panic!("{text} cannot be read again: {}", faults(found)));
    assert_eq!(file, pairs::write(&read, &kinds).expect("it was written before"), "{text}");
    Ok(print(&read))
}

#[test]
fn what_functions_can_say_is_read_again_as_it_was_written() {
    for text in [
        "silu: Mul(x, Sigmoid(x)) => acme::Silu(x)",
        "absent: Clip(Relu(x), none, hi) => Clip(x, 0.0, hi)",
        "passes: Neg(Neg(x)) => x",
        "opset: @13 Neg(Neg(x)) => x",
        "both: Add(x, x) => Mul(x, 2.0)",
        "lists: Transpose{perm = [1, 0]}(Reshape(x, [2, 3])) => Reshape(Transpose{perm = [1, 0]}(x), [3, 2])",
        "one: Mul(x, [1.0]) => x",
        "empty: Reshape(x, []) => Squeeze(x)",
        "attrs: Softmax{axis = a}(LogSoftmax{axis = a}(x)) => Softmax{axis = a}(x)",
        "kinds: a.b::F{i = -3, f = 0.1, s = \"a\\\"b\", fs = [1.5, -0.0], is = [1, 2], ss = [\"x\"]}(x) => Neg(x)",
        "float: F{alpha = a}(x) => G{alpha = a, beta = 1e-7}(x)",
        "quoted: \"a-b/c\"::F(x) => x",
        "second: Relu(Split{axis = 0}(x)[1]) => acme::SecondRelu(x)",
        "results: acme::SinCos(x) => (Sin(x), Cos(x))",
        "skipped: acme::SinCos(x) => (none, Cos(x))",
        "swapped: acme::Swap(x, y) => (y, x)",
        "shared: Mul(Relu(x) as t, t) => acme::SquaredRelu(x)",
        "deep: Add(Mul(Abs(x) as t, y), t) => Mul(Abs(x), Add(y, 1.0))",
        "large: Add(x, 9223372036854775807) => Sub(x, -9223372036854775808)",
        "digits: Mul(x, 0.70710677) => Div(x, 1.4142135)",
        "a.b: Neg(y1) => Abs(y1); t1: Abs(Abs(t1)) => Abs(t1); c: Add(c1, 1.0) => Sub(c1, -1.0)",
        "name: Clip{axis = x}(Neg(y), v1) => Clip{axis = x}(y, v1)",
        "one_call: (s = Sin(x), c = Cos(x)) => acme::SinCos(x)",
        "several: (a = Neg(x), b = Abs(x), c = Relu(x)) => (x, Neg(Abs(x)), x)",
        "used: (sum = Add(x, y), z = Relu(sum)) => (acme::Sum(x, y), acme::ReluSum(x, y))",
        "used_before: (z = Relu(Neg(sum)), sum = Add(x, y)) => (acme::ReluSum(x, y), acme::Sum(x, y))",
        "results: (p = Relu(Split{axis = a}(x)), q = acme::Pair(x, 1.0)[1]) => Split{axis = a}(Relu(x))",
        "inner: (p = Neg(Abs(y1) as t), q = Relu(t)) => (y1, y1)",
    ] {
        assert_eq!(round_trip(text), Ok(print(&rules(text))));
    }
}

#[test]
fn a_rule_without_a_name_gets_one() {
    let read = round_trip("rule_1: Abs(Abs(x)) => Abs(x); Neg(Neg(x)) => x; Neg(Abs(x)) => Neg(x)");
    assert_eq!(
        read.as_deref(),
        Ok("rule_1: Abs(Abs(x)) => Abs(x);\nrule_2: Neg(Neg(x)) => x;\nrule_3: Neg(Abs(x)) => Neg(x)")
    );
    assert!(round_trip("Abs(Abs(x)) => Abs(x); rule_1: Neg(Neg(x)) => x").unwrap().starts_with("rule_2: Abs"));
}

#[test]
fn what_functions_cannot_say_is_refused_by_name() {
    for (text, expected) in [
        ("a: Neg(x) => x if rank(x) == 1", "rule `a`: functions cannot say condition `rank(x) == 1`"),
        ("(Neg(x) | Abs(x)) => x", "rule `rule_1`: functions cannot say alternatives"),
        ("Neg((Neg(x) | Abs(x))) => x", "functions cannot say alternatives"),
        ("Neg(Neg(x)!) => x", "that the result of `Neg` may have other users: `!`"),
        ("Neg(Neg@13(x)) => x", "the versions of one call, `Neg`"),
        ("Softmax{axis = 1, ..}(x) => x", "that other attributes of `Softmax` may have any value: `..`"),
        ("Softmax{axis = _}(x) => x", "that attribute `axis` has any value or none"),
        ("Mul(x, _) => x", "functions cannot say `_`: give the value a name"),
        ("Clip(x, ?lo) => x", "`?lo`, which may be absent"),
        ("Concat(..all) => Sum(..all)", "`..all`, which stands for several values"),
        ("Mul(x, const c) => x", "that `c` is a constant"),
        ("Mul(x, const c splat) => x", "that `c` is a constant"),
        ("Mul(x, 2.0 ~ 1e-3) => x", "the tolerance of 2.0"),
        ("Mul(x, [1, 2.0]) => x", "a list of integers and floats"),
        (
            "Mul(x, 0.7071067811865475) => x",
            "0.7071067811865475 has more digits than float32\n  functions have constants of float32: write 0.70710677",
        ),
        ("Mul(x, 1e300) => x", "1e300 has more digits than float32"),
        (
            "Elu{alpha = 1}(x) => x",
            "attribute `alpha` of `Elu` is not 1: it is of another kind\n  a float has a point: `1.0`",
        ),
        ("F{a = [[1]]}(x) => x", "[[1]], a list of lists"),
        ("F{a = [1, \"x\"]}(x) => x", "[1, \"x\"], a list of several kinds"),
        ("Constant{value_float = 1.0}() => F()", "a pattern of a constant that is a call"),
        ("F() => Neg(Constant{value_float = 1.0}())", "a constant that is a call: write its numbers"),
        ("Sub(x, x) => 0.0", "`0.0` in place of the whole pattern, whose type it takes"),
        ("Abs(x) => Identity(x)", "that a variable is handed on by a call: write the variable alone"),
        ("Abs(Neg(x) as n) => Relu(n)", "`n` on the right side, the result of a call"),
        ("Abs(Neg(x) as n) => like n(x)", "`like n`"),
        ("Elu{alpha = a}(x) => Elu{alpha = a * 2}(x)", "attribute `alpha = a * 2`, which is computed"),
        ("Cast(x) => Cast{to = float16}(x)", "attribute `to = float16`, which is computed"),
        ("Add(Neg(t), Abs(x) as t) => x", "`t` before the call that it names: write `as t` there first"),
        ("Add(Neg(x) as t, Neg(x) as t) => x", "that `t` is the result of two calls"),
        ("(p = Add(x, q), q = Neg(p)) => (x, x)", "that outermost calls use one another"),
    ] {
        let fault = round_trip(text).expect_err(text);
        assert!(fault.contains(expected), "{text}: {fault}");
    }
    let all =
        pairs::write(&rules("Neg(x!) => x; Mul(x, _) => x; Abs(Abs(x)) => Abs(x)".replace("x!", "x").as_str()), &kinds);
    assert!(all.is_err(), "one rule that cannot be written is enough");
}

#[test]
fn the_rules_of_the_page_survive_or_are_refused() {
    let mut n_written = 0;
    for block in PAGE.split("```rules\n").skip(1).filter_map(|rest| rest.split("```").next()) {
        for (index, rule) in rules(block).into_iter().enumerate() {
            let named =
                Rule { name: rule.name.clone().or(rules(&format!("rule_{index}: A(x) => x"))[0].name.clone()), ..rule };
            if let Ok(file) = pairs::write(std::slice::from_ref(&named), &kinds) {
                assert_eq!(pairs::read(&file), Ok(vec![named]));
                n_written += 1;
            }
        }
    }
    assert!(n_written >= 9, "{n_written}");
}

/// The bytes of files, from their fields.
mod make {
    pub fn bytes(number: u8, bytes: &[u8]) -> Vec<u8> {
        assert!(bytes.len() < 1 << 14 && number < 32);
        let mut field = if number < 16 { vec![number << 3 | 2] } else { vec![(number << 3 | 2) | 0x80, number >> 4] };
        field.extend([bytes.len() as u8 | 0x80, (bytes.len() >> 7) as u8]);
        field.extend(bytes);
        field
    }

    pub fn int(number: u8, value: u8) -> Vec<u8> {
        let mut field = if number < 16 { vec![number << 3] } else { vec![(number << 3) | 0x80, number >> 4] };
        field.push(value);
        field
    }

    /// A node as `y = domain.Op(x, z)`, with attributes.
    pub fn node(text: &str, attrs: &[Vec<u8>]) -> Vec<u8> {
        let (outputs, call) = text.split_once(" = ").unwrap();
        let (op, inputs) = call.strip_suffix(')').unwrap().split_once('(').unwrap();
        let (domain, op) = op.rsplit_once('.').unwrap_or(("", op));
        let list = |text: &str, number| -> Vec<u8> {
            let items = text.split(',').map(str::trim).filter(|_| !text.is_empty());
            items.flat_map(|item| bytes(number, item.as_bytes())).collect()
        };
        let attrs = attrs.iter().flat_map(|attr| bytes(5, attr)).collect();
        [list(inputs, 1), list(outputs, 2), bytes(4, op.as_bytes()), bytes(7, domain.as_bytes()), attrs].concat()
    }

    /// A function as `name(x, y) => (z)`.
    pub fn function(head: &str, nodes: &[Vec<u8>]) -> Vec<u8> {
        function_of("rules", head, nodes, &[("", 1), ("acme", 1)])
    }

    pub fn function_of(domain: &str, head: &str, nodes: &[Vec<u8>], imports: &[(&str, u8)]) -> Vec<u8> {
        let (name, rest) = head.split_once('(').unwrap();
        let (inputs, outputs) = rest.strip_suffix(')').unwrap().split_once(") => (").unwrap();
        let list = |text: &str, number| -> Vec<u8> {
            text.split(", ").filter(|_| !text.is_empty()).flat_map(|item| bytes(number, item.as_bytes())).collect()
        };
        let nodes = nodes.iter().flat_map(|node| bytes(7, node)).collect();
        let import =
            |(domain, version): &(&str, u8)| bytes(9, &[bytes(1, domain.as_bytes()), int(2, *version)].concat());
        let imports = imports.iter().flat_map(import).collect();
        [bytes(1, name.as_bytes()), list(inputs, 4), list(outputs, 5), nodes, imports, bytes(10, domain.as_bytes())]
            .concat()
    }

    pub fn model(functions: &[Vec<u8>]) -> Vec<u8> {
        let functions: Vec<u8> = functions.iter().flat_map(|function| bytes(25, function)).collect();
        [int(1, 8), functions].concat()
    }

    /// A tensor of float32 in bytes.
    pub fn tensor(elem: u8, dims: &[u8], raw: &[u8]) -> Vec<u8> {
        let dims: Vec<u8> = dims.iter().flat_map(|&dim| int(1, dim)).collect();
        [dims, int(2, elem), bytes(9, raw)].concat()
    }

    pub fn attr(name: &str, kind: u8, value: Vec<u8>) -> Vec<u8> {
        [bytes(1, name.as_bytes()), value, int(20, kind)].concat()
    }
}

use make::{attr, bytes, function, function_of, int, model, node, tensor};

/// Reads a pair, and returns its rule or its fault.
fn read_pair(pattern: Vec<u8>, replacement: Vec<u8>) -> Result<String, String> {
    read(&[pattern, replacement])
}

fn read(functions: &[Vec<u8>]) -> Result<String, String> {
    match pairs::read(&model(functions)) {
        Ok(rules) => {
            let text = print(&rules);
            assert_eq!(parse(&text).as_ref(), Ok(&rules), "{text}");
            Ok(text)
        }
        Err(faults) => {
            assert!(faults.iter().all(|fault| !fault.help.is_empty()));
            Err(faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
        }
    }
}

fn abs_to(result: &str) -> Vec<u8> {
    node(&format!("{result} = Abs(x)"), &[])
}

fn abs() -> Vec<u8> {
    function("a_replacement(x) => (y)", &[node("y = Abs(x)", &[])])
}

#[test]
fn functions_of_other_tools_are_read() {
    let silu = function("silu_pattern(x.1) => (5)", &[node("a/b = Sigmoid(x.1)", &[]), node("5 = Mul(x.1, a/b)", &[])]);
    let with = function("silu_replacement(x.1) => (out)", &[node("out = acme.Silu(x.1)", &[])]);
    assert_eq!(read_pair(with, silu).as_deref(), Ok("silu: Mul(v1, Sigmoid(v1)) => acme::Silu(v1)"));
    // An input that is handed on without a node, outputs in another order, and an import of the long name.
    let pattern = function("p_pattern(x, if) => (b, a)", &[node("a, b = acme.Pair(x, if)", &[])]);
    let replacement = function("p_replacement(if, x) => (x, c)", &[node("c = Add(x, if)", &[])]);
    assert_eq!(read_pair(pattern, replacement).as_deref(), Ok("p: acme::Pair(x, v1) => (Add(x, v1), x)"));
    let long = [("ai.onnx", 18)];
    let pattern = function_of("d", "p_pattern(x) => (y)", &[node("y = ai.onnx.Neg(x)", &[])], &long);
    let replacement = function_of("d", "p_replacement(x) => (y)", &[node("y = Abs(x)", &[])], &[("", 18)]);
    assert_eq!(read_pair(pattern, replacement).as_deref(), Ok("p: @18 Neg(x) => Abs(x)"));
    // Several outermost calls; one uses the other, and they share a node.
    let nodes = [node("t = Exp(x)", &[]), node("a, 1 = acme.Pair(t, x)", &[]), node("y = Add(1, t)", &[])];
    let pattern = function("p_pattern(x) => (y, 1)", &nodes);
    let replacement = function("p_replacement(x) => (a, b)", &[node("a, b = acme.Both(x)", &[])]);
    assert_eq!(
        read_pair(pattern, replacement).as_deref(),
        Ok("p: (y = Add(v1, Exp(x) as t), v1 = acme::Pair(t, x)[1]) => acme::Both(x)")
    );
    // Constants in every form.
    for (constant, expected) in [
        (attr("value_float", 1, [&[0x15][..], &2f32.to_le_bytes()].concat()), "2.0"),
        (attr("value_int", 2, int(3, 2)), "2"),
        (attr("value_ints", 7, bytes(8, &[2, 3])), "[2, 3]"),
        (attr("value_floats", 6, bytes(7, &0.1f32.to_le_bytes())), "[0.1]"),
        (attr("value", 4, bytes(5, &tensor(1, &[], &2f32.to_le_bytes()))), "2.0"),
        (attr("value", 4, bytes(5, &[int(2, 7), int(7, 2)].concat())), "2"),
    ] {
        let nodes = [node("c = Constant()", &[constant]), node("y = Mul(x, c)", &[])];
        let read = read_pair(function("a_pattern(x) => (y)", &nodes), abs());
        assert_eq!(read, Ok(format!("a: Mul(x, {expected}) => Abs(x)")));
    }
}

#[test]
fn what_rules_cannot_say_is_refused_by_name() {
    let neg = || node("y = Neg(x)", &[]);
    let p = |nodes: &[Vec<u8>]| read_pair(function("a_pattern(x) => (y)", nodes), abs());
    let r = |nodes: &[Vec<u8>]| {
        read_pair(function("a_pattern(x) => (y)", &[neg()]), function("a_replacement(x) => (y)", nodes))
    };
    let with = |key: &str, kind, value| p(&[node("y = Neg(x)", &[attr(key, kind, value)])]);
    let constant = |value: Vec<u8>| {
        p(&[node("c = Constant()", &[attr("value", 4, bytes(5, &value))]), node("y = Mul(x, c)", &[])])
    };
    let deep = |n: usize| -> Vec<Vec<u8>> {
        let name = |at: usize| {
            if at == 0 {
                "x".to_owned()
            } else if at == n {
                "y".to_owned()
            } else {
                format!("t{at}")
            }
        };
        (0..n).map(|at| node(&format!("{} = Neg({})", name(at + 1), name(at)), &[])).collect()
    };
    let wide = node(&format!("y = Max({})", ["x"; 300].join(", ")), &[]);
    for (read, expected) in [
        (
            p(&[node("t = Neg(t)", &[]), node("y = Neg(t)", &[])]),
            "function `a_pattern`, node 0 (`Neg`): `t` is not known here",
        ),
        (p(&[node("x = Neg(x)", &[])]), "node 0 (`Neg`): `x` is computed twice"),
        (p(&[node("z = Neg(x)", &[])]), "function `a_pattern`: its output `y` is not computed"),
        (p(&[node("y = rules.a_replacement(x)", &[])]), "node 0 (`a_replacement`): it calls a function"),
        (p(&[node("y = rules.a_pattern(x)", &[])]), "node 0 (`a_pattern`): it calls a function"),
        (p(&[node("y = other.Neg(x)", &[])]), "node 0 (`Neg`): the function does not import domain `other`"),
        (p(&[node("y = N-g(x)", &[])]), "node 0 (`N-g`): `N-g` cannot be an operator"),
        (p(&[node("t = Neg(x)", &[]), neg()]), "node 0 (`Neg`): no output of the rule depends on it"),
        (p(&[node("c = Constant()", &[]), node("y = Add(x, c)", &[])]), "the constant is not stated as numbers"),
        (
            p(&[node("t, u = acme.Pair(x)", &[]), node("y = Add(t, u)", &[])]),
            "node 0 (`Pair`): several of its results are used",
        ),
        (p(&deep(70)), "its nodes are more than 64 deep"),
        (p(std::slice::from_ref(&wide)), "it has more than 256 parts"),
        (with("body", 5, bytes(6, &[])), "node 0 (`Neg`): attribute `body` is a graph"),
        (with("value", 4, bytes(5, &[])), "attribute `value` is a tensor"),
        (with("type", 13, bytes(14, &[])), "attribute `type` is of a kind that rules do not have"),
        (with("b-c", 2, int(3, 1)), "a rule cannot name attribute `b-c`"),
        (with("if", 2, int(3, 1)), "a rule cannot name attribute `if`"),
        (with("a", 1, [&[0x15][..], &f32::NAN.to_le_bytes()].concat()), "attribute `a` is not finite"),
        (with("a", 3, bytes(4, &[0xff])), "attribute `a` is of a kind that rules do not have"),
        (with("a", 2, bytes(21, b"b")), "attribute `a` refers to `b`, which the function lacks"),
        (
            constant(tensor(11, &[], &2f64.to_le_bytes())),
            "node 0 (`Constant`): the constant is neither of float32 nor of int64",
        ),
        (constant(tensor(1, &[1, 1], &2f32.to_le_bytes())), "the constant is not a scalar or a vector"),
        (constant(tensor(1, &[3], &2f32.to_le_bytes())), "the constant has not as many elements as its sizes say"),
        (constant(tensor(1, &[], &[1, 2])), "the constant has not as many bytes as its elements need"),
        (constant(tensor(1, &[], &f32::INFINITY.to_le_bytes())), "the constant is not finite"),
        (constant([tensor(1, &[], &[]), int(14, 1)].concat()), "the constant is in another file"),
        (
            r(&[node("t = Neg(x)", &[]), node("y = Mul(t, t)", &[])]),
            "function `a_replacement`, node 0 (`Neg`): its result is used twice",
        ),
        (r(&[node("s, t = acme.Pair(x)", &[]), node("y = Neg(t)", &[])]), "node 0 (`Pair`): its result 1 is used"),
        (
            r(&[node("y = Constant()", &[attr("value_int", 2, int(3, 1))])]),
            "node 0 (`Constant`): an output is a constant",
        ),
        (
            r(&[node("t = Abs(x)", &[]), neg()]),
            "function `a_replacement`, node 0 (`Abs`): no output of the rule depends on it",
        ),
        (r(&deep(70)), "function `a_replacement`: its nodes are more than 64 deep"),
        (r(&[wide]), "function `a_replacement`: it has more than 256 parts"),
    ] {
        assert!(read.as_ref().is_err_and(|fault| fault.contains(expected)), "{expected}: {read:?}");
    }
}

#[test]
fn functions_that_do_not_fit_each_other_are_refused() {
    let neg = || node("y = Neg(x)", &[]);
    let pattern = |head: &str| function(head, &[neg()]);
    let imports =
        |version, acme| function_of("rules", "a_pattern(x) => (y)", &[neg()], &[("", version), ("acme", acme)]);
    let defaults = [pattern("a_pattern(x) => (y)"), bytes(11, &[])].concat();
    for (read, expected) in [
        (read(&[]), "it has no functions"),
        (read(&[abs()]), "function `a_replacement`: there is no function `a_pattern`"),
        (read(&[pattern("a_pattern(x) => (y)")]), "function `a_pattern`: there is no function `a_replacement`"),
        (
            read(&[function_of("d", "a_pattern(x) => (y)", &[neg()], &[("", 1)]), abs()]),
            "there is no function `a_replacement`",
        ),
        (read(&[pattern("silu(x) => (y)")]), "function `silu`: it is not one of a pair"),
        (read(&[pattern("a_pattern(x) => (y)"), abs(), abs()]), "there are two functions of this name"),
        (
            read_pair(pattern("a-b_pattern(x) => (y)"), function("a-b_replacement(x) => (x)", &[])),
            "`a-b` cannot be the name of a rule",
        ),
        (
            read_pair(pattern("_pattern(x) => (y)"), function("_replacement(x) => (x)", &[])),
            "`` cannot be the name of a rule",
        ),
        (read_pair(pattern("a_pattern(x) => (y, y)"), abs()), "it has 1 outputs, and `a_pattern` has 2"),
        (read_pair(pattern("a_pattern(x) => ()"), abs()), "function `a_pattern`: it has no outputs"),
        (read_pair(pattern("a_pattern(x) => (x)"), abs()), "its output `x` is an input"),
        (read_pair(pattern("a_pattern(x, z) => (y)"), abs()), "function `a_pattern`: its input `z` is not used"),
        (read_pair(pattern("a_pattern(x, x) => (y)"), abs()), "it has two inputs `x`"),
        (
            read_pair(pattern("a_pattern(x) => (y)"), function("a_replacement(z) => (y)", &[node("y = Abs(z)", &[])])),
            "function `a_replacement`: its input `z` is not one of `a_pattern`",
        ),
        (
            read_pair(imports(13, 1), abs()),
            "it imports version 13 of the default domain, and `a_replacement` version 1",
        ),
        (read_pair(imports(1, 2), abs()), "function `a_pattern`: it imports version 2 of domain `acme`"),
        (read_pair(defaults, abs()), "it has attributes with defaults"),
        (
            read(&[
                pattern("a_pattern(x) => (y)"),
                abs(),
                function_of("d", "a_pattern(x) => (y)", &[neg()], &[("", 1)]),
                function_of("d", "a_replacement(x) => (x)", &[], &[]),
            ]),
            "two rules are named `a`",
        ),
    ] {
        assert!(read.as_ref().is_err_and(|fault| fault.contains(expected)), "{expected}: {read:?}");
    }
    let pair = node("a, b = acme.Pair(x)", &[]);
    let (of_three, three) = (function("a_pattern(x) => (a, y, b)", &[pair, neg()]), [neg(), abs_to("z")]);
    let fault = read_pair(of_three, function("a_replacement(x) => (y, z, x)", &three)).unwrap_err();
    assert_eq!(fault, "function `a_pattern`, node 0 (`Pair`): its output `b` is a second one of a call");
    let (of_two, twice) = (function("a_pattern(x) => (y, y)", &[neg()]), function("a_replacement(x) => (x, x)", &[]));
    let fault = read_pair(of_two, twice).unwrap_err();
    assert_eq!(fault, "function `a_pattern`: it has two outputs `y`");
    let graph = [model(&[pattern("a_pattern(x) => (y)"), abs()]), bytes(7, &bytes(1, &neg()))].concat();
    assert_eq!(pairs::read(&graph).unwrap_err()[0].to_string(), "its graph has 1 nodes");
    assert_eq!(pairs::read(b"Neg(Neg(x)) => x").unwrap_err()[0].to_string(), "it is not an ONNX model");
}

#[test]
fn damaged_files_are_refused_or_are_rules() {
    let text = "a: Add(Mul(x, [1.0, 2.0]) as t, t) => acme::F{a = [1], b = \"s\"}(x, 3); b: Neg(Neg(x)) => x";
    let file = pairs::write(&rules(text), &kinds).unwrap();
    let mut n_read = 0;
    let mut check = |bytes: &[u8]| {
        if let Ok(rules) = pairs::read(bytes) {
            n_read += 1;
            let printed = print(&rules);
            if let Ok(parsed) = parse(&printed) {
                assert_eq!(parsed, rules, "{printed}");
            }
        }
    };
    for at in 0..file.len() {
        check(&file[..at]);
        for byte in [0, 1, 7, 0x0a, 0x7f, 0x80, 0xff, file[at] ^ 1, file[at].wrapping_add(8)] {
            let mut changed = file.clone();
            changed[at] = byte;
            check(&changed);
        }
    }
    assert!(n_read > 0);
}
