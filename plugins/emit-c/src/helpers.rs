//! The functions of C that say what C leaves open. Only those that are used are written.

use crate::names::c_type;
use relais_plugin_api::ir::ElemType;
use std::collections::BTreeMap;

/// The functions that were asked for, by name.
pub struct Helpers {
    /// Begins their names.
    prefix: String,
    all: BTreeMap<String, String>,
}

impl Helpers {
    /// None yet, of a program of that name.
    pub fn new(name: &str) -> Self {
        Self { prefix: name.to_owned(), all: BTreeMap::new() }
    }

    /// Their definitions.
    pub fn definitions(&self) -> impl Iterator<Item = &str> {
        self.all.values().map(String::as_str)
    }

    fn add(&mut self, name: String, result: &str, params: &str, body: &str) -> String {
        self.add_explained("", name, result, params, body)
    }

    fn add_explained(&mut self, comment: &str, name: String, result: &str, params: &str, body: &str) -> String {
        let name = format!("{}_{name}", self.prefix);
        let define = || format!("{comment}static inline {result} {name}({params}) {{ {body} }}\n");
        self.all.entry(name.clone()).or_insert_with(define);
        name
    }

    /// The smaller or the larger one of two floats: a NaN if one is, and of zeros the negative or the positive one.
    ///
    /// Each comparison takes another one of two zeros, and of a number and a NaN; the bits of both say what holds. Compilers
    /// make vectors of that, unlike of conditions that ask for a sign.
    pub fn extreme(&mut self, elem: ElemType, is_max: bool) -> String {
        let (ty, bits) = if elem.bits() == 64 { ("double", "uint64_t") } else { ("float", "uint32_t") };
        let (name, sign, both) = if is_max {
            ("max", '>', format!("x = (x & y) | (0 - ({bits})isunordered(a, b));"))
        } else {
            ("min", '<', "x |= y;".to_owned())
        };
        let body = format!(
            "{ty} m = a {sign} b ? a : b, n = b {sign} a ? b : a; {bits} x, y; \
             memcpy(&x, &m, sizeof x); memcpy(&y, &n, sizeof y); {both} memcpy(&m, &x, sizeof m); return m;"
        );
        self.add(format!("{name}_{ty}"), ty, &format!("{ty} a, {ty} b"), &body)
    }

    /// A float as an integer; 0 where the type has no such integer, which C leaves undefined.
    pub fn float_to_integer(&mut self, from: ElemType, to: ElemType) -> String {
        let (source, result) = (c_type(from).unwrap_or("float"), c_type(to).unwrap_or("int32_t"));
        let is_signed = matches!(to, ElemType::INT8 | ElemType::INT16 | ElemType::INT32 | ElemType::INT64);
        let bits = to.bits() as i32 - i32::from(is_signed);
        let end = 2f64.powi(bits);
        let lower = match (is_signed, bits) {
            (false, _) => "x > -1.0".to_owned(),
            // No double is less by one.
            (true, 63) => format!("x >= -{end:?}"),
            (true, _) => format!("x > -{:?}", end + 1.0),
        };
        let body = format!("const double x = v; return {lower} && x < {end:?} ? ({result})x : 0;");
        let comment = format!("/* 0 where `{result}` does not have the number; a NaN is 0. */\n");
        self.add_explained(&comment, format!("{source}_to_{result}"), result, &format!("{source} v"), &body)
    }

    /// The same bits as another type.
    pub fn bits(&mut self, from: ElemType, to: ElemType) -> String {
        let (source, result) = (c_type(from).unwrap_or("float"), c_type(to).unwrap_or("int32_t"));
        let body = format!("{result} to; memcpy(&to, &from, sizeof to); return to;");
        self.add(format!("{source}_bits_{result}"), result, &format!("{source} from"), &body)
    }

    /// Quotient or remainder of integers, for divisors other than 0: rounded towards zero or down, and wrapping where the
    /// quotient of the least integer by -1 is beyond the type.
    pub fn divide(&mut self, elem: ElemType, is_floor: bool, is_remainder: bool) -> String {
        let ty = c_type(elem).unwrap_or("int64_t");
        let rest = "(a % b != 0 && (a < 0) != (b < 0))";
        let (name, by_minus_one, plain) = match (is_floor, is_remainder) {
            (false, false) => ("div", true, "a / b".to_owned()),
            (false, true) => ("mod", false, "a % b".to_owned()),
            (true, false) => ("floordiv", true, format!("a / b - {rest}")),
            (true, true) => ("floormod", false, format!("{rest} ? a % b + b : a % b")),
        };
        let wide = if elem.bits() == 64 { "uint64_t" } else { "uint32_t" };
        let wrapped = if by_minus_one { format!("0u - ({wide})a") } else { "0".to_owned() };
        let body = format!("return ({ty})(b == -1 ? ({ty})({wrapped}) : {plain});");
        self.add(format!("{name}_{ty}"), ty, &format!("{ty} a, {ty} b"), &body)
    }
}
