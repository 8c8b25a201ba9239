//! The multiply-accumulates of a call, as a formula of the sizes of its arguments and results.

use relais_ir::{CallView, Dim, Function, Type};
use std::{collections::BTreeMap, fmt};

/// A number of multiply-accumulates: a sum of products of named sizes, each with a factor.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Macs(BTreeMap<Vec<String>, u128>);

/// A factor of a product in a formula.
#[derive(Clone, Copy)]
struct Factor {
    is_result: bool,
    index: usize,
    /// The axis whose size it is, from the end if it is negative; otherwise it is the number of elements.
    axis: Option<i64>,
}

/// The text of a formula that nothing is known of.
const UNKNOWN: &[u8] = b"?";

/// Reads a number below 1,000 at a place; returns it with the place after it.
const fn number(text: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let (start, mut value) = (at, 0);
    while at < text.len() && text[at].is_ascii_digit() && at < start + 3 {
        value = value * 10 + (text[at] - b'0') as usize;
        at += 1;
    }
    if at == start { None } else { Some((value, at)) }
}

/// Reads a factor at a place; returns it with the place after it.
const fn factor(text: &[u8], at: usize) -> Option<(Factor, usize)> {
    if at >= text.len() || !matches!(text[at], b'x' | b'y') {
        return None;
    }
    let is_result = text[at] == b'y';
    let Some((index, at)) = number(text, at + 1) else { return None };
    if at >= text.len() || text[at] != b'[' {
        return Some((Factor { is_result, index, axis: None }, at));
    }
    let is_negative = at + 1 < text.len() && text[at + 1] == b'-';
    let Some((axis, at)) = number(text, at + 1 + is_negative as usize) else { return None };
    if at >= text.len() || text[at] != b']' {
        return None;
    }
    let axis = if is_negative { -(axis as i64) } else { axis as i64 };
    Some((Factor { is_result, index, axis: Some(axis) }, at + 1))
}

/// Reads the sign between two factors at a place; returns it with the place after it.
const fn sign(text: &[u8], at: usize) -> Option<(u8, usize)> {
    if at + 3 > text.len() || text[at] != b' ' || text[at + 2] != b' ' || !matches!(text[at + 1], b'+' | b'*' | b'/') {
        return None;
    }
    Some((text[at + 1], at + 3))
}

/// Whether a text is a formula for an operator with at most these numbers of arguments and results.
pub(crate) const fn is_formula(text: &str, n_inputs: u16, n_outputs: u16) -> bool {
    let text = text.as_bytes();
    if text.len() == 1 && text[0] == UNKNOWN[0] {
        return true;
    }
    let mut at = 0;
    loop {
        let Some((factor, next)) = factor(text, at) else { return false };
        if factor.index >= (if factor.is_result { n_outputs } else { n_inputs }) as usize {
            return false;
        }
        if next == text.len() {
            return true;
        }
        let Some((_, next)) = sign(text, next) else { return false };
        at = next;
    }
}

/// A product of sizes.
struct Product {
    number: u128,
    symbols: Vec<String>,
}

impl Product {
    const ONE: Self = Self { number: 1, symbols: Vec::new() };

    fn times(mut self, dims: &[Dim], f: &Function) -> Option<Self> {
        for dim in dims {
            match *dim {
                Dim::Static(size) => self.number = self.number.checked_mul(size.into())?,
                Dim::Symbol(name) => self.symbols.push(f.str(name).to_owned()),
                Dim::Unknown => return None,
            }
        }
        Some(self)
    }

    /// The quotient, where it is a product of sizes, too.
    fn over(mut self, divisor: &Self) -> Option<Self> {
        for symbol in &divisor.symbols {
            let at = self.symbols.iter().position(|known| known == symbol)?;
            self.symbols.swap_remove(at);
        }
        // Whatever is divided by a size of 0 has a factor of 0 itself.
        if divisor.number == 0 {
            return (self.number == 0).then_some(self);
        }
        let is_whole = self.number.is_multiple_of(divisor.number);
        self.number /= divisor.number;
        is_whole.then_some(self)
    }
}

impl Macs {
    /// Returns the multiply-accumulates of a call by a formula of its operator, as [`Operator::macs`](super::Operator::macs)
    /// describes it, whose types are known; `None` if a size is not known, or the formula says nothing.
    pub fn of_call(formula: &str, f: &Function, call: CallView<'_>) -> Option<Self> {
        let text = formula.as_bytes();
        let mut all = Self::default();
        let (mut product, mut divisor) = (Product::ONE, Product::ONE);
        let (mut at, mut before) = (0, b'*');
        loop {
            let (factor, next) = factor(text, at)?;
            let dims = factor.dims(f, call)?;
            match before {
                b'/' => divisor = divisor.times(&dims, f)?,
                _ => product = product.times(&dims, f)?,
            }
            let is_last = next == text.len();
            let (sign, next) = if is_last { (b'+', next) } else { sign(text, next)? };
            if sign == b'+' {
                all.add_product(product.over(&divisor)?);
                (product, divisor) = (Product::ONE, Product::ONE);
            }
            if is_last {
                return Some(all);
            }
            (at, before) = (next, sign);
        }
    }

