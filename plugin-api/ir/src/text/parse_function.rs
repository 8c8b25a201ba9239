//! The parser: functions up to their blocks.

use super::{
    error::{Fault, TextCode},
    frame::{Header, Params, Symbol},
    lex::Token,
    parse_attr::Metadata,
    parser::{Parsed, Parser},
};
use crate::{prim::OUTPUTS, *};
use std::ops::Range;

impl<'s> Parser<'s> {
    /// A function from its name or parameters on, up to its block.
    pub fn header(&mut self, params: Params, root: Option<NodeId>) -> Parsed<Header<'s>> {
        let name = match self.symbol() {
            Some((Symbol::Name(name), _)) => Some(name),
            Some((Symbol::Number(_), span)) => {
                let fault = Fault::new(TextCode::Syntax, span, "a function in a call has no number");
                return Err(fault.help("leave it off"));
            }
            None => None,
        };
        let mut list = Vec::new();
        if params == Params::Required || self.is(b'(') {
            self.expect(b'(')?;
            while !self.is(b')') {
                list.push(self.parameter()?);
                if !self.eat(b',') {
                    break;
                }
            }
            self.expect(b')')?;
        }
        let outputs = match root {
            Some(_) if self.is_prim() => self.output_params(&mut list)?,
            _ => None,
        };
        let ids: Vec<NodeId> = list.iter().map(|(_, node, _)| *node).collect();
        let function = match root {
            Some(root) => {
                self.function.set_params(root, &ids);
                root
            }
            None => self.function.add_function(&ids),
        };
        if let Some(name) = name {
            let name = self.function.add_string(&name);
            self.function.set_name_id(function, name);
        }
        let mut attrs = Vec::new();
        if self.token == Token::Arrow {
            self.bump();
            self.outputs(function, &mut attrs)?;
        }
        if self.eat(b':') {
            let ty = self.ty()?;
            self.function.set_type(function, ty);
        }
        let metadata = self.metadata()?;
        self.no_constant(&metadata)?;
        attrs.extend(metadata.attrs);
        if let Some((n_outputs, span)) = outputs {
            if attrs.iter().any(|rec| self.function.bytes(rec.name) == OUTPUTS.as_bytes()) {
                let fault = Fault::new(TextCode::Value, span, "the number of outputs is given twice");
                return Err(fault.help("leave `outputs` off: the parameters behind the arrow are the outputs"));
            }
            attrs.push(self.function.encode_attr(&Attr::meta(OUTPUTS, n_outputs as i64)));
        }
        self.hidden_name(function, metadata.name);
        self.function.set_attr_recs(function, &attrs);
        if !self.is(b'{') {
            return Err(self.expected("`{`"));
        }
        self.bump();
        Ok(Header { function, params: list })
    }

    /// The outputs of a loop program, `-> (param, …)`: how many there are.
    fn output_params(
        &mut self,
        list: &mut Vec<(Symbol<'s>, NodeId, Range<usize>)>,
    ) -> Parsed<Option<(usize, Range<usize>)>> {
        if self.token != Token::Arrow {
            return Ok(None);
        }
        let span = self.span.clone();
        let n_inputs = list.len();
        self.bump();
        self.expect(b'(')?;
        while !self.is(b')') {
            list.push(self.parameter()?);
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b')')?;
        Ok(Some((list.len() - n_inputs, span)))
    }

    fn parameter(&mut self) -> Parsed<(Symbol<'s>, NodeId, Range<usize>)> {
        let Some((symbol, span)) = self.symbol() else {
            return Err(self.expected("a parameter, `%name`"));
        };
        let ty = if self.eat(b':') { self.ty()? } else { TypeId::UNKNOWN };
        let node = self.function.add_var("", ty);
        if self.eat(b'=') {
            let value = self.tensor()?;
            self.function.set_default_value(node, value);
        }
        let metadata = self.metadata()?;
        if let Some((_, span)) = &metadata.form {
            return Err(Fault::new(TextCode::Syntax, span.clone(), "only constants have a form"));
        }
        if metadata.listed.is_some() {
            self.function.set_listed_input(node);
        }
        self.function.set_attr_recs(node, &metadata.attrs);
        self.hidden_name(node, metadata.name);
        Ok((symbol, node, span))
    }

    fn no_constant(&self, metadata: &Metadata<'s>) -> Parsed<()> {
        let span = metadata.form.as_ref().map(|(_, span)| span).or(metadata.listed.as_ref());
        match span {
            Some(span) => Err(Fault::new(TextCode::Syntax, span.clone(), "only constants have a form")),
            None => Ok(()),
        }
    }

    /// The names and types of a function's results.
    fn outputs(&mut self, function: NodeId, attrs: &mut Vec<AttrRec>) -> Parsed<()> {
        let (mut names, mut types, mut n_typed) = (Vec::new(), Vec::new(), 0);
        if !self.is(b'(') {
            types.push(self.ty()?);
            n_typed = 1;
        } else {
            self.bump();
            while !self.is(b')') {
                let is_typed = match self.symbol() {
                    Some((Symbol::Name(name), _)) => {
                        names.push(name.into_owned());
                        self.eat(b':')
                    }
                    Some((Symbol::Number(number), span)) => {
                        let fault = Fault::new(TextCode::Syntax, span, "a result is named, not numbered");
                        return Err(fault.help(format!("write `%\"{number}\"` for a name that is a number")));
                    }
                    None => true,
                };
                n_typed += usize::from(is_typed);
                types.push(if is_typed { self.ty()? } else { TypeId::UNKNOWN });
                if !self.eat(b',') {
                    break;
                }
            }
            self.expect(b')')?;
        }
        if !names.is_empty() {
            if names.len() != types.len() {
                let message = "either all results have names or none";
                return Err(Fault::new(TextCode::Syntax, self.span.clone(), message));
            }
            attrs.push(self.function.encode_attr(&Attr::meta(OUTPUT_NAMES, AttrData::Strings(names))));
        }
        if n_typed > 0 || types.is_empty() {
            let result = match types[..] {
                [one] => one,
                _ => self.function.add_type(Type::Tuple(&types)),
            };
            let params: Vec<TypeId> =
                self.function.operands(function).iter().map(|&param| self.function.type_id(param)).collect();
            let ty = self.function.add_type(Type::Func { params: &params, result });
            self.function.set_type(function, ty);
        }
        Ok(())
    }
}
