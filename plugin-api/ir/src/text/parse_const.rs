//! The parser: tensors.

use super::{
    error::{Fault, TextCode},
    lex::Token,
    literal::nan_bits,
    number::{Scalar, int_value, is_float, split_suffix},
    parser::{Parsed, Parser},
    words::LITERALS,
};
use crate::{
    half::{BFloat16, Float16},
    *,
};
use std::ops::Range;

/// Elements, packed; types under a byte take one until the end.
struct Elements {
    elem: ElemType,
    bytes: Vec<u8>,
    count: u64,
}

impl<'s> Parser<'s> {
    /// `const(…)` or `splat(…)`.
    pub fn tensor(&mut self) -> Parsed<Tensor> {
        let start = self.span.start;
        if self.is_word("opaque") {
            return self.opaque();
        }
        let is_splat = self.is_word("splat");
        if !is_splat && !self.is_word("const") {
            return Err(self.expected("`const(…)` or `splat(…)`"));
        }
        self.bump();
        self.expect(b'(')?;
        let elem_span = self.span.clone();
        let elem = self.elem()?;
        if elem.bits() == 0 && elem != ElemType::STRING {
            let message = format!("a constant cannot have elements of type `{elem}`");
            return Err(Fault::new(TextCode::Value, elem_span, message));
        }
        self.expect(b',')?;
        let tensor = if is_splat {
            let dims = self.shape()?;
            if element_count(&dims).is_none() {
                return Err(Fault::new(TextCode::Limit, start..self.end, "the shape has more than 2^64 elements"));
            }
            self.expect(b',')?;
            let element = match self.token {
                Token::Hex(_) => self.hex()?,
                _ => {
                    let mut elements = Elements::new(elem);
                    self.element(&mut elements)?;
                    elements.bytes
                }
            };
            Tensor::splat(elem, &dims, &element).map_err(|error| self.unfit(start, &error))?
        } else {
            self.dense(elem, start)?
        };
        self.expect(b')')?;
        Ok(tensor)
    }

    /// `opaque(form, elem, shape, hex)`
    fn opaque(&mut self) -> Parsed<Tensor> {
        self.bump();
        self.expect(b'(')?;
        let span = self.span.clone();
        let form: u8 = self.integer("a form of storage")?;
        if form < 2 {
            let fault = Fault::new(TextCode::Value, span, "tensors in this form have a syntax of their own");
            return Err(fault.help("write `const(…)` or `splat(…)`"));
        }
        self.expect(b',')?;
        let elem = self.elem()?;
        self.expect(b',')?;
        let dims = self.shape()?;
        self.expect(b',')?;
        let data = self.hex()?;
        self.expect(b')')?;
        Ok(Tensor::opaque(form, elem, &dims, data))
    }

    fn unfit(&self, start: usize, error: &TensorError) -> Box<Fault> {
        Fault::new(TextCode::Value, start..self.end, error.to_string())
    }

    fn shape(&mut self) -> Parsed<Vec<u64>> {
        self.expect(b'(')?;
        let mut dims = Vec::new();
        while !self.is(b')') {
            dims.push(self.integer("a size")?);
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b')')?;
        Ok(dims)
    }

    fn dense(&mut self, elem: ElemType, start: usize) -> Parsed<Tensor> {
        let is_complex = matches!(elem, ElemType::COMPLEX64 | ElemType::COMPLEX128);
        let mut dims = None;
        let is_number = match self.peek() {
            Token::Literal(text) => is_complex && is_float(text),
            Token::Word(_) => is_complex,
            _ => false,
        };
        if self.is(b'(') && !is_number {
            let span = self.span.start;
            let shape = self.shape()?;
            if is_complex && self.is(b')') {
                let fault = Fault::new(TextCode::Syntax, span..self.end, "a complex number has floats as its parts");
                return Err(fault.help("write `(1.0, 0.0)`"));
            }
            self.expect(b',')?;
            dims = Some(shape);
        }
        if let (Token::Hex(_), Some(dims)) = (&self.token, &dims) {
            let bytes = self.hex()?;
            return Tensor::dense(elem, dims, bytes).map_err(|error| self.unfit(start, &error));
        }
        if let (Token::Global(_), Some(dims)) = (&self.token, &dims) {
            return self.side_tensor(elem, dims);
        }
        let mut elements = Elements::new(elem);
        let found = self.elements(&mut elements)?;
        if let Some(shape) = &dims
            && element_count(shape) != Some(elements.count)
        {
            let message = format!("the shape asks for {} elements, found {}", shown_count(shape), elements.count);
            return Err(Fault::new(TextCode::Value, start..self.end, message));
        }
        elements.tensor(&dims.unwrap_or(found)).map_err(|error| self.unfit(start, &error))
    }

    fn side_tensor(&mut self, elem: ElemType, dims: &[u64]) -> Parsed<Tensor> {
        let span = self.span.clone();
        let Token::Global(key) = self.bump() else {
            return Err(self.expected("a name in the side file"));
        };
        let key = String::from_utf8_lossy(&key);
        let Some(data) = self.side_file.get(&key) else {
            let fault = Fault::new(TextCode::SideFile, span, format!("the side file has no tensor `{key}`"));
            return Err(fault.help("keep the `.safetensors` file beside the text, under the name it was written with"));
        };
        let tensor = Tensor::dense(elem, dims, data.clone());
        tensor
            .map_err(|error| Fault::new(TextCode::SideFile, span, format!("tensor `{key}` of the side file: {error}")))
    }

