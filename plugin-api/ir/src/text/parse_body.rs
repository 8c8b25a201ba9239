//! The parser: functions, blocks and bindings. A function within a binding is a frame on a stack: the binding waits
//! for it.

mod expression;
mod prim;
mod prim_expression;

use super::{
    error::{Fault, TextCode},
    frame::{Expression, Frame, Header, Literal, Param, Params, Statement, Symbol, Target, TargetField, Then},
    lex::Token,
    parser::{Parsed, Parser},
};
use crate::{
    prim::{CoreOp, LoopOps},
    *,
};
use std::{borrow::Cow, ops::Range};

impl<'s> Parser<'s> {
    /// A global function from its parameters on.
    pub fn root(&mut self) -> Parsed<()> {
        let root = self.function.root();
        let header = self.header(Params::Required, Some(root))?;
        self.prim = self.is_prim().then(|| LoopOps::new(&self.function));
        self.open(header, Then::Root);
        while !self.frames.is_empty() {
            if self.is_over() {
                self.frames.clear();
                break;
            }
            if self.token == Token::Eof || self.at_global() {
                self.frames.clear();
                if self.faults.iter().any(|fault| fault.span.start == self.span.start) {
                    // The end was reported already.
                    break;
                }
                let fault = Fault::new(TextCode::Syntax, self.span.clone(), "a block has no end");
                return Err(fault.help("close it with `}`"));
            }
            if let Err(fault) = self.step() {
                self.faults.push(*fault);
                self.recover();
            }
        }
        Ok(())
    }

    /// Skips the rest of a binding, and of its block when the result is at fault or missing.
    fn recover(&mut self) {
        let mut braces = 0usize;
        while self.token != Token::Eof && !self.at_global() {
            match self.bump() {
                Token::Punct(b'{') => braces += 1,
                Token::Punct(b'}') if braces > 0 => {
                    braces -= 1;
                    // A statement of a loop program may end with its block.
                    if braces == 0 && self.at_statement() {
                        return;
                    }
                }
                Token::Punct(b'}') => match self.close(&[], None) {
                    Ok(()) => return,
                    Err(fault) => self.faults.push(*fault),
                },
                Token::Punct(b';') if braces == 0 => return,
                _ => {}
            }
        }
    }

    // ---- functions ------------------------------------------------------------------------------------------------

    fn open(&mut self, header: Header<'s>, then: Then<'s>) {
        let frame = Frame {
            function: header.function,
            bindings: Vec::new(),
            n_defined: self.defined.len(),
            expected: Vec::new(),
            then,
        };
        self.frames.push(frame);
        for (symbol, node, span) in header.params {
            self.define(symbol, node, span);
        }
    }

