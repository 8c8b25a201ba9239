//! The parser: the right-hand side of a binding.

use super::*;

impl<'s> Parser<'s> {
    pub(super) fn right_side(&mut self, mut statement: Statement<'s>) -> Parsed<()> {
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
    pub(super) fn expression_head(&mut self, statement: &mut Statement<'s>) -> Parsed<()> {
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

    pub(super) fn raw_head(&mut self) -> Parsed<Expression> {
        self.bump();
        self.expect(b'(')?;
        let span = self.span.clone();
        let kind: u8 = self.integer("a kind of node")?;
        if !(kind::N_KINDS..kind::FIRST_LEAF).contains(&kind) {
            let fault = Fault::new(TextCode::Value, span, format!("nodes of kind {kind} have a syntax of their own"));
            return Err(fault);
        }
        self.expect(b',')?;
        let aux = self.integer("a number below 65536")?;
        let flags = if self.eat(b',') { self.integer("a number below 256")? } else { 0 };
        self.expect(b')')?;
        Ok(Expression::Raw { kind, aux, flags })
    }

    /// Whether a leaf of a later version begins here.
    pub(super) fn at_leaf(&self) -> bool {
        self.is_word("leaf") && *self.peek() == Token::Punct(b'(')
    }

    /// `leaf(kind, aux, flags, a, b)`
    pub(super) fn leaf(&mut self) -> Parsed<NodeId> {
        self.bump();
        self.expect(b'(')?;
        let span = self.span.clone();
        let kind: u8 = self.integer("a kind of node")?;
        if kind < kind::FIRST_LEAF {
            let message = format!("leaves have kinds from {} on", kind::FIRST_LEAF);
            return Err(Fault::new(TextCode::Value, span, message));
        }
        self.expect(b',')?;
        let aux = self.integer("a number below 65536")?;
        self.expect(b',')?;
        let flags = self.integer("a number below 256")?;
        self.expect(b',')?;
        let a = self.integer("a 32-bit number")?;
        self.expect(b',')?;
        let b = self.integer("a 32-bit number")?;
        self.expect(b')')?;
        let leaf = self.function.add_leaf(kind, flags, aux, a, b);
        self.type_immediate(leaf);
        Ok(leaf)
    }

    /// `domain::name:overload@version`
    pub(super) fn operator(&mut self) -> Parsed<NodeId> {
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

    /// An operand. A literal is bound before the binding in which it appears.
    pub(super) fn operand(&mut self) -> Parsed<NodeId> {
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
            _ if self.at_leaf() => self.leaf(),
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
    pub(super) fn arguments(&mut self, mut statement: Statement<'s>) -> Parsed<()> {
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

    pub(super) fn next_argument(&mut self, statement: Statement<'s>) -> Parsed<()> {
        if !self.eat(b',') && !self.is(b')') {
            let fault = self.expected("`,` or `)`");
            return self.fail(statement, fault);
        }
        self.arguments(statement)
    }

    pub(super) fn list_item(&mut self, statement: Statement<'s>) -> Parsed<()> {
        if !self.is_word("fn") {
            let fault = self.expected("a function, `fn (…) { … }`");
            return self.fail(statement, fault);
        }
        self.bump();
        self.nest(Params::Required, statement, Then::ListItem)
    }

    pub(super) fn argument(&mut self, statement: &mut Statement<'s>) -> Parsed<Next> {
        if !self.at_attr() {
            if self.is_prim() {
                let operand = self.expression()?;
                statement.push(operand);
            } else {
                let operand = self.operand()?;
                statement.operands.push(operand);
            }
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
    pub(super) fn finish(&mut self, mut statement: Statement<'s>) -> Parsed<()> {
        if self.is_prim() {
            return self.prim_finish(statement);
        }
        match self.make(&mut statement) {
            Ok(node) if matches!(statement.target, Target::None) && self.is(b'}') => self.end_block(&[node], None),
            Ok(_) => self.expect(b';'),
            Err(fault) => self.fail(statement, fault),
        }
    }

    pub(super) fn make(&mut self, statement: &mut Statement<'s>) -> Parsed<NodeId> {
        let mut n_results = match &statement.target {
            Target::Each(fields) => {
                let most = u16::try_from(fields.len());
                Some(most.map_err(|_| self.limit(statement, "a call has at most 65535 results"))?)
            }
            _ => None,
        };
        if let Some(n_carried) = statement.n_carried {
            let implied = u16::try_from(n_carried).ok().filter(|&n| n > 1);
            if n_results.is_some() && n_results != implied {
                let fault =
                    Fault::new(TextCode::Value, statement.start..self.end, "these are not the values that are carried");
                return Err(fault.help(format!("the loop carries {n_carried}")));
            }
            n_results = implied;
        }
        self.settle_statement(statement)?;
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
        match statement.ty {
            Some(ty) => self.function.set_type(node, ty),
            None => self.type_by_rule(node),
        }
        self.place(node);
        self.name(statement, node);
        Ok(node)
    }
}
