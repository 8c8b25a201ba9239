//! The parser: modules.

use super::{
    error::{Fault, TextCode, TextError, locate},
    lex::Token,
    parser::{Parsed, Parser},
    side_file::SideFile,
};
use crate::*;
use std::collections::HashSet;

pub(super) fn module(source: &str, text: &str, side_file: &SideFile) -> Result<IRModule, Vec<TextError>> {
    let mut parser = Parser::new(text, side_file);
    let module = parser.module();
    if parser.faults.is_empty() { Ok(module) } else { Err(locate(source, text, parser.faults)) }
}

impl Parser<'_> {
    fn module(&mut self) -> IRModule {
        let mut module = IRModule::new();
        if self.token == Token::Meta
            && let Err(fault) = self.module_attrs(&mut module)
        {
            self.faults.push(*fault);
            self.skip_global();
        }
        let mut taken = HashSet::new();
        while !self.is_over() && self.token != Token::Eof {
            if let Err(fault) = self.global(&mut module, &mut taken) {
                self.faults.push(*fault);
                self.skip_global();
            }
        }
        module
    }

    fn module_attrs(&mut self, module: &mut IRModule) -> Parsed<()> {
        self.bump();
        while !self.is(b']') {
            let span = self.span.clone();
            let name = self.word("an attribute's name")?;
            let Ok(name) = std::str::from_utf8(&name) else {
                return Err(Fault::new(TextCode::Value, span, "this name is not UTF-8"));
            };
            self.expect(b'=')?;
            let attr = match &self.token {
                Token::Str(_) => match self.bump() {
                    Token::Str(value) => ModuleAttr::bytes(name, &value),
                    _ => return Err(self.expected("a string")),
                },
                _ => ModuleAttr::int(name, self.integer("a string or a 64-bit integer")?),
            };
            module.attrs.push(attr);
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b']')
    }

    fn skip_global(&mut self) {
        while self.token != Token::Eof && !self.at_global() {
            self.bump();
        }
    }

    fn global(&mut self, module: &mut IRModule, taken: &mut HashSet<String>) -> Parsed<()> {
        if !self.at_global() {
            let fault = self.expected("`def @name` or `prim @name`");
            self.bump();
            return Err(fault);
        }
        let word = self.bump();
        // The name, which is next, has been read already; it is the same in both.
        self.lexer.has_infix = word == Token::Word("prim");
        let kind = match word {
            Token::Word("def") => global_kind::FUNCTION,
            Token::Word("prim") => global_kind::PRIM_FUNC,
            _ => self.unknown_kind()?,
        };
        let span = self.span.clone();
        let Token::Global(name) = self.bump() else {
            return Err(self.expected("a global name"));
        };
        let Ok(name) = String::from_utf8(name.into_owned()) else {
            return Err(Fault::new(TextCode::Value, span, "this name is not UTF-8"));
        };
        if !taken.insert(name.clone()) {
            let fault = Fault::new(TextCode::DuplicateName, span, format!("`@{name}` is defined twice"));
            self.faults.push(*fault);
        }
        self.begin_function();
        self.root()?;
        self.place_numbers();
        module.push(&name, kind, std::mem::take(&mut self.function));
        Ok(())
    }

    /// `(kind)` of a global of a later version.
    fn unknown_kind(&mut self) -> Parsed<u8> {
        self.expect(b'(')?;
        let span = self.span.clone();
        let kind: u8 = self.integer("a kind of global")?;
        self.expect(b')')?;
        if kind <= global_kind::PRIM_FUNC {
            return Err(Fault::new(TextCode::Value, span, format!("globals of kind {kind} have a word of their own")));
        }
        Ok(kind)
    }
}