    fn add_product(&mut self, Product { number, mut symbols }: Product) {
        symbols.sort_unstable();
        if number > 0 {
            let sum = self.0.entry(symbols).or_default();
            *sum = sum.saturating_add(number);
        }
    }

    /// Adds others.
    pub fn add(&mut self, others: &Self) {
        for (symbols, &number) in &others.0 {
            self.add_product(Product { number, symbols: symbols.clone() });
        }
    }

    /// The products of the sum: the named sizes of each, sorted, and its factor. There is none if the sum is 0.
    pub fn products(&self) -> impl Iterator<Item = (&[String], u128)> {
        self.0.iter().map(|(symbols, &number)| (&**symbols, number))
    }

    /// The number, if it depends on no named size.
    pub fn known(&self) -> Option<u128> {
        match self.0.len() {
            0 => Some(0),
            1 => self.0.get(&[][..]).copied(),
            _ => None,
        }
    }
}

impl Factor {
    /// The sizes whose product it is.
    fn dims(self, f: &Function, call: CallView<'_>) -> Option<Vec<Dim>> {
        let ty = match (self.is_result, f.type_of(call.id)) {
            (true, Type::Tuple(items)) => f.ty(items.get(self.index).copied()?),
            (true, ty) => (self.index == 0).then_some(ty)?,
            (false, _) => f.type_of(call.arg(self.index).filter(|arg| !arg.is_absent())?),
        };
        let dims: Vec<Dim> = ty.shape()?.iter().map(|&dim| Dim::from(dim)).collect();
        let Some(axis) = self.axis else { return Some(dims) };
        let at = if axis < 0 { dims.len() as i64 + axis } else { axis };
        dims.get(usize::try_from(at).ok()?).map(|&dim| vec![dim])
    }
}

/// As a sum of products: `3538944 + 1024 * batch`.
impl fmt::Display for Macs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sign = "";
        for (symbols, number) in self.products() {
            write!(f, "{sign}{number}")?;
            symbols.iter().try_for_each(|symbol| write!(f, " * {symbol}"))?;
            sign = " + ";
        }
        if sign.is_empty() { f.write_str("0") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relais_ir::text;

    #[test]
    fn formulas() {
        for right in ["?", "y0", "x0", "x1[0]", "x0[-1]", "y0 * x1 / x1[0]", "x0[0] * x1 + x0[0] * x2"] {
            assert!(is_formula(right, 3, 1), "{right}");
        }
        let wrong = [
            "", "x", "y1", "x3", "x0 ", " x0", "x0*x1", "x0[", "x0[]", "x0[-]", "x0[1", "z0", "x0 - x1", "2", "x0 *",
            "??", "x1000",
        ];
        for wrong in wrong {
            assert!(!is_formula(wrong, 3, 1), "{wrong}");
        }
    }

    /// The multiply-accumulates of a call by a formula, as text.
    fn count(formula: &str, module: &str) -> Option<String> {
        let module = text::parse_str(module).unwrap();
        let f = module.main().unwrap();
        let call = f.all_bindings().find_map(|id| f.call(id)).unwrap();
        Macs::of_call(formula, f, call).map(|macs| macs.to_string())
    }

    #[test]
    fn calls() {
        let of = |x: &str, w: &str, y: &str| {
            format!(
                "def @main(%x: Tensor[{x}, float32], %w: Tensor[{w}, float32]) {{ %y: Tensor[{y}, float32] = Conv(%x, %w); %y }}"
            )
        };
        let conv = "y0 * x1 / x1[0]";
        let known = of("(1, 3, 8, 8)", "(16, 3, 3, 3)", "(1, 16, 6, 6)");
        assert_eq!(count(conv, &known).as_deref(), Some("15552"));
        let open = of("(N, 3, 8, 8)", "(16, 3, 3, 3)", "(N, 16, 6, 6)");
        assert_eq!(count(conv, &open).as_deref(), Some("15552 * N"));
        assert_eq!(count("y0 * x0 / y0[0]", &open).as_deref(), Some("110592 * N"));
        assert_eq!(count("x0[0] + y0[0] + x1[-1]", &open).as_deref(), Some("3 + 2 * N"));
        // A size of which nothing is known, none of these, an argument that is not there, an axis that is not there.
        assert_eq!(count(conv, &of("(?, 3, 8, 8)", "(16, 3, 3, 3)", "(?, 16, 6, 6)")), None);
        assert_eq!(count(conv, &of("*", "(16, 3, 3, 3)", "*")), None);
        for formula in ["?", "x2", "x0[7]", "x0[-5]", "y1", "x1 / x0[0]", "no formula"] {
            assert_eq!(count(formula, &open), None, "{formula}");
        }
        // Nothing is divided by a size of 0, and what is not whole is not counted.
        assert_eq!(count(conv, &of("(1, 3, 8, 8)", "(0, 3, 3, 3)", "(1, 0, 6, 6)")).as_deref(), Some("0"));
        assert_eq!(count("x0[1] / x1[0]", &known), None);
        let huge = of("(4294967296, 4294967296, 4294967296)", "(4294967296, 4294967296)", "(1)");
        assert_eq!(count("x0 * x1", &huge), None);
    }
}
