//! The parser: functions, blocks and bindings. A function within a binding is a frame on a stack: the binding waits
//! for it.

use super::{
    error::{Fault, TextCode},
    lex::Token,
    parse::{Parsed, Parser, Symbol},
    parse_function::{Header, Params},
};
use crate::ir::*;
use std::{borrow::Cow, ops::Range};

/// A function whose block is being parsed.
pub(super) struct Frame<'s> {
    function: NodeId,
    bindings: Vec<NodeId>,
    /// The number of names that were visible outside.
    n_defined: usize,
    then: Then<'s>,
}

/// What waits for a function to end.
enum Then<'s> {
    /// Nothing: it is the global function.
    Root,
    /// Its binding.
    Bound(Statement<'s>),
    /// The call it belongs to.
    Region(Statement<'s>),
    /// The call it belongs to, in a list of functions.
    ListItem(Statement<'s>),
    /// The first branch of an `If`.
    Branch(Statement<'s>),
    /// The second branch of an `If`.
    OtherBranch(Statement<'s>),
}

/// A binding, as far as it is parsed.
struct Statement<'s> {
    start: usize,
    let_form: LetForm,
    target: Target<'s>,
    ty: Option<TypeId>,
    expr: Expression,
    /// Callee and arguments, fields, or the condition.
    operands: Vec<NodeId>,
    regions: Vec<NodeId>,
    attrs: Vec<AttrRec>,
}

/// What a binding names.
enum Target<'s> {
    /// Nothing: the block's result, or a call for its effect.
    None,
    /// The value.
    One(Symbol<'s>, Range<usize>),
    /// Its results.
    Each(Vec<TargetField<'s>>),
}

/// A result of a call in `(%a, _) = …`.
struct TargetField<'s> {
    /// `None` is an absent result.
    symbol: Option<(Symbol<'s>, Range<usize>)>,
    ty: Option<TypeId>,
}

enum Expression {
    Constant(Tensor),
    Tuple,
    Item(u16),
    Call,
    If,
    Function(NodeId),
    Raw { kind: u8, aux: u16, flags: u8 },
}

impl<'s> Parser<'s> {
    /// A global function from its parameters on.
    pub fn root(&mut self) -> Parsed<()> {
        let root = self.function.root();
        let header = self.header(Params::Required, Some(root))?;
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
                Token::Punct(b'}') if braces > 0 => braces -= 1,
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
        let frame = Frame { function: header.function, bindings: Vec::new(), n_defined: self.defined.len(), then };
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

    /// Ends a binding at fault: what it names is no fault elsewhere.
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

    /// Ends the innermost function, and goes on with what waited for it.
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
                self.nest(Params::Optional, statement, Then::OtherBranch)
            }
            Then::OtherBranch(mut statement) => {
                statement.regions.push(frame.function);
                self.finish(statement)
            }
        }
    }

    // ---- bindings -------------------------------------------------------------------------------------------------

    /// A binding up to its first function, or the result of a block.
    fn step(&mut self) -> Parsed<()> {
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
        if !matches!(self.token, Token::Str(_)) && self.at_literal() {
            return self.result();
        }
        // A call without a name: a result, or there for its effect.
        self.expression(Statement::new(start, let_form, Target::None, None))
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

    /// `(%a, %b)`: the results of the block, or what the next binding names.
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
        self.expression(statement)
    }

    fn expression(&mut self, mut statement: Statement<'s>) -> Parsed<()> {
        if self.is_word("fn") {
            self.bump();
            return self.nest(Params::Required, statement, Then::Bound);
        }
        match self.expression_head(&mut statement) {
            Err(fault) => self.fail(statement, fault),
            Ok(()) => match statement.expr {
                Expression::If => self.nest(Params::Optional, statement, Then::Branch),
                Expression::Call | Expression::Raw { .. } => self.arguments(statement),
                _ => self.finish(statement),
            },
        }
    }

    /// An expression up to its first argument or function.
    fn expression_head(&mut self, statement: &mut Statement<'s>) -> Parsed<()> {
        let callee = match self.token {
            Token::Word("if") => {
                self.bump();
                self.expect(b'(')?;
                let condition = self.operand()?;
                self.expect(b')')?;
                statement.operands.push(condition);
                statement.expr = Expression::If;
                return Ok(());
            }
            Token::Word("node") if *self.peek() == Token::Punct(b'(') => {
                statement.expr = self.raw_head()?;
                return self.expect(b'(');
            }
            Token::Punct(b'(') => {
                self.bump();
                while !self.is(b')') {
                    let field = self.operand()?;
                    statement.operands.push(field);
                    if !self.eat(b',') {
                        break;
                    }
                }
                statement.expr = Expression::Tuple;
                return self.expect(b')');
            }
            Token::Name(_) | Token::Number(_) | Token::Global(_) => {
                let value = self.operand()?;
                if self.eat(b'[') {
                    statement.operands.push(value);
                    statement.expr = Expression::Item(self.integer("an index below 65536")?);
                    return self.expect(b']');
                }
                if !self.is(b'(') {
                    let fault = self.expected("`(` or `[`");
                    return Err(fault.help("a binding is a call, a tuple, a constant, …; a value has one name"));
                }
                value
            }
            Token::Str(_) if !matches!(self.peek(), Token::Punct(b'(' | b':') | Token::Path | Token::Version(_)) => {
                statement.expr = Expression::Constant(self.short_tensor()?);
                return Ok(());
            }
            Token::Str(_) => self.operator()?,
            _ if self.at_literal() => {
                statement.expr = Expression::Constant(self.short_tensor()?);
                return Ok(());
            }
            Token::Word(_) => self.operator()?,
            _ => return Err(self.expected("an expression")),
        };
        statement.operands.push(callee);
        statement.expr = Expression::Call;
        self.expect(b'(')
    }

    fn raw_head(&mut self) -> Parsed<Expression> {
        self.bump();
        self.expect(b'(')?;
        let span = self.span.clone();
        let kind: u8 = self.integer("a kind of node")?;
        if kind < kind::N_KINDS {
            let fault = Fault::new(TextCode::Value, span, format!("nodes of kind {kind} have a syntax of their own"));
            return Err(fault);
        }
        self.expect(b',')?;
        let aux = self.integer("a number below 65536")?;
        let flags = if self.eat(b',') { self.integer("a number below 256")? } else { 0 };
        self.expect(b')')?;
        Ok(Expression::Raw { kind, aux, flags })
    }

    /// `domain::name:overload@version`
    fn operator(&mut self) -> Parsed<NodeId> {
        let span = self.span.clone();
        let mut name = self.word("an operator")?;
        let mut domain = Cow::Borrowed(&b""[..]);
        if self.token == Token::Path {
            self.bump();
            domain = std::mem::replace(&mut name, self.word("an operator")?);
        }
        let overload = if self.eat(b':') { self.word("an overload")? } else { Cow::Borrowed(&b""[..]) };
        let version = match self.token {
            Token::Version(version) => {
                self.bump();
                version
            }
            _ => 0,
        };
        let parts = [&domain, &name, &overload].map(|part| std::str::from_utf8(part));
        let [Ok(domain), Ok(name), Ok(overload)] = parts else {
            return Err(Fault::new(TextCode::Value, span, "this name is not UTF-8"));
        };
        let op = self.function.add_op(domain, name, overload, version);
        Ok(self.function.op(op).node)
    }

    /// An operand. A literal is bound in front of the binding that it stands in.
    fn operand(&mut self) -> Parsed<NodeId> {
        if let Some((symbol, span)) = self.symbol() {
            return self.lookup(&symbol, span);
        }
        let span = self.span.clone();
        match self.token {
            Token::Word("_") => {
                self.bump();
                Ok(NodeId::ABSENT)
            }
            Token::Global(_) => match self.bump() {
                Token::Global(name) => self.global_var(name, span),
                _ => Err(self.expected("a value")),
            },
            Token::Punct(b'&') => {
                self.bump();
                self.operator()
            }
            _ if self.at_literal() => {
                let tensor = self.short_tensor()?;
                let constant = self.function.add_constant(tensor, ConstForm::ANY);
                if let Some(frame) = self.frames.last_mut() {
                    frame.bindings.push(constant);
                }
                Ok(constant)
            }
            _ => Err(self.expected("a value")),
        }
    }

    /// Arguments and attributes, up to the next function.
    fn arguments(&mut self, mut statement: Statement<'s>) -> Parsed<()> {
        loop {
            if self.eat(b')') {
                return self.finish(statement);
            }
            if self.is_word("fn") && *self.peek() != Token::Punct(b'=') {
                self.bump();
                return self.nest(Params::Required, statement, Then::Region);
            }
            match self.argument(&mut statement) {
                Err(fault) => return self.fail(statement, fault),
                Ok(Next::Argument) => {}
                Ok(Next::Function) => return self.nest(Params::Required, statement, Then::Region),
                Ok(Next::Functions) => return self.list_item(statement),
            }
            if !self.eat(b',') && !self.is(b')') {
                let fault = self.expected("`,` or `)`");
                return self.fail(statement, fault);
            }
        }
    }

    fn next_argument(&mut self, statement: Statement<'s>) -> Parsed<()> {
        if !self.eat(b',') && !self.is(b')') {
            let fault = self.expected("`,` or `)`");
            return self.fail(statement, fault);
        }
        self.arguments(statement)
    }

    fn list_item(&mut self, statement: Statement<'s>) -> Parsed<()> {
        if !self.is_word("fn") {
            let fault = self.expected("a function, `fn (…) { … }`");
            return self.fail(statement, fault);
        }
        self.bump();
        self.nest(Params::Required, statement, Then::ListItem)
    }

    fn argument(&mut self, statement: &mut Statement<'s>) -> Parsed<Next> {
        if !self.at_attr() {
            let operand = self.operand()?;
            statement.operands.push(operand);
            return Ok(Next::Argument);
        }
        let name = self.attr_name()?;
        let a = statement.regions.len() as u32;
        if self.is_word("fn") {
            self.bump();
            statement.attrs.push(AttrRec { kind: attr_kind::GRAPH, a, ..name });
            return Ok(Next::Function);
        }
        if self.is(b'[') && *self.peek() == Token::Word("fn") {
            self.bump();
            statement.attrs.push(AttrRec { kind: attr_kind::GRAPHS, a, ..name });
            return Ok(Next::Functions);
        }
        let value = self.attr_value()?;
        statement.attrs.push(AttrRec { name: name.name, flags: name.flags, ..value });
        Ok(Next::Argument)
    }

    /// The end of a binding, from the number of its results on.
    fn finish(&mut self, mut statement: Statement<'s>) -> Parsed<()> {
        match self.make(&mut statement) {
            Ok(node) if matches!(statement.target, Target::None) && self.is(b'}') => self.end_block(&[node], None),
            Ok(_) => self.expect(b';'),
            Err(fault) => self.fail(statement, fault),
        }
    }

    fn make(&mut self, statement: &mut Statement<'s>) -> Parsed<NodeId> {
        let mut n_results = match &statement.target {
            Target::Each(fields) => {
                let most = u16::try_from(fields.len());
                Some(most.map_err(|_| self.limit(statement, "a call has at most 65535 results"))?)
            }
            _ => None,
        };
        if self.token == Token::Arrow && matches!(statement.expr, Expression::Call | Expression::If) {
            self.bump();
            let span = self.span.clone();
            let given: u16 = self.integer("a number of results below 65536")?;
            if given == 0 || n_results.is_some_and(|n_results| n_results != given) {
                return Err(Fault::new(TextCode::Value, span, "this is not the number of results"));
            }
            n_results = Some(given);
        }
        let metadata = self.metadata()?;
        if let Expression::Constant(_) = statement.expr {
        } else if let Some((_, span)) = &metadata.form {
            return Err(Fault::new(TextCode::Syntax, span.clone(), "only constants have a form"));
        }
        let n_regions = statement.regions.len() as u32;
        let operands = &mut statement.operands;
        let node = match &statement.expr {
            Expression::Constant(tensor) => {
                let form = metadata.form.map_or(ConstForm::ANY, |(form, _)| form);
                self.function.add_constant(tensor.clone(), form)
            }
            Expression::Tuple => self.function.add_tuple(operands),
            Expression::Item(index) => self.function.add_tuple_get_item(operands[0], *index),
            Expression::Call => self.function.add_call_with(operands[0], &operands[1..], &statement.regions, n_results),
            Expression::If => self.function.add_if(operands[0], statement.regions[0], statement.regions[1], n_results),
            Expression::Function(node) => *node,
            Expression::Raw { kind, aux, flags } => {
                operands.extend_from_slice(&statement.regions);
                let n_regions = (n_regions > 0 || flags & flag::EXTRA != 0).then_some(n_regions);
                self.function.add_raw(*kind, *flags, *aux, operands, n_regions)
            }
        };
        if let Expression::Function(_) = statement.expr {
            if !metadata.attrs.is_empty() {
                let attrs = [self.function.attr_recs(node), &metadata.attrs].concat();
                self.function.set_attr_recs(node, &attrs);
            }
        } else {
            statement.attrs.extend_from_slice(&metadata.attrs);
            self.function.set_attr_recs(node, &statement.attrs);
        }
        if metadata.listed.is_some() {
            self.function.set_listed_input(node);
        }
        self.hidden_name(node, metadata.name);
        self.function.set_let(node, statement.let_form);
        if let Some(ty) = statement.ty {
            self.function.set_type(node, ty);
        }
        self.place(node);
        self.name(statement, node);
        Ok(node)
    }

    fn limit(&self, statement: &Statement<'s>, message: &str) -> Box<Fault> {
        Fault::new(TextCode::Limit, statement.start..self.end, message)
    }

    fn place(&mut self, node: NodeId) {
        if let Some(frame) = self.frames.last_mut() {
            frame.bindings.push(node);
        }
    }

    /// Defines what a binding names.
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
                    self.function.set_type(item, field.ty.unwrap_or(TypeId::UNKNOWN));
                    self.function.set_let(item, statement.let_form);
                    self.place(item);
                    self.define(symbol, item, span);
                }
                statement.target = Target::Each(Vec::new());
            }
        }
    }
}

/// What comes next in a call.
enum Next {
    Argument,
    Function,
    Functions,
}

impl<'s> Statement<'s> {
    fn new(start: usize, let_form: LetForm, target: Target<'s>, ty: Option<TypeId>) -> Self {
        let (operands, regions, attrs) = (Vec::new(), Vec::new(), Vec::new());
        Self { start, let_form, target, ty, expr: Expression::Tuple, operands, regions, attrs }
    }
}
