//! The parser: attributes and metadata.

use super::{
    error::{Fault, TextCode},
    lex::Token,
    number::{Scalar, is_float},
    parser::{Parsed, Parser},
    words::{FORMS, KINDS, LITERALS, OPSET},
};
use crate::*;
use relais_words::nearest;
use std::borrow::Cow;

/// The contents of a binding's `#[…]`.
#[derive(Default)]
pub(super) struct Metadata<'s> {
    /// Attributes and metadata.
    pub attrs: Vec<AttrRec>,
    /// The form of a constant.
    pub form: FormAt,
    /// The name of a value that is printed with its number.
    pub name: Option<Cow<'s, [u8]>>,
    /// Whether an initializer is also listed as an input.
    pub listed: Option<std::ops::Range<usize>>,
}

/// The form of a constant, and where it was given.
pub(super) type FormAt = Option<(ConstForm, std::ops::Range<usize>)>;

/// The items of a list, of one kind.
enum Items {
    Numbers(Vec<Number>),
    Data(u8, Vec<u32>),
}

/// A number in a list that may be of integers or floats.
enum Number {
    Int(i64),
    Float(f32),
}

impl<'s> Parser<'s> {
    /// Whether `name =` or `name ?=` is next.
    pub fn at_attr(&self) -> bool {
        matches!(self.token, Token::Word(_) | Token::Str(_)) && matches!(self.peek(), Token::Punct(b'=' | b'?'))
    }

    /// `name =`, as a record without a value.
    pub fn attr_name(&mut self) -> Parsed<AttrRec> {
        let name = self.word("an attribute's name")?;
        let name = self.intern(&name);
        let mut flags = 0;
        if self.eat(b'?') {
            flags = attr_flag::UNTYPED;
            if let Token::Literal(_) = self.token {
                flags = self.integer::<u8>("the attribute's flags")? & !attr_flag::META;
            }
        }
        self.expect(b'=')?;
        Ok(AttrRec { name, kind: attr_kind::NONE, flags, aux: 0, a: 0, b: 0 })
    }

    fn encode(&mut self, data: AttrData) -> AttrRec {
        self.function.encode_attr(&Attr::new("", data))
    }

    /// An attribute's value, in a record without a name.
    pub fn attr_value(&mut self) -> Parsed<AttrRec> {
        let span = self.span.clone();
        let data = match self.token {
            Token::Literal(_) => match self.number()? {
                Number::Int(value) => AttrData::Int(value),
                Number::Float(value) => AttrData::Float(value),
            },
            Token::Word("inf" | "-inf" | "nan") => AttrData::Float(self.float()?),
            Token::Str(_) => match self.bump() {
                Token::Str(value) => AttrData::String(value.into_owned()),
                _ => return Err(self.expected("a string")),
            },
            Token::Ref(_) => return self.attr_ref(),
            Token::Word("const" | "splat" | "opaque") => AttrData::Tensor(self.tensor()?),
            Token::Word("type") => AttrData::Type(self.wrapped_type()?),
            Token::Word("sparse") => AttrData::SparseTensor(self.wrapped_hex()?),
            Token::Word("raw") => AttrData::Raw(self.wrapped_hex()?),
            Token::Word("region") => {
                let [a] = self.wrapped_integers()?;
                AttrData::Graph(a)
            }
            Token::Word("regions") => {
                let [first, count] = self.wrapped_integers()?;
                AttrData::Graphs { first, count }
            }
            Token::Word("unknown") => {
                let [kind, a, b] = self.wrapped_integers()?;
                let Ok(kind) = u8::try_from(kind) else {
                    return Err(Fault::new(TextCode::Value, span, "attribute kinds are below 256"));
                };
                if kind == attr_kind::REF || kind == attr_kind::RAW || KINDS.iter().any(|&(_, known)| known == kind) {
                    let message = format!("attributes of kind {kind} have a syntax of their own");
                    return Err(Fault::new(TextCode::Value, span, message));
                }
                return Ok(AttrRec { name: StrId::EMPTY, kind, flags: 0, aux: 0, a, b });
            }
            Token::Punct(b'[') => return self.attr_list(None),
            Token::Word(word) if *self.peek() == Token::Punct(b'[') => {
                let Some(&(_, kind)) = KINDS.iter().find(|&&(name, _)| name == word) else {
                    return Err(self.unknown_value(word));
                };
                self.bump();
                return self.attr_list(Some(kind));
            }
            Token::Word(word) => return Err(self.unknown_value(word)),
            _ => return Err(self.expected("an attribute's value")),
        };
        Ok(self.encode(data))
    }

    fn unknown_value(&self, word: &str) -> Box<Fault> {
        let fault = Fault::new(TextCode::Syntax, self.span.clone(), format!("`{word}` is not an attribute's value"));
        fault.help(format!("a string is quoted: `\"{word}\"`"))
    }