    /// Parses a function's header, and lets `statement` wait for the function.
    fn nest(
        &mut self,
        params: Params,
        statement: Statement<'s>,
        then: impl FnOnce(Statement<'s>) -> Then<'s>,
    ) -> Parsed<()> {
        match self.header(params, None) {
            Ok(header) => {
                self.open(header, then(statement));
                Ok(())
            }
            Err(fault) => self.fail(statement, fault),
        }
    }

    /// Ends a binding at fault: uses of its names elsewhere are not reported.
    fn fail(&mut self, statement: Statement<'s>, fault: Box<Fault>) -> Parsed<()> {
        match statement.target {
            Target::None => {}
            Target::One(symbol, _) => self.poison(Some(symbol)),
            Target::Each(fields) => {
                for field in fields {
                    self.poison(field.symbol.map(|(symbol, _)| symbol));
                }
            }
        }
        Err(fault)
    }

    /// Ends the innermost function, and continues with the construct that waited for it.
    fn close(&mut self, results: &[NodeId], ty: Option<TypeId>) -> Parsed<()> {
        let Some(frame) = self.frames.pop() else {
            return Ok(());
        };
        self.leave(frame.n_defined);
        let block = self.function.block_of(frame.function);
        self.function.set_bindings(block, &frame.bindings);
        self.function.set_results(block, results);
        if let Some(ty) = ty {
            let result = self.function.result(block);
            self.function.set_type(result, ty);
        }
        match frame.then {
            Then::Root => Ok(()),
            Then::Bound(mut statement) => {
                statement.expr = Expression::Function(frame.function);
                self.finish(statement)
            }
            Then::Region(mut statement) => {
                statement.regions.push(frame.function);
                self.next_argument(statement)
            }
            Then::ListItem(mut statement) => {
                statement.regions.push(frame.function);
                statement.attrs.last_mut().into_iter().for_each(|rec| rec.b += 1);
                if self.eat(b',') && !self.is(b']') {
                    return self.list_item(statement);
                }
                match self.expect(b']') {
                    Ok(()) => self.next_argument(statement),
                    Err(fault) => self.fail(statement, fault),
                }
            }
            Then::Branch(mut statement) => {
                statement.regions.push(frame.function);
                if !self.is_word("else") {
                    let fault = self.expected("`else`");
                    return self.fail(statement, fault);
                }
                self.bump();
                self.nest(Params::Optional, statement, Then::OtherBranch)?;
                self.expect_results_of(frame.function);
                Ok(())
            }
            Then::OtherBranch(mut statement) => {
                statement.regions.push(frame.function);
                self.finish(statement)
            }
            Then::Control(mut statement) => {
                statement.regions.push(frame.function);
                self.end_control(statement)
            }
            Then::While(mut statement, params) => {
                statement.regions.push(frame.function);
                self.while_body(statement, params)
            }
            Then::When(mut statement) => {
                statement.regions.push(frame.function);
                self.when_else(statement)
            }
        }
    }

    // ---- bindings -------------------------------------------------------------------------------------------------

    /// A binding up to its first function, or the result of a block.
    fn step(&mut self) -> Parsed<()> {
        if self.is_prim() {
            return self.prim_step();
        }
        let start = self.span.start;
        if self.is(b'}') {
            let fault = Fault::new(TextCode::Syntax, self.span.clone(), "a block ends with its result");
            return Err(fault.help("name a value, or write `()` when there is no result"));
        }
        let let_form = if self.is_word("let") { LetForm::Let } else { LetForm::Graph };
        if let_form == LetForm::Let {
            self.bump();
        }
        match self.token {
            Token::Name(_) | Token::Number(_) => {
                if let_form == LetForm::Let || matches!(self.peek(), Token::Punct(b':' | b'=')) {
                    let Some((symbol, span)) = self.symbol() else {
                        return Err(self.expected("a name"));
                    };
                    return self.bind(start, let_form, Target::One(symbol, span));
                }
                if !matches!(self.peek(), Token::Punct(b'(' | b'[')) {
                    return self.result();
                }
            }
            Token::Punct(b'(') => return self.tuple_or_targets(start, let_form),
            _ if let_form == LetForm::Let => return Err(self.expected("a name")),
            Token::Word("_") => return self.result(),
            Token::Punct(b'&') => return self.result(),
            Token::Global(_) if *self.peek() != Token::Punct(b'(') => return self.result(),
            Token::Str(_) if !matches!(self.peek(), Token::Punct(b'(') | Token::Path | Token::Version(_)) => {
                return self.result();
            }
            _ => {}
        }
        if !matches!(self.token, Token::Str(_)) && self.at_literal() || self.at_leaf() {
            return self.result();
        }
        // A call without a name: a result, or there for its effect.
        self.right_side(Statement::new(start, let_form, Target::None, None))
    }

    fn result(&mut self) -> Parsed<()> {
        let value = self.operand()?;
        self.end_block(&[value], None)
    }

    fn end_block(&mut self, results: &[NodeId], ty: Option<TypeId>) -> Parsed<()> {
        if !self.is(b'}') {
            return Err(self.expected("`}` behind the result of a block").help("bindings have the form `%x = …;`"));
        }
        self.bump();
        self.close(results, ty)
    }

    /// `(%a, %b)`: the results of the block, or the targets of the next binding.
    fn tuple_or_targets(&mut self, start: usize, let_form: LetForm) -> Parsed<()> {
        enum Field<'s> {
            Target(TargetField<'s>),
            Value(NodeId),
        }
        self.bump();
        let mut fields = Vec::new();
        while !self.is(b')') {
            if self.is_word("_") {
                self.bump();
                fields.push(Field::Target(TargetField { symbol: None, ty: None }));
            } else if let Some(symbol) = self.symbol() {
                let ty = if self.eat(b':') { Some(self.ty()?) } else { None };
                fields.push(Field::Target(TargetField { symbol: Some(symbol), ty }));
            } else {
                fields.push(Field::Value(self.operand()?));
            }
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b')')?;
        if let_form == LetForm::Let || self.is(b'=') {
            let targets = fields.into_iter().map(|field| match field {
                Field::Target(target) => Ok(target),
                Field::Value(_) => {
                    Err(Fault::new(TextCode::Syntax, start..self.end, "only names stand on the left of `=`"))
                }
            });
            let targets = targets.collect::<Parsed<Vec<_>>>()?;
            return self.bind(start, let_form, Target::Each(targets));
        }
        let mut results = Vec::with_capacity(fields.len());
        for field in fields {
            results.push(match field {
                Field::Value(value) => value,
                Field::Target(TargetField { symbol: None, .. }) => NodeId::ABSENT,
                Field::Target(TargetField { symbol: Some((symbol, span)), .. }) => self.lookup(&symbol, span)?,
            });
        }
        let ty = if self.eat(b':') { Some(self.ty()?) } else { None };
        self.end_block(&results, ty.filter(|_| results.len() != 1))
    }

    fn bind(&mut self, start: usize, let_form: LetForm, target: Target<'s>) -> Parsed<()> {
        let mut statement = Statement::new(start, let_form, target, None);
        let head = |parser: &mut Self| {
            let ty = if parser.eat(b':') { Some(parser.ty()?) } else { None };
            parser.expect(b'=')?;
            Ok(ty)
        };
        match head(self) {
            Ok(ty) => statement.ty = ty,
            Err(fault) => return self.fail(statement, fault),
        }
        if self.is_prim() { self.prim_rhs(statement) } else { self.right_side(statement) }
    }

    fn limit(&self, statement: &Statement<'s>, message: &str) -> Box<Fault> {
        Fault::new(TextCode::Limit, statement.start..self.end, message)
    }

    fn place(&mut self, node: NodeId) {
        if let Some(frame) = self.frames.last_mut() {
            frame.bindings.push(node);
        }
    }

    /// Defines the targets of a binding.
    fn name(&mut self, statement: &mut Statement<'s>, node: NodeId) {
        match std::mem::replace(&mut statement.target, Target::None) {
            Target::None => {}
            Target::One(symbol, span) => {
                self.define(symbol.clone(), node, span.clone());
                statement.target = Target::One(symbol, span);
            }
            Target::Each(fields) => {
                for (index, field) in (0..u16::MAX).zip(fields) {
                    let Some((symbol, span)) = field.symbol else { continue };
                    let item = self.function.add_tuple_get_item(node, index);
                    let ty = field.ty.unwrap_or_else(|| self.rule_type(item));
                    self.function.set_type(item, ty);
                    self.function.set_let(item, statement.let_form);
                    self.place(item);
                    self.define(symbol, item, span);
                }
                statement.target = Target::Each(Vec::new());
            }
        }
    }
}

/// The next part of a call.
enum Next {
    Argument,
    Function,
    Functions,
}

impl<'s> Statement<'s> {
    fn new(start: usize, let_form: LetForm, target: Target<'s>, ty: Option<TypeId>) -> Self {
        let (operands, regions, attrs) = (Vec::new(), Vec::new(), Vec::new());
        let (expr, literals, n_carried) = (Expression::Tuple, Vec::new(), None);
        Self { start, let_form, target, ty, expr, operands, regions, attrs, literals, n_carried }
    }
}
