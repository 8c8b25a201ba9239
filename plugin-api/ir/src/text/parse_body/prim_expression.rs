//! The parser: expressions of loop programs. Nested ones are bound in front, from left to right.

use super::*;
use crate::text::{
    number::{Scalar, split_suffix},
    parse_const::encode,
    prim::{self, PREFIXES, WEAKEST, core_op, default_elem, elem_of, partners, scalar_elem, split_word},
    words::LITERALS,
};

/// Expressions are nested no deeper.
const MOST_NESTED: usize = 128;

/// The result of an expression.
pub(super) enum Operand<'s> {
    /// Something that is there already.
    Named(NodeId),
    /// A binding that the expression made.
    Made(NodeId),
    /// A number, whose type may depend on what it is an operand of.
    Literal(Literal<'s>),
}

impl<'s> Parser<'s> {
    /// An expression, as a right-hand side or nested in another one.
    pub(super) fn expression(&mut self) -> Parsed<Operand<'s>> {
        self.deeper(|parser| {
            let first = parser.prefixed()?;
            parser.continue_expression(first)
        })
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MOST_NESTED {
            let message = format!("expressions are nested more than {MOST_NESTED} deep here");
            return Err(Fault::new(TextCode::Limit, self.span.clone(), message).help("bind a part of it to a name"));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// The infix operator that is next, and its precedence.
    pub(super) fn infix(&self) -> Option<(CoreOp, u8)> {
        match self.token {
            Token::Punct(mark) => prim::infix(&[mark]),
            Token::Infix(mark) => prim::infix(mark.as_bytes()),
            _ => None,
        }
    }

    /// The rest of an expression behind its first operand.
    pub(super) fn continue_expression(&mut self, first: Operand<'s>) -> Parsed<Operand<'s>> {
        self.climb(first, WEAKEST)
    }

    /// As much of an expression as binds at least that strongly: one level of recursion for each level of precedence.
    fn climb(&mut self, mut left: Operand<'s>, least: u8) -> Parsed<Operand<'s>> {
        while let Some((op, level)) = self.infix().filter(|&(_, level)| level >= least) {
            self.bump();
            let right = self.prefixed()?;
            let right = self.climb(right, level + 1)?;
            left = Operand::Made(self.place_core(op, vec![left, right])?);
        }
        if let Token::Literal(text) = self.token
            && let Some(digits) = text.strip_prefix('-')
        {
            let fault = self.expected("an operator");
            return Err(fault.help(format!("`{text}` is a number: write `- {digits}` to subtract")));
        }
        Ok(left)
    }

    fn prefixed(&mut self) -> Parsed<Operand<'s>> {
        let Some((_, op)) = PREFIXES.into_iter().find(|&(mark, _)| self.is(mark)) else {
            return self.primary();
        };
        self.bump();
        let operand = self.deeper(Self::prefixed)?;
        self.place_core(op, vec![operand]).map(Operand::Made)
    }

    fn primary(&mut self) -> Parsed<Operand<'s>> {
        if self.at_number() {
            return self.number_literal().map(Operand::Literal);
        }
        if self.at_call() {
            return self.nested_call().map(Operand::Made);
        }
        let named = match self.token {
            Token::Punct(b'(') => {
                self.bump();
                let operand = self.expression()?;
                self.expect(b')')?;
                return self.projection(operand);
            }
            Token::Name(_) | Token::Number(_) => {
                let Some((symbol, span)) = self.symbol() else {
                    return Err(self.expected("a value"));
                };
                let node = self.lookup(&symbol, span)?;
                if !self.is(b'[') || !self.has_elements(node) {
                    return self.projection(Operand::Named(node));
                }
                let mut statement = Statement::new(self.span.start, LetForm::Graph, Target::None, None);
                self.core_callee(&mut statement, CoreOp::Load);
                statement.operands.push(node);
                self.indices(&mut statement)?;
                return self.place_call(&mut statement).map(Operand::Made);
            }
            Token::Word("_") | Token::Global(_) | Token::Punct(b'&') => self.operand()?,
            _ if self.at_leaf() => self.operand()?,
            Token::Word("const" | "splat" | "opaque") if *self.peek() == Token::Punct(b'(') => {
                let tensor = self.tensor()?;
                let constant = self.function.add_constant(tensor, ConstForm::ANY);
                self.place(constant);
                return Ok(Operand::Made(constant));
            }
            Token::Str(_) | Token::Punct(b'[') => {
                let fault = self.expected("a value");
                return Err(fault.help("memory with given contents is `const(int64, [1, 2])`"));
            }
            Token::Word("if" | "for" | "while" | "when" | "alloc" | "fn") => {
                let fault = self.expected("a value");
                return Err(fault.help("this is bound to a name first: `%name = …;`"));
            }
            _ => return Err(self.expected("a value")),
        };
        Ok(Operand::Named(named))
    }

    /// Whether `%b[…]` is an element of memory rather than an item of a tuple.
    pub(super) fn has_elements(&self, node: NodeId) -> bool {
        node.is_absent() || self.prim.as_ref().is_some_and(|ops| ops.is_memory(&self.function, node))
    }

    /// `[2]` behind a tuple.
    pub(super) fn projection(&mut self, tuple: Operand<'s>) -> Parsed<Operand<'s>> {
        if !self.is(b'[') {
            return Ok(tuple);
        }
        let tuple = self.alone(tuple)?;
        self.bump();
        let index = self.integer("an index below 65536")?;
        self.expect(b']')?;
        let item = self.function.add_tuple_get_item(tuple, index);
        self.type_by_rule(item);
        self.place(item);
        Ok(Operand::Made(item))
    }

    /// `[i, j]` behind memory.
    pub(super) fn indices(&mut self, statement: &mut Statement<'s>) -> Parsed<()> {
        self.expect(b'[')?;
        while !self.is(b']') {
            let index = self.expression()?;
            statement.push(index);
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b']')
    }

    // ---- calls --------------------------------------------------------------------------------------------------------

    /// Whether a callee is next.
    pub(super) fn at_call(&self) -> bool {
        match self.token {
            Token::Word("_" | "leaf" | "node" | "const" | "splat" | "opaque") => false,
            Token::Word("if" | "fn" | "let" | "else" | "hex" | "def" | "prim" | "global") => false,
            Token::Word(_) if self.at_number() => false,
            Token::Word(_) | Token::Str(_) => {
                matches!(self.peek(), Token::Punct(b'(' | b':') | Token::Path | Token::Version(_))
            }
            Token::Name(_) | Token::Number(_) | Token::Global(_) => *self.peek() == Token::Punct(b'('),
            _ => false,
        }
    }

    /// The callee: a core operator by its bare name, an element type, or as in graphs.
    pub(super) fn callee(&mut self, statement: &mut Statement<'s>) -> Parsed<()> {
        if let Token::Word(word) = self.token
            && *self.peek() == Token::Punct(b'(')
        {
            if let Some(op) = CoreOp::from_name(word) {
                if !op.info().regions.is_empty() {
                    let fault = self.expected("another expression");
                    return Err(fault.help(format!("as a call it is written `tir::{word}(…)`")));
                }
                self.bump();
                self.core_callee(statement, op);
                return Ok(());
            }
            if ElemType::from_name(word).is_some() {
                self.bump();
                self.core_callee(statement, CoreOp::Cast);
                self.core_attr(statement, "elem", word);
                return Ok(());
            }
        }
        let callee = match self.token {
            Token::Word(_) | Token::Str(_) => self.operator()?,
            _ => self.operand()?,
        };
        statement.operands.push(callee);
        statement.expr = Expression::Call;
        Ok(())
    }

    fn nested_call(&mut self) -> Parsed<NodeId> {
        let mut statement = Statement::new(self.span.start, LetForm::Graph, Target::None, None);
        self.callee(&mut statement)?;
        self.expect(b'(')?;
        while !self.is(b')') {
            let span = self.span.clone();
            let is_function = self.is_word("fn") && *self.peek() != Token::Punct(b'=');
            if is_function || !matches!(self.argument(&mut statement)?, Next::Argument) {
                let fault = Fault::new(TextCode::Syntax, span, "a function stands in a call that is nested");
                return Err(fault.help("bind the call to a name first: `%name = …;`"));
            }
            if !self.eat(b',') && !self.is(b')') {
                return Err(self.expected("`,` or `)`"));
            }
        }
        self.bump();
        self.place_call(&mut statement)
    }

    /// Binds the call of a core operator.
    pub(super) fn place_core(&mut self, op: CoreOp, operands: Vec<Operand<'s>>) -> Parsed<NodeId> {
        let mut statement = Statement::new(self.span.start, LetForm::Graph, Target::None, None);
        self.core_callee(&mut statement, op);
        operands.into_iter().for_each(|operand| statement.push(operand));
        self.place_call(&mut statement)
    }

    /// Binds a call without functions, and takes it from the statement.
    pub(super) fn place_call(&mut self, statement: &mut Statement<'s>) -> Parsed<NodeId> {
        self.settle_statement(statement)?;
        let operands = std::mem::take(&mut statement.operands);
        let node = self.function.add_call_with(operands[0], &operands[1..], &[], None);
        self.function.set_attr_recs(node, &std::mem::take(&mut statement.attrs));
        self.type_by_rule(node);
        self.place(node);
        Ok(node)
    }

    // ---- literals -----------------------------------------------------------------------------------------------------

    fn at_number(&self) -> bool {
        match self.token {
            Token::Literal(_) => true,
            Token::Word(word) => LITERALS.contains(&word) || split_word(word).is_some(),
            _ => false,
        }
    }

    fn number_literal(&mut self) -> Parsed<Literal<'s>> {
        let start = self.span.start;
        let (scalar, suffix) = match self.token {
            Token::Literal(text) => {
                self.bump();
                (Scalar::Number(text), split_suffix(text).1)
            }
            Token::Word(word) => {
                self.bump();
                let (head, suffix) = split_word(word).unwrap_or((word, None));
                if head == "nan" && self.eat(b'(') {
                    let bits = self.integer("the bits of a NaN")?;
                    self.expect(b')')?;
                    (Scalar::NanBits(bits), suffix)
                } else {
                    (Scalar::Word(head), suffix)
                }
            }
            _ => return Err(self.expected("a number")),
        };
        Ok(Literal { scalar, suffix, span: start..self.end })
    }

    /// The immediate of a literal, `wanted` being the element type that its place gives it.
    fn immediate(&mut self, literal: Literal<'s>, wanted: Option<ElemType>) -> Parsed<NodeId> {
        let own = literal.own_elem();
        let elem = match wanted {
            Some(wanted) if literal.suffix.is_none() && own != ElemType::BOOL => {
                if default_elem(wanted) != own {
                    let fault =
                        Fault::new(TextCode::Value, literal.span, format!("this is not a value of type `{wanted}`"));
                    return Err(match literal.scalar {
                        Scalar::Number(text) if wanted.is_float() && !text.contains('x') => {
                            fault.help(format!("write `{text}.0`"))
                        }
                        _ if wanted == ElemType::BOOL => fault.help("write `true` or `false`"),
                        _ => fault.help("a suffix, as in `1i32`, says another type"),
                    });
                }
                wanted
            }
            _ => own,
        };
        let mut bytes = Vec::with_capacity(8);
        encode(elem, &literal.scalar, &mut bytes)
            .map_err(|message| Fault::new(TextCode::Value, literal.span.clone(), message))?;
        bytes.resize(8, 0);
        let bits = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        match Imm::new(elem, bits) {
            Some(imm) => Ok(self.add_imm(imm)),
            None => Err(Fault::new(TextCode::Value, literal.span, format!("this is not a value of type `{elem}`"))),
        }
    }

    /// A typed immediate.
    pub(super) fn add_imm(&mut self, imm: Imm) -> NodeId {
        let id = self.function.add_imm(imm);
        self.type_immediate(id);
        id
    }

    /// Types an immediate; another leaf has no type.
    pub(super) fn type_immediate(&mut self, id: NodeId) {
        if let Some(imm) = self.function.imm(id).filter(|_| self.is_prim()) {
            let ty = self.function.add_type(Type::Tensor { elem: imm.elem(), shape: Some(&[]) });
            self.function.set_type(id, ty);
        }
    }

    /// An operand where nothing gives literals a type.
    pub(super) fn alone(&mut self, operand: Operand<'s>) -> Parsed<NodeId> {
        self.value_of_type(operand, None)
    }

    /// An operand where literals take the element type of this type.
    pub(super) fn value_of_type(&mut self, operand: Operand<'s>, ty: Option<TypeId>) -> Parsed<NodeId> {
        match operand {
            Operand::Named(node) | Operand::Made(node) => Ok(node),
            Operand::Literal(literal) => {
                let wanted = ty.and_then(|ty| scalar_elem(&self.function, ty));
                self.immediate(literal, wanted)
            }
        }
    }

    /// Makes the literals of a statement immediates.
    pub(super) fn settle_statement(&mut self, statement: &mut Statement<'s>) -> Parsed<()> {
        if statement.literals.is_empty() {
            return Ok(());
        }
        let literals = std::mem::take(&mut statement.literals);
        let (op, first) = match statement.expr {
            Expression::Call => (core_op(&self.function, statement.operands[0]), 1),
            _ => (None, 0),
        };
        let n_args = statement.operands.len() - first;
        let wanted: Vec<Option<ElemType>> = literals
            .iter()
            .map(|&(at, _)| {
                let range = partners(op?, at - first, n_args);
                let values = statement.operands[first..][range.clone()].iter();
                let suffixes = literals.iter().filter(|(at, _)| range.contains(&(at - first)));
                // A literal has no node yet, and so no type.
                values
                    .filter_map(|&id| elem_of(&self.function, id))
                    .chain(suffixes.filter_map(|(_, literal)| literal.suffix))
                    .next()
            })
            .collect();
        for ((at, literal), wanted) in literals.into_iter().zip(wanted) {
            statement.operands[at] = self.immediate(literal, wanted)?;
        }
        Ok(())
    }
}