    fn number(&mut self) -> Parsed<Number> {
        match self.token {
            Token::Literal(text) if !is_float(text) => Ok(Number::Int(self.integer("a 64-bit integer")?)),
            _ => Ok(Number::Float(self.float()?)),
        }
    }

    fn float(&mut self) -> Parsed<f32> {
        let span = self.span.clone();
        let value = match self.scalar()? {
            Scalar::Number(text) => text.parse().ok().filter(|value: &f32| value.is_finite()),
            Scalar::Word("nan") => Some(f32::from_bits(0x7fc0_0000)),
            Scalar::Word(word) => word.parse().ok(),
            Scalar::NanBits(bits) => u32::try_from(bits).ok().map(f32::from_bits).filter(|value| value.is_nan()),
            Scalar::String(_) => None,
        };
        value.ok_or_else(|| Fault::new(TextCode::Value, span, "this is not a 32-bit float"))
    }

    fn attr_ref(&mut self) -> Parsed<AttrRec> {
        let Token::Ref(name) = self.bump() else {
            return Err(self.expected("`$name`"));
        };
        let a = self.intern(&name).0;
        self.expect(b':')?;
        let Token::Word(word) = self.token else {
            return Err(self.expected("a kind of attribute"));
        };
        let known = KINDS.iter().find(|&&(name, _)| name == word).map(|&(_, kind)| u32::from(kind));
        let Some(b) = known.or_else(|| word.strip_prefix("kind")?.parse().ok()) else {
            let fault = Fault::new(TextCode::Value, self.span.clone(), format!("`{word}` is not a kind of attribute"));
            return Err(match nearest(word, KINDS.iter().map(|&(name, _)| name)) {
                Some(near) => fault.help(format!("did you mean `{near}`?")),
                None => fault,
            });
        };
        self.bump();
        Ok(AttrRec { name: StrId::EMPTY, kind: attr_kind::REF, flags: 0, aux: 0, a, b })
    }

    fn wrapped_type(&mut self) -> Parsed<TypeId> {
        self.bump();
        self.expect(b'(')?;
        let ty = self.ty()?;
        self.expect(b')')?;
        Ok(ty)
    }

    fn wrapped_hex(&mut self) -> Parsed<Vec<u8>> {
        self.bump();
        self.expect(b'(')?;
        let bytes = self.hex()?;
        self.expect(b')')?;
        Ok(bytes)
    }

    fn wrapped_integers<const N: usize>(&mut self) -> Parsed<[u32; N]> {
        self.bump();
        self.expect(b'(')?;
        let mut values = [0; N];
        for (at, value) in values.iter_mut().enumerate() {
            if at > 0 {
                self.expect(b',')?;
            }
            *value = self.integer("a number below 2^32")?;
        }
        self.expect(b')')?;
        Ok(values)
    }

    /// A list; `kind` is its declared kind.
    fn attr_list(&mut self, kind: Option<u8>) -> Parsed<AttrRec> {
        let start = self.span.start;
        self.expect(b'[')?;
        let mut items = None;
        while !self.is(b']') {
            self.attr_item(&mut items)?;
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b']')?;
        let span = start..self.end;
        let data = match items {
            None => match kind {
                None => {
                    let fault = Fault::new(TextCode::Syntax, span, "an empty list does not say what it is a list of");
                    return Err(fault.help("write `ints[]`, `floats[]`, `strings[]`, …"));
                }
                Some(attr_kind::FLOATS) => AttrData::Floats(Vec::new()),
                Some(attr_kind::INTS) => AttrData::Ints(Vec::new()),
                Some(attr_kind::STRINGS) => AttrData::Strings(Vec::new()),
                Some(attr_kind::TENSORS) => AttrData::Tensors(Vec::new()),
                Some(attr_kind::GRAPHS) => AttrData::Graphs { first: 0, count: 0 },
                Some(attr_kind::SPARSE_TENSORS) => AttrData::SparseTensors(Vec::new()),
                Some(attr_kind::TYPES) => AttrData::Types(Vec::new()),
                Some(_) => return Err(Fault::new(TextCode::Syntax, span, "this kind of attribute is not a list")),
            },
            Some(Items::Numbers(numbers)) => {
                let is_int = |number: &Number| matches!(number, Number::Int(_));
                if kind != Some(attr_kind::FLOATS) && numbers.iter().all(is_int) {
                    let ints = numbers.iter().map(|number| match number {
                        Number::Int(value) => *value,
                        Number::Float(_) => 0,
                    });
                    AttrData::Ints(ints.collect())
                } else {
                    let floats = numbers.iter().map(|number| match *number {
                        Number::Int(value) => value as f32,
                        Number::Float(value) => value,
                    });
                    AttrData::Floats(floats.collect())
                }
            }
            Some(Items::Data(kind, words)) => return Ok(self.encode_words(kind, &words)),
        };
        let rec = self.encode(data);
        if kind.is_some_and(|kind| kind != rec.kind) {
            return Err(Fault::new(
                TextCode::Value,
                span,
                "the items are of another kind than the list was said to be",
            ));
        }
        Ok(rec)
    }

