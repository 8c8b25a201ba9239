//! The parser: statements of loop programs.

use super::{prim_expression::Operand, *};
use crate::{
    prim::{DOMAIN, LoopKind, rule},
    text::prim::{COUNT, SCOPES, core_op},
};

/// Words that begin a statement which ends with its block.
const CONTROL: [&str; 3] = ["for", "while", "when"];

/// A value that a loop carries: its name within the loop, its type if that was given, and what it begins with.
struct Carried<'s> {
    symbol: Symbol<'s>,
    span: Range<usize>,
    node: NodeId,
}

impl<'s> Parser<'s> {
    /// A statement up to its first block, or the end of a block.
    pub(super) fn prim_step(&mut self) -> Parsed<()> {
        let start = self.span.start;
        if self.eat(b'}') {
            return self.close(&[], None);
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
                if *self.peek() == Token::Punct(b'[') {
                    return self.store_or_result(start);
                }
            }
            Token::Punct(b'(') => return self.results_or_targets(start, let_form),
            _ if let_form == LetForm::Let => return Err(self.expected("a name")),
            _ => {}
        }
        self.prim_rhs(Statement::new(start, let_form, Target::None, None))
    }

    /// Whether a statement may begin here, behind one that ended with its block.
    pub(super) fn at_statement(&self) -> bool {
        self.is_prim()
            && match self.token {
                Token::Word(word) => !matches!(word, "else" | "do"),
                Token::Name(_) | Token::Number(_) | Token::Global(_) | Token::Punct(b'}' | b'(') => true,
                _ => false,
            }
    }

    /// The right-hand side of a binding, or a statement without a target.
    pub(super) fn prim_rhs(&mut self, mut statement: Statement<'s>) -> Parsed<()> {
        match self.token {
            Token::Word("fn") => {
                self.bump();
                return self.nest(Params::Required, statement, Then::Bound);
            }
            Token::Word(word) if CONTROL.contains(&word) && !self.at_qualified() => {
                let head = match word {
                    "for" => self.for_head(&mut statement).map(|header| (header, true)),
                    "while" => return self.while_loop(statement),
                    _ => self.when_head(&mut statement).map(|header| (header, false)),
                };
                return match head {
                    Ok((header, true)) => {
                        self.open_loop(header, 1, Then::Control(statement));
                        Ok(())
                    }
                    Ok((header, false)) => {
                        self.open(header, Then::When(statement));
                        Ok(())
                    }
                    Err(fault) => self.fail(statement, fault),
                };
            }
            _ => {}
        }
        match self.prim_head(&mut statement) {
            Err(fault) => self.fail(statement, fault),
            Ok(None) => match statement.expr {
                Expression::If => self.nest(Params::Optional, statement, Then::Branch),
                Expression::Call | Expression::Raw { .. } => self.arguments(statement),
                _ => self.finish(statement),
            },
            Ok(Some(operand)) => self.end_expression(statement, operand),
        }
    }

    /// Whether a word is the domain of an operator, or has a version.
    fn at_qualified(&self) -> bool {
        matches!(self.peek(), Token::Path | Token::Version(_) | Token::Punct(b':'))
    }

    /// A right-hand side up to its first argument or function, or all of it if it is an expression.
    fn prim_head(&mut self, statement: &mut Statement<'s>) -> Parsed<Option<Operand<'s>>> {
        match self.token {
            Token::Word("if") => {
                self.bump();
                let condition = self.condition()?;
                statement.operands.push(condition);
                statement.expr = Expression::If;
            }
            Token::Word("node") if *self.peek() == Token::Punct(b'(') => {
                statement.expr = self.raw_head()?;
                self.expect(b'(')?;
            }
            Token::Word("const" | "splat" | "opaque") if *self.peek() == Token::Punct(b'(') => {
                statement.expr = Expression::Constant(self.tensor()?);
            }
            Token::Word("alloc") if !self.at_qualified() && *self.peek() != Token::Punct(b'(') => {
                self.alloc(statement)?;
                return self.place_call(statement).map(|node| Some(Operand::Made(node)));
            }
            Token::Punct(b'(') => return self.tuple_or_parenthesis(statement),
            _ if self.at_call() => {
                self.callee(statement)?;
                self.expect(b'(')?;
            }
            _ => return self.expression().map(Some),
        }
        Ok(None)
    }

    /// `(a, b)`, or an expression that begins with a parenthesis.
    fn tuple_or_parenthesis(&mut self, statement: &mut Statement<'s>) -> Parsed<Option<Operand<'s>>> {
        self.bump();
        let (mut fields, mut is_tuple) = (Vec::new(), self.is(b')'));
        while !self.is(b')') {
            fields.push(self.expression()?);
            if !self.eat(b',') {
                break;
            }
            is_tuple = true;
        }
        self.expect(b')')?;
        if !is_tuple && let Some(operand) = fields.pop() {
            let operand = self.projection(operand)?;
            return self.continue_expression(operand).map(Some);
        }
        fields.into_iter().for_each(|field| statement.push(field));
        statement.expr = Expression::Tuple;
        Ok(None)
    }

    /// `(condition)`
    fn condition(&mut self) -> Parsed<NodeId> {
        self.expect(b'(')?;
        let condition = self.expression()?;
        self.expect(b')')?;
        self.alone(condition)
    }

    /// `%b[…] = value;`, or an expression that begins with `%b[…]`.
    fn store_or_result(&mut self, start: usize) -> Parsed<()> {
        let mut statement = Statement::new(start, LetForm::Graph, Target::None, None);
        let Some((symbol, span)) = self.symbol() else {
            return Err(self.expected("a name"));
        };
        let memory = self.lookup(&symbol, span)?;
        if !self.has_elements(memory) {
            let operand = self.projection(Operand::Named(memory))?;
            let operand = self.continue_expression(operand)?;
            return self.end_expression(statement, operand);
        }
        self.core_callee(&mut statement, CoreOp::Load);
        statement.operands.push(memory);
        self.indices(&mut statement)?;
        if !self.is(b'=') {
            let load = self.place_call(&mut statement)?;
            let operand = self.continue_expression(Operand::Made(load))?;
            return self.end_expression(Statement::new(start, LetForm::Graph, Target::None, None), operand);
        }
        self.bump();
        let value = self.expression()?;
        self.core_callee(&mut statement, CoreOp::Store);
        statement.insert(2, value);
        let store = self.place_call(&mut statement)?;
        self.end_expression(Statement::new(start, LetForm::Graph, Target::None, None), Operand::Made(store))
    }

    /// `(a, b)`: the results of the block, the targets of the next binding, or the beginning of an expression.
    fn results_or_targets(&mut self, start: usize, let_form: LetForm) -> Parsed<()> {
        enum Field<'s> {
            Target(TargetField<'s>),
            Value(Operand<'s>),
        }
        self.bump();
        let (mut fields, mut is_list) = (Vec::new(), self.is(b')'));
        while !self.is(b')') {
            let is_target = matches!(self.peek(), Token::Punct(b',' | b')' | b':'));
            if is_target && self.is_word("_") {
                self.bump();
                fields.push(Field::Target(TargetField { symbol: None, ty: None }));
            } else if is_target && let Some(symbol) = self.symbol() {
                let ty = if self.eat(b':') { Some(self.ty()?) } else { None };
                fields.push(Field::Target(TargetField { symbol: Some(symbol), ty }));
            } else {
                fields.push(Field::Value(self.expression()?));
            }
            if !self.eat(b',') {
                break;
            }
            is_list = true;
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
        let mut operands = Vec::with_capacity(fields.len());
        for field in fields {
            operands.push(match field {
                Field::Value(value) => value,
                Field::Target(TargetField { symbol: None, .. }) => Operand::Named(NodeId::ABSENT),
                Field::Target(TargetField { symbol: Some((symbol, span)), .. }) => {
                    Operand::Named(self.lookup(&symbol, span)?)
                }
            });
        }
        if !is_list && let Some(operand) = operands.pop() {
            let operand = self.projection(operand)?;
            let operand = self.continue_expression(operand)?;
            return self.end_expression(Statement::new(start, let_form, Target::None, None), operand);
        }
        let ty = if self.eat(b':') { Some(self.ty()?) } else { None };
        self.prim_results(operands, ty)
    }

    /// The results of a block, up to its end.
    fn prim_results(&mut self, operands: Vec<Operand<'s>>, ty: Option<TypeId>) -> Parsed<()> {
        let mut results = Vec::with_capacity(operands.len());
        for (at, operand) in operands.into_iter().enumerate() {
            let expected = self.frames.last().and_then(|frame| frame.expected.get(at).copied());
            results.push(self.value_of_type(operand, expected)?);
        }
        self.end_block(&results, ty.filter(|_| results.len() != 1))
    }

    // ---- ends ---------------------------------------------------------------------------------------------------------

    /// The end of a statement that is an expression, from its metadata on.
    fn end_expression(&mut self, mut statement: Statement<'s>, operand: Operand<'s>) -> Parsed<()> {
        match self.name_expression(&mut statement, operand) {
            Ok(Some(operand)) => self.prim_results(vec![operand], None),
            Ok(None) => self.expect(b';'),
            Err(fault) => self.fail(statement, fault),
        }
    }

    /// Describes and names the value of an expression; returns it if it is the result of the block.
    fn name_expression(&mut self, statement: &mut Statement<'s>, operand: Operand<'s>) -> Parsed<Option<Operand<'s>>> {
        let has_target = !matches!(statement.target, Target::None);
        let node = match operand {
            Operand::Made(node) => node,
            _ if !has_target && self.is(b'}') => return Ok(Some(operand)),
            Operand::Named(_) if has_target => {
                let fault = Fault::new(TextCode::Syntax, statement.start..self.end, "a value has one name");
                return Err(fault.help("use the name that it has"));
            }
            Operand::Literal(_) if has_target => {
                let fault = Fault::new(TextCode::Syntax, statement.start..self.end, "a number is not bound to a name");
                return Err(fault.help("write it where it is used, or `const(…)` for memory with these contents"));
            }
            _ if self.is(b';') => {
                let fault = Fault::new(TextCode::Syntax, statement.start..self.end, "this statement does nothing");
                return Err(fault.help("a value at the end of a block, without `;`, is its result"));
            }
            _ => return Err(self.expected("`}` behind the result of a block")),
        };
        if let Target::Each(_) = statement.target {
            let fault = Fault::new(TextCode::Value, statement.start..self.end, "this expression has one value");
            return Err(fault);
        }
        let metadata = self.metadata()?;
        if let Some((_, span)) = &metadata.form {
            return Err(Fault::new(TextCode::Syntax, span.clone(), "only constants have a form"));
        }
        if !metadata.attrs.is_empty() {
            let attrs = [self.function.attr_recs(node), &metadata.attrs].concat();
            self.function.set_attr_recs(node, &attrs);
        }
        if metadata.listed.is_some() {
            self.function.set_listed_input(node);
        }
        self.hidden_name(node, metadata.name);
        self.function.set_let(node, statement.let_form);
        if let Some(ty) = statement.ty {
            self.function.set_type(node, ty);
        }
        self.name(statement, node);
        let is_result = !has_target && self.is(b'}') && !self.is_effect(node);
        Ok(is_result.then_some(Operand::Made(node)))
    }

    /// The end of a binding that is a call or has functions.
    pub(super) fn prim_finish(&mut self, mut statement: Statement<'s>) -> Parsed<()> {
        if let Expression::Call = statement.expr
            && statement.regions.is_empty()
            && self.infix().is_some()
        {
            // It is the first operand of an expression.
            let mut first = statement.take_call();
            let operand = match self.make(&mut first) {
                Ok(node) => self.continue_expression(Operand::Made(node)),
                Err(fault) => Err(fault),
            };
            return match operand {
                Ok(operand) => self.end_expression(statement, operand),
                Err(fault) => self.fail(statement, fault),
            };
        }
        match self.make(&mut statement) {
            Ok(node) if matches!(statement.target, Target::None) && self.is(b'}') && !self.is_effect(node) => {
                self.end_block(&[node], None)
            }
            Ok(_) => self.expect(b';'),
            Err(fault) => self.fail(statement, fault),
        }
    }

    /// Whether a call is there for its effect.
    fn is_effect(&self, node: NodeId) -> bool {
        let Some(call) = self.function.call(node) else { return false };
        match core_op(&self.function, call.callee()) {
            Some(CoreOp::For | CoreOp::While) => false,
            Some(op) => op.is_statement(),
            None => self.function.kind(call.callee()) == kind::GLOBAL_VAR,
        }
    }

    // ---- types --------------------------------------------------------------------------------------------------------

    /// The type that the rules of loop programs give a binding.
    pub(super) fn rule_type(&mut self, node: NodeId) -> TypeId {
        let Some(ops) = &mut self.prim else { return TypeId::UNKNOWN };
        ops.update(&self.function);
        rule(&self.function, ops, node).map_or(TypeId::UNKNOWN, |made| made.add_to(&mut self.function))
    }

    /// Types a binding of a loop program. Tensors and functions have types of their own.
    pub(super) fn type_by_rule(&mut self, node: NodeId) {
        if self.is_prim() && matches!(self.function.kind(node), kind::CALL | kind::IF | kind::TUPLE_GET_ITEM) {
            let ty = self.rule_type(node);
            self.function.set_type(node, ty);
        }
    }

    /// In a loop program, makes the results of a function the expected ones of the innermost block.
    pub(super) fn expect_results_of(&mut self, function: NodeId) {
        if self.is_prim()
            && let Some(frame) = self.frames.last_mut()
        {
            let results = self.function.results(self.function.block_of(function));
            frame.expected = results.iter().map(|&id| self.function.type_id(id)).collect();
        }
    }

    // ---- calls --------------------------------------------------------------------------------------------------------

    /// Makes a statement the call of a core operator.
    pub(super) fn core_callee(&mut self, statement: &mut Statement<'s>, op: CoreOp) {
        let op = self.function.add_op(DOMAIN, op.name(), "", 0);
        let callee = self.function.op(op).node;
        match statement.operands.first_mut() {
            Some(first) => *first = callee,
            None => statement.operands.push(callee),
        }
        statement.expr = Expression::Call;
    }

    pub(super) fn core_attr(&mut self, statement: &mut Statement<'s>, name: &'static str, value: impl Into<AttrData>) {
        let rec = self.function.encode_attr(&Attr::new(name, value.into()));
        statement.attrs.push(rec);
    }

    /// `alloc static float32[4, 4]`
    fn alloc(&mut self, statement: &mut Statement<'s>) -> Parsed<()> {
        self.bump();
        self.core_callee(statement, CoreOp::Alloc);
        let scope = match self.token {
            Token::Word(word) => SCOPES.into_iter().find(|&scope| scope == word),
            _ => None,
        };
        if scope.is_some() {
            self.bump();
        }
        let elem = self.elem()?;
        self.expect(b'[')?;
        let mut sizes: Vec<i64> = Vec::new();
        while !self.is(b']') {
            sizes.push(self.integer("a size")?);
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b']')?;
        self.core_attr(statement, "shape", sizes);
        self.core_attr(statement, "elem", elem.name().unwrap_or_default());
        if let Some(scope) = scope {
            self.core_attr(statement, "scope", scope);
        }
        Ok(())
    }

    // ---- control ------------------------------------------------------------------------------------------------------

    /// The name of a loop's parameter, with its type and metadata.
    fn loop_param(&mut self, what: &str) -> Parsed<(Carried<'s>, Option<TypeId>)> {
        let Some((symbol, span)) = self.symbol() else {
            return Err(self.expected(what));
        };
        let ty = if self.eat(b':') { Some(self.ty()?) } else { None };
        let node = self.function.add_var("", TypeId::UNKNOWN);
        let metadata = self.metadata()?;
        if let Some((_, span)) = &metadata.form {
            return Err(Fault::new(TextCode::Syntax, span.clone(), "only constants have a form"));
        }
        if metadata.listed.is_some() {
            self.function.set_listed_input(node);
        }
        self.function.set_attr_recs(node, &metadata.attrs);
        self.hidden_name(node, metadata.name);
        Ok((Carried { symbol, span, node }, ty))
    }

    /// `with %a = x, %b = y`: adds what the values begin with to the operands.
    fn carried(&mut self, statement: &mut Statement<'s>) -> Parsed<Vec<Param<'s>>> {
        let mut params = Vec::new();
        if self.is_word("with") {
            self.bump();
            loop {
                let (carried, ty) = self.loop_param("a value that the loop carries, `%name = …`")?;
                self.expect(b'=')?;
                let value = self.expression()?;
                let value = self.alone(value)?;
                self.function.set_type(carried.node, ty.unwrap_or(self.function.type_id(value)));
                statement.operands.push(value);
                params.push((carried.symbol, carried.node, carried.span));
                if !self.eat(b',') {
                    break;
                }
            }
        }
        statement.n_carried = Some(params.len());
        Ok(params)
    }

    /// A function with these parameters, up to its block.
    fn loop_header(&mut self, params: Vec<Param<'s>>) -> Parsed<Header<'s>> {
        let ids: Vec<NodeId> = params.iter().map(|&(_, node, _)| node).collect();
        self.expect(b'{')?;
        Ok(Header { function: self.function.add_function(&ids), params })
    }

    /// Opens the body of a loop, whose results are like its parameters, except for the first ones.
    fn open_loop(&mut self, header: Header<'s>, n_bounds: usize, then: Then<'s>) {
        let params = header.params.iter().skip(n_bounds);
        let expected = params.map(|&(_, node, _)| self.function.type_id(node)).collect();
        self.open(header, then);
        if let Some(frame) = self.frames.last_mut() {
            frame.expected = expected;
        }
    }

    /// `for %i in a..b parallel with %x = … {`
    fn for_head(&mut self, statement: &mut Statement<'s>) -> Parsed<Header<'s>> {
        self.bump();
        self.core_callee(statement, CoreOp::For);
        let (index, ty) = self.loop_param("the variable of the loop, `%name`")?;
        if !self.is_word("in") {
            return Err(self.expected("`in`"));
        }
        self.bump();
        let first = self.expression()?;
        statement.push(first);
        let is_range = self.token == Token::Infix("..");
        if !is_range && !self.is_word(COUNT) {
            let fault = self.expected("`..`");
            return Err(fault.help("the bounds of a loop are `first..end` or `first count turns`"));
        }
        self.bump();
        let second = self.expression()?;
        statement.push(second);
        self.settle_statement(statement)?;
        if is_range {
            statement.operands[2] = self.extent(statement.operands[1], statement.operands[2])?;
        }
        self.function.set_type(index.node, ty.unwrap_or(self.function.type_id(statement.operands[1])));
        if let Token::Word(word) = self.token
            && let Some(kind) = LoopKind::from_name(word.as_bytes())
        {
            self.bump();
            self.core_attr(statement, "kind", kind.name());
        }
        let mut params = vec![(index.symbol, index.node, index.span)];
        params.extend(self.carried(statement)?);
        self.core_attr(statement, CoreOp::For.info().regions[0], AttrData::Graph(0));
        self.loop_header(params)
    }

    /// The number of turns from `first` to `end`.
    fn extent(&mut self, first: NodeId, end: NodeId) -> Parsed<NodeId> {
        let imm = |id| self.function.imm(id).filter(|imm| imm.elem().is_integer());
        match (imm(first), imm(end)) {
            (Some(first), _) if first.bits() == 0 => Ok(end),
            (Some(first), Some(end)) if first.elem() == end.elem() => {
                let extent = Imm::int(first.elem(), (end.bits().wrapping_sub(first.bits())) as i64);
                Ok(self.add_imm(extent.unwrap_or(end)))
            }
            _ => self.place_core(CoreOp::Sub, vec![Operand::Named(end), Operand::Named(first)]),
        }
    }

    /// `while with %x = … { cond } do { body }`
    fn while_loop(&mut self, mut statement: Statement<'s>) -> Parsed<()> {
        self.bump();
        self.core_callee(&mut statement, CoreOp::While);
        let head = match self.carried(&mut statement) {
            Ok(params) => self.loop_header(params.clone()).map(|header| (header, params)),
            Err(fault) => Err(fault),
        };
        match head {
            Ok((header, params)) => {
                self.open(header, Then::While(statement, params));
                Ok(())
            }
            Err(fault) => self.fail(statement, fault),
        }
    }

    /// `do { body }` or `do (%x, …) { body }`, behind a condition with these parameters.
    pub(super) fn while_body(&mut self, mut statement: Statement<'s>, outer: Vec<Param<'s>>) -> Parsed<()> {
        match self.while_params(outer) {
            Ok(params) => {
                for (at, name) in (0..).zip(CoreOp::While.info().regions) {
                    self.core_attr(&mut statement, name, AttrData::Graph(at));
                }
                match self.loop_header(params) {
                    Ok(header) => {
                        self.open_loop(header, 0, Then::Control(statement));
                        Ok(())
                    }
                    Err(fault) => self.fail(statement, fault),
                }
            }
            Err(fault) => self.fail(statement, fault),
        }
    }

    fn while_params(&mut self, outer: Vec<Param<'s>>) -> Parsed<Vec<Param<'s>>> {
        if !self.is_word("do") {
            return Err(self.expected("`do`"));
        }
        self.bump();
        let start = self.span.start;
        let mut params = Vec::with_capacity(outer.len());
        if self.eat(b'(') {
            while !self.is(b')') {
                let (param, ty) = self.loop_param("a parameter, `%name`")?;
                let like = outer.get(params.len()).map_or(TypeId::UNKNOWN, |&(_, id, _)| self.function.type_id(id));
                self.function.set_type(param.node, ty.unwrap_or(like));
                params.push((param.symbol, param.node, param.span));
                if !self.eat(b',') {
                    break;
                }
            }
            self.expect(b')')?;
            if params.len() != outer.len() {
                let message = format!("the loop carries {}, and these are {}", outer.len(), params.len());
                return Err(Fault::new(TextCode::Value, start..self.end, message));
            }
            return Ok(params);
        }
        for (symbol, id, span) in outer {
            if let Symbol::Number(number) = symbol {
                let fault = Fault::new(TextCode::Syntax, span, format!("`%{number}` is another value in the body"));
                return Err(fault.help("numbers are used once in a global function: write `do (%name, …) { … }`"));
            }
            let node = self.function.add_var("", self.function.type_id(id));
            params.push((symbol, node, span));
        }
        Ok(params)
    }

    /// `when (c) {`
    fn when_head(&mut self, statement: &mut Statement<'s>) -> Parsed<Header<'s>> {
        self.bump();
        self.core_callee(statement, CoreOp::When);
        let condition = self.condition()?;
        statement.operands.push(condition);
        self.core_attr(statement, CoreOp::When.info().regions[0], AttrData::Graph(0));
        statement.n_carried = Some(0);
        self.loop_header(Vec::new())
    }

    /// `else { … }`, if it is next.
    pub(super) fn when_else(&mut self, mut statement: Statement<'s>) -> Parsed<()> {
        if !self.is_word("else") {
            return self.end_control(statement);
        }
        self.bump();
        self.core_attr(&mut statement, CoreOp::When.info().regions[1], AttrData::Graph(1));
        match self.loop_header(Vec::new()) {
            Ok(header) => {
                self.open(header, Then::Control(statement));
                Ok(())
            }
            Err(fault) => self.fail(statement, fault),
        }
    }

    /// The end of a `for`, `while` or `when`: as a statement without values it needs no `;`.
    pub(super) fn end_control(&mut self, mut statement: Statement<'s>) -> Parsed<()> {
        if !matches!(statement.target, Target::None) || statement.n_carried != Some(0) {
            return self.finish(statement);
        }
        match self.make(&mut statement) {
            Ok(_) => {
                self.eat(b';');
                Ok(())
            }
            Err(fault) => self.fail(statement, fault),
        }
    }
}

impl<'s> Statement<'s> {
    /// Adds an operand.
    pub(super) fn push(&mut self, operand: Operand<'s>) {
        self.insert(self.operands.len(), operand);
    }

    /// Adds an operand before the one at a place.
    pub(super) fn insert(&mut self, at: usize, operand: Operand<'s>) {
        self.literals.iter_mut().filter(|(place, _)| *place >= at).for_each(|(place, _)| *place += 1);
        let node = match operand {
            Operand::Named(node) | Operand::Made(node) => node,
            Operand::Literal(literal) => {
                self.literals.push((at, literal));
                NodeId::ABSENT
            }
        };
        self.operands.insert(at, node);
    }

    /// The call without what it is bound to, which stays.
    fn take_call(&mut self) -> Self {
        let rest = Statement::new(self.start, self.let_form, Target::None, self.ty);
        let call = std::mem::replace(self, rest);
        self.target = call.target;
        Statement { target: Target::None, let_form: LetForm::Graph, ty: None, ..call }
    }
}
