//! The parser: types.

use super::{
    error::{Fault, TextCode},
    lex::Token,
    parser::{Parsed, Parser},
};
use crate::*;
use relais_words::nearest;

/// A type whose parts are being parsed.
enum Open {
    Tuple(Vec<TypeId>),
    Params(Vec<TypeId>),
    Result(Vec<TypeId>),
    Sequence,
    Optional,
    Map(ElemType),
}

const HEADS: [&str; 9] = ["Tensor", "Tuple", "fn", "Seq", "Optional", "Map", "Sparse", "Opaque", "Other"];

impl Parser<'_> {
    pub fn ty(&mut self) -> Parsed<TypeId> {
        let mut open = Vec::new();
        loop {
            let Some(mut ty) = self.type_head(&mut open)? else {
                continue;
            };
            loop {
                match open.pop() {
                    None => return Ok(ty),
                    Some(Open::Tuple(mut fields)) => {
                        fields.push(ty);
                        if self.eat(b',') {
                            open.push(Open::Tuple(fields));
                            break;
                        }
                        self.expect(b']')?;
                        ty = self.function.add_type(Type::Tuple(&fields));
                    }
                    Some(Open::Params(mut params)) => {
                        params.push(ty);
                        if self.eat(b',') {
                            open.push(Open::Params(params));
                            break;
                        }
                        self.result_arrow()?;
                        open.push(Open::Result(params));
                        break;
                    }
                    Some(Open::Result(params)) => {
                        ty = self.function.add_type(Type::Func { params: &params, result: ty });
                    }
                    Some(Open::Sequence) => {
                        self.expect(b']')?;
                        ty = self.function.add_type(Type::Sequence(ty));
                    }
                    Some(Open::Optional) => {
                        self.expect(b']')?;
                        ty = self.function.add_type(Type::Optional(ty));
                    }
                    Some(Open::Map(key)) => {
                        self.expect(b']')?;
                        ty = self.function.add_type(Type::Map { key, value: ty });
                    }
                }
            }
        }
    }

    fn result_arrow(&mut self) -> Parsed<()> {
        self.expect(b')')?;
        if self.token != Token::Arrow {
            return Err(self.expected("`->`"));
        }
        self.bump();
        Ok(())
    }

    /// A whole type, or `None` when one was opened whose first part comes next.
    fn type_head(&mut self, open: &mut Vec<Open>) -> Parsed<Option<TypeId>> {
        if self.eat(b'?') {
            return Ok(Some(TypeId::UNKNOWN));
        }
        let Token::Word(head) = self.token else {
            return Err(self.expected("a type"));
        };
        if !HEADS.contains(&head) {
            let fault = self.expected("a type");
            return Err(match nearest(head, HEADS) {
                Some(near) => fault.help(format!("did you mean `{near}`?")),
                None => fault.help("types are `Tensor[(1, N, ?), float32]`, `Tensor[*, ?]`, `Tuple[…]`, `fn(…) -> …`, `Seq[…]`, `Optional[…]`, `Map[…]` and `?`"),
            });
        }
        self.bump();
        if head == "fn" {
            self.expect(b'(')?;
            if !self.is(b')') {
                open.push(Open::Params(Vec::new()));
                return Ok(None);
            }
            self.result_arrow()?;
            open.push(Open::Result(Vec::new()));
            return Ok(None);
        }
        self.expect(b'[')?;
        let ty = match head {
            "Tensor" | "Sparse" => {
                let (shape, elem) = self.tensor_parts()?;
                let shape = shape.as_deref();
                match head {
                    "Tensor" => self.function.add_type(Type::Tensor { elem, shape }),
                    _ => self.function.add_type(Type::SparseTensor { elem, shape }),
                }
            }
            "Opaque" => {
                let domain = self.word("the domain")?;
                self.expect(b',')?;
                let name = self.word("the name")?;
                let (domain, name) = (self.intern(&domain), self.intern(&name));
                self.function.add_type(Type::Opaque { domain, name })
            }
            "Other" => {
                let kind: u8 = self.integer("a kind of type")?;
                if kind <= type_kind::OPAQUE {
                    let message = format!("types of kind {kind} have a syntax of their own");
                    return Err(Fault::new(TextCode::Value, self.span.clone(), message));
                }
                self.function.add_type(Type::Other(kind))
            }
            "Tuple" if self.is(b']') => self.function.add_type(Type::Tuple(&[])),
            _ => {
                open.push(match head {
                    "Tuple" => Open::Tuple(Vec::new()),
                    "Seq" => Open::Sequence,
                    "Optional" => Open::Optional,
                    _ => {
                        let key = self.elem()?;
                        self.expect(b',')?;
                        Open::Map(key)
                    }
                });
                return Ok(None);
            }
        };
        self.expect(b']')?;
        Ok(Some(ty))
    }

    fn tensor_parts(&mut self) -> Parsed<(Option<Vec<DimRec>>, ElemType)> {
        let shape = if self.eat(b'*') { None } else { Some(self.dims()?) };
        let elem = if self.eat(b',') { self.elem()? } else { ElemType::UNKNOWN };
        Ok((shape, elem))
    }

    fn dims(&mut self) -> Parsed<Vec<DimRec>> {
        self.expect(b'(')?;
        let mut dims = Vec::new();
        while !self.is(b')') {
            let dim = match &self.token {
                Token::Literal(_) => {
                    let size: i64 = self.integer("a size below 2^63")?;
                    let Ok(size) = u64::try_from(size) else {
                        let fault = Fault::new(TextCode::Value, self.span.clone(), "a size is not negative");
                        return Err(fault.help("an unknown size is `?`"));
                    };
                    Dim::Static(size)
                }
                Token::Punct(b'?') => {
                    self.bump();
                    Dim::Unknown
                }
                _ => {
                    let name = self.word("a size, a symbol or `?`")?;
                    Dim::Symbol(self.intern(&name))
                }
            };
            dims.push(dim.into());
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b')')?;
        Ok(dims)
    }

    pub fn elem(&mut self) -> Parsed<ElemType> {
        if self.eat(b'?') {
            return Ok(ElemType::UNKNOWN);
        }
        let Token::Word(name) = self.token else {
            return Err(self.expected("an element type"));
        };
        let number = || name.strip_prefix("elem")?.parse().ok().map(ElemType).filter(|elem| elem.name().is_none());
        let Some(elem) = ElemType::from_name(name).or_else(number) else {
            let fault = Fault::new(TextCode::Value, self.span.clone(), format!("`{name}` is not an element type"));
            let names = ElemType::ALL.iter().filter_map(|elem| elem.name());
            return Err(match nearest(name, names) {
                Some(near) => fault.help(format!("did you mean `{near}`?")),
                None => fault,
            });
        };
        self.bump();
        Ok(elem)
    }
}