    fn attr_item(&mut self, items: &mut Option<Items>) -> Parsed<()> {
        let span = self.span.clone();
        let mixed = || Fault::new(TextCode::Value, span, "the items of a list are of one kind");
        if matches!(self.token, Token::Literal(_))
            || matches!(self.token, Token::Word(word) if LITERALS.contains(&word))
        {
            let number = self.number()?;
            match items.get_or_insert_with(|| Items::Numbers(Vec::new())) {
                Items::Numbers(numbers) => numbers.push(number),
                Items::Data(..) => return Err(mixed()),
            }
            return Ok(());
        }
        let rec = self.attr_value()?;
        let kind = match rec.kind {
            attr_kind::STRING => attr_kind::STRINGS,
            attr_kind::TENSOR => attr_kind::TENSORS,
            attr_kind::SPARSE_TENSOR => attr_kind::SPARSE_TENSORS,
            attr_kind::TYPE => attr_kind::TYPES,
            _ => return Err(mixed().help("lists hold numbers, strings, tensors, types, sparse tensors or functions")),
        };
        match items.get_or_insert_with(|| Items::Data(kind, Vec::new())) {
            Items::Data(other, words) if *other == kind => words.push(rec.a),
            _ => return Err(mixed()),
        }
        Ok(())
    }

    /// A list whose items are in the function's tables already.
    fn encode_words(&mut self, kind: u8, words: &[u32]) -> AttrRec {
        // Lists of ids are encoded alike; a list of types is used directly.
        let types = words.iter().map(|&word| TypeId(word)).collect();
        AttrRec { kind, ..self.encode(AttrData::Types(types)) }
    }

    /// Parses `#[…]`, if it is next.
    pub fn metadata(&mut self) -> Parsed<Metadata<'s>> {
        let mut metadata = Metadata::default();
        if self.token != Token::Meta {
            return Ok(metadata);
        }
        self.bump();
        while !self.is(b']') {
            self.metadatum(&mut metadata)?;
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b']')?;
        Ok(metadata)
    }

    fn metadatum(&mut self, metadata: &mut Metadata<'s>) -> Parsed<()> {
        let span = self.span.clone();
        if self.is_word("listed_input") && *self.peek() != Token::Punct(b'=') {
            self.bump();
            metadata.listed = Some(span);
            return Ok(());
        }
        if self.is_word("as") && matches!(self.peek(), Token::Name(_)) {
            self.bump();
            if let Token::Name(name) = self.bump() {
                metadata.name = Some(name);
            }
            return Ok(());
        }
        let is_meta = !self.eat(b'!');
        let word = match self.token {
            Token::Word(word) if is_meta => word,
            _ => "",
        };
        let mut rec = self.attr_name()?;
        if is_meta {
            rec.flags |= attr_flag::META;
        }
        if word == "form"
            && let Token::Word(form) = self.token
            && !LITERALS.contains(&form)
            && !matches!(self.peek(), Token::Punct(b'(' | b'['))
        {
            let known = FORMS.iter().find(|(name, _)| *name == form).map(|&(_, form)| form);
            let Some(known) = known.or_else(|| form.strip_prefix("form")?.parse().ok().map(ConstForm)) else {
                let fault =
                    Fault::new(TextCode::Value, self.span.clone(), format!("`{form}` is not a form of a constant"));
                return Err(match nearest(form, FORMS.iter().map(|(name, _)| *name)) {
                    Some(near) => fault.help(format!("did you mean `{near}`?")),
                    None => fault,
                });
            };
            self.bump();
            metadata.form = Some((known, span));
            return Ok(());
        }
        if word == "opset" && self.is(b'{') {
            return self.opset(metadata);
        }
        let value = self.attr_value()?;
        metadata.attrs.push(AttrRec { name: rec.name, flags: rec.flags, ..value });
        Ok(())
    }

    fn opset(&mut self, metadata: &mut Metadata<'s>) -> Parsed<()> {
        self.expect(b'{')?;
        let (mut domains, mut versions) = (Vec::new(), Vec::new());
        while !self.is(b'}') {
            domains.push(self.word("a domain")?.into_owned());
            self.expect(b':')?;
            versions.push(self.integer("a version")?);
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b'}')?;
        let [names, numbers] = OPSET;
        for attr in [Attr::meta(names, AttrData::Strings(domains)), Attr::meta(numbers, AttrData::Ints(versions))] {
            let rec = self.function.encode_attr(&attr);
            metadata.attrs.push(rec);
        }
        Ok(())
    }
}