    /// Whether a literal that represents a constant is next: a number, a boolean, a string, a list of them.
    pub fn at_literal(&self) -> bool {
        match &self.token {
            Token::Literal(_) | Token::Str(_) | Token::Punct(b'[') => true,
            Token::Word("const" | "splat" | "opaque") => *self.peek() == Token::Punct(b'('),
            Token::Word(word) => LITERALS.contains(word),
            _ => false,
        }
    }

    /// A tensor in the short form: a literal or a list of literals, its type that of the first element.
    pub fn short_tensor(&mut self) -> Parsed<Tensor> {
        if matches!(self.token, Token::Word("const" | "splat" | "opaque")) {
            return self.tensor();
        }
        let start = self.span.start;
        let mut elements = Elements::new(ElemType::UNKNOWN);
        let dims = self.elements(&mut elements)?;
        if elements.elem == ElemType::UNKNOWN {
            let fault = Fault::new(TextCode::Syntax, start..self.end, "an empty list has no element type");
            return Err(fault.help("write `const(float32, [])`"));
        }
        elements.tensor(&dims).map_err(|error| self.unfit(start, &error))
    }

    /// An element or nested lists of elements; returns the shape.
    fn elements(&mut self, elements: &mut Elements) -> Parsed<Vec<u64>> {
        // For each axis its size, once a list of it has ended; and for each open list the number of its items so far.
        let mut dims: Vec<Option<u64>> = Vec::new();
        let mut counts: Vec<u64> = Vec::new();
        let mut rank = None;
        loop {
            let at = self.span.clone();
            if self.eat(b'[') {
                if rank.is_some_and(|rank| counts.len() >= rank) {
                    return Err(ragged(at));
                }
                counts.push(0);
                dims.resize(dims.len().max(counts.len()), None);
                continue;
            }
            if !self.is(b']') || counts.is_empty() {
                if *rank.get_or_insert(counts.len()) != counts.len() || counts.len() < dims.len() {
                    return Err(ragged(at));
                }
                self.element(elements)?;
                counts.last_mut().into_iter().for_each(|count| *count += 1);
            }
            loop {
                let at = self.span.clone();
                let Some(&count) = counts.last() else {
                    return Ok(dims.into_iter().map(|dim| dim.unwrap_or(0)).collect());
                };
                if self.eat(b',') {
                    break;
                }
                self.expect(b']')?;
                counts.pop();
                if *dims[counts.len()].get_or_insert(count) != count {
                    return Err(ragged(at));
                }
                counts.last_mut().into_iter().for_each(|count| *count += 1);
            }
        }
    }

    fn element(&mut self, elements: &mut Elements) -> Parsed<()> {
        let span = self.span.clone();
        if self.eat(b'(') {
            let part = match elements.elem {
                ElemType::COMPLEX64 => ElemType::FLOAT,
                ElemType::COMPLEX128 => ElemType::DOUBLE,
                _ => return Err(Fault::new(TextCode::Value, span, "only complex numbers have two parts")),
            };
            let mut parts = Elements::new(part);
            self.element(&mut parts)?;
            self.expect(b',')?;
            self.element(&mut parts)?;
            self.expect(b')')?;
            elements.bytes.append(&mut parts.bytes);
            elements.count += 1;
            return Ok(());
        }
        let scalar = self.scalar()?;
        elements.push(&scalar).map_err(|message| Fault::new(TextCode::Value, span, message))
    }

    pub fn scalar(&mut self) -> Parsed<Scalar<'s>> {
        match self.token {
            Token::Literal(text) => {
                self.bump();
                Ok(Scalar::Number(text))
            }
            Token::Word("nan") => {
                self.bump();
                if !self.eat(b'(') {
                    return Ok(Scalar::Word("nan"));
                }
                let bits = self.integer("the bits of a NaN")?;
                self.expect(b')')?;
                Ok(Scalar::NanBits(bits))
            }
            Token::Word(word) if LITERALS.contains(&word) => {
                self.bump();
                Ok(Scalar::Word(word))
            }
            Token::Str(_) => match self.bump() {
                Token::Str(string) => Ok(Scalar::String(string)),
                _ => Err(self.expected("a value")),
            },
            _ => Err(self.expected("a value")),
        }
    }
}

fn shown_count(shape: &[u64]) -> String {
    element_count(shape).map_or("more than 2^64".to_owned(), |count| count.to_string())
}

fn ragged(at: Range<usize>) -> Box<Fault> {
    let fault = Fault::new(TextCode::Value, at, "the lists of one axis differ in length or depth");
    fault.help("write `const(float32, (2, 3), [1.0, …])` to give the shape and a flat list")
}

impl Elements {
    fn new(elem: ElemType) -> Self {
        Self { elem, bytes: Vec::new(), count: 0 }
    }

    fn push(&mut self, scalar: &Scalar<'_>) -> Result<(), String> {
        if self.elem == ElemType::UNKNOWN {
            self.elem = match scalar {
                Scalar::Number(text) => match split_suffix(text).1 {
                    Some(elem) => elem,
                    None if is_float(text) => ElemType::FLOAT,
                    None => ElemType::INT64,
                },
                Scalar::Word("true" | "false") => ElemType::BOOL,
                Scalar::Word(_) | Scalar::NanBits(_) => ElemType::FLOAT,
                Scalar::String(_) => ElemType::STRING,
            };
        }
        self.count += 1;
        encode(self.elem, scalar, &mut self.bytes)
    }

    fn tensor(mut self, dims: &[u64]) -> Result<Tensor, TensorError> {
        let bits = self.elem.bits();
        if (1..8).contains(&bits) {
            self.bytes = packed::pack(&self.bytes, bits);
        }
        Tensor::dense(self.elem, dims, self.bytes)
    }
}

pub(super) fn encode(elem: ElemType, scalar: &Scalar<'_>, out: &mut Vec<u8>) -> Result<(), String> {
    let no = |shown: &str| Err(format!("`{shown}` is not a value of type `{elem}`"));
    match (scalar, elem) {
        (Scalar::String(string), ElemType::STRING) => {
            let len = u32::try_from(string.len()).map_err(|_| "this string has 2^32 bytes or more".to_owned())?;
            out.extend_from_slice(&len.to_le_bytes());
            out.extend_from_slice(string);
            Ok(())
        }
        (Scalar::String(_), _) => no("a string"),
        (Scalar::Word(word @ ("true" | "false")), _) => {
            if elem != ElemType::BOOL {
                return no(word);
            }
            out.push(u8::from(*word == "true"));
            Ok(())
        }
        (Scalar::Word(word), _) => match (*word, nan_bits(elem)) {
            ("nan", Some(bits)) => encode_bits(elem, bits, out),
            (_, Some(_)) => encode_float(elem, word, out),
            _ => no(word),
        },
        (Scalar::NanBits(bits), _) => match nan_bits(elem) {
            // The exponent bits of the quiet NaN, less its quiet bit, are those of every NaN.
            Some(quiet) if is_nan(elem, quiet, *bits) => encode_bits(elem, *bits, out),
            _ => no(&format!("nan({bits:#x})")),
        },
        (Scalar::Number(text), _) => {
            let (digits, suffix) = split_suffix(text);
            if suffix.is_some_and(|suffix| suffix != elem) {
                return no(text);
            }
            if nan_bits(elem).is_some() {
                return encode_float(elem, digits, out);
            }
            let bits = elem.bits();
            let is_signed = !elem.is_float() && elem.name().is_some_and(|name| name.starts_with("int"));
            let range = match bits {
                1..=64 if is_signed => -(1i128 << (bits - 1))..1i128 << (bits - 1),
                1..=64 if elem != ElemType::BOOL && elem != ElemType::COMPLEX64 => 0..1i128 << bits,
                _ => return no(text),
            };
            match int_value(digits).filter(|value| range.contains(value)) {
                Some(value) => encode_bits(elem, value as u64, out),
                None => no(text),
            }
        }
    }
}

fn is_nan(elem: ElemType, quiet: u64, bits: u64) -> bool {
    let width = elem.bits();
    let magnitude = bits & (u64::MAX >> (65 - width));
    // Infinity is the quiet NaN without its highest fraction bit, which is its lowest bit that is set.
    let infinity = quiet & (quiet - 1);
    magnitude > infinity && bits >> (width - 1) <= 1
}

/// The low bits of a value, in as many bytes as the type takes.
fn encode_bits(elem: ElemType, bits: u64, out: &mut Vec<u8>) -> Result<(), String> {
    let width = elem.bits() as usize;
    let bits = if width < 8 { bits & ((1 << width) - 1) } else { bits };
    out.extend_from_slice(&bits.to_le_bytes()[..width.div_ceil(8)]);
    Ok(())
}

fn encode_float(elem: ElemType, text: &str, out: &mut Vec<u8>) -> Result<(), String> {
    let no = || format!("`{text}` is not a value of type `{elem}`");
    let beyond = || format!("`{text}` is beyond the range of `{elem}`");
    let is_infinite = text.ends_with("inf");
    let wide: f64 = text.parse().map_err(|_| no())?;
    let (bits, is_finite) = match elem {
        ElemType::FLOAT => {
            let value: f32 = text.parse().map_err(|_| no())?;
            (u64::from(value.to_bits()), value.is_finite())
        }
        ElemType::FLOAT16 => {
            let bits = Float16::from_f64(wide);
            (bits.into(), Float16::to_f64(bits).is_finite())
        }
        ElemType::BFLOAT16 => {
            let bits = BFloat16::from_f64(wide);
            (bits.into(), BFloat16::to_f64(bits).is_finite())
        }
        _ => (wide.to_bits(), wide.is_finite()),
    };
    if !is_finite && !is_infinite {
        return Err(beyond());
    }
    encode_bits(elem, bits, out)
}
