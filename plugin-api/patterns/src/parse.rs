//! The parser: rules, left sides, and the parts that both sides have.

use crate::{
    MAX_BYTES, MAX_DEPTH, MAX_FAULTS, MAX_PARTS, MAX_ROOTS, RuleCode, RuleFault,
    ast::*,
    lex::{Kind, Token, tokens},
};

/// The rest of the rule cannot be parsed; the reason has been recorded.
pub(crate) struct Stop;

pub(crate) type Parsed<T> = Result<T, Stop>;

pub(crate) const KEYWORDS: &[&str] = &["if", "in", "as", "const", "splat", "like", "none", "_"];

const ARGUMENT: &str = "an argument is a variable, a call, a number, a list, `_`, `none`, `?v`, `..v` or `const v`";

/// Parses all rules of a text, without checking them.
pub(crate) fn rules(text: &str) -> (Vec<Rule>, Vec<RuleFault>) {
    if text.len() > MAX_BYTES {
        let message = format_args!("the text has {} bytes", text.len());
        let help = format_args!("at most {MAX_BYTES} are allowed");
        return (Vec::new(), vec![RuleFault::new(RuleCode::Limit, TextSpan::default(), message).help(help)]);
    }
    let (tokens, faults) = tokens(text);
    let mut parser = Parser { text, tokens, at: 0, depth: 0, n_parts: 0, faults };
    let mut rules = Vec::new();
    loop {
        if parser.faults.len() >= MAX_FAULTS {
            break;
        }
        (parser.depth, parser.n_parts) = (0, 0);
        match parser.rule().and_then(|rule| parser.rule_end().map(|()| rule)) {
            Ok(rule) => rules.push(rule),
            Err(Stop) => parser.skip_rule(),
        }
        parser.accept(";");
        if parser.peek().kind == Kind::End {
            break;
        }
    }
    (rules, parser.faults)
}

pub(crate) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    n_parts: usize,
    faults: Vec<RuleFault>,
}

impl Parser<'_> {
    pub fn peek(&self) -> Token {
        self.ahead(0)
    }

    pub fn ahead(&self, n: usize) -> Token {
        let last = self.tokens.len() - 1;
        self.tokens[(self.at + n).min(last)]
    }

    pub fn next(&mut self) -> Token {
        let token = self.peek();
        self.at += 1;
        token
    }

    pub fn text_of(&self, span: TextSpan) -> &str {
        &self.text[span.start..span.end]
    }

    pub fn is(&self, sign: &str) -> bool {
        matches!(self.peek().kind, Kind::Sign(found) if found == sign)
    }

    pub fn accept(&mut self, sign: &str) -> bool {
        let is = self.is(sign);
        self.at += usize::from(is);
        is
    }

    pub fn is_word(&self, word: &str) -> bool {
        let token = self.peek();
        token.kind == Kind::Word && self.text_of(token.span) == word
    }

    pub fn accept_word(&mut self, word: &str) -> bool {
        let is = self.is_word(word);
        self.at += usize::from(is);
        is
    }

    /// Whether a name begins here that is not a keyword.
    pub fn is_name(&self) -> bool {
        let token = self.peek();
        token.kind == Kind::Word && !KEYWORDS.contains(&self.text_of(token.span))
    }

    pub fn fail<T>(&mut self, fault: RuleFault) -> Parsed<T> {
        self.faults.push(fault);
        Err(Stop)
    }

    /// Fails at the current token, where something else was expected.
    pub fn expected<T>(&mut self, what: &str, help: &str) -> Parsed<T> {
        let Token { kind, span } = self.peek();
        let found = match kind {
            Kind::End => "the end".to_owned(),
            _ => format!("`{}`", self.text_of(span).chars().take(40).collect::<String>()),
        };
        self.fail(RuleFault::new(RuleCode::Syntax, span, format_args!("expected {what}, found {found}")).help(help))
    }

    pub fn expect(&mut self, sign: &str, help: &str) -> Parsed<()> {
        if self.accept(sign) { Ok(()) } else { self.expected(&format!("`{sign}`"), help) }
    }

    pub fn name(&mut self, what: &str) -> Parsed<Name> {
        if !self.is_name() {
            return self.expected(what, "a name begins with a letter or `_`, and is not a keyword");
        }
        let span = self.next().span;
        Ok(Name { text: self.text_of(span).to_owned(), span })
    }

    pub fn span_from(&self, start: TextSpan) -> TextSpan {
        let end = self.tokens[self.at.saturating_sub(1).min(self.tokens.len() - 1)].span.end;
        TextSpan { start: start.start, end: end.max(start.start) }
    }

    /// Counts a part of one side of a rule.
    pub fn part(&mut self) -> Parsed<()> {
        self.n_parts += 1;
        if self.n_parts <= MAX_PARTS {
            return Ok(());
        }
        let message = format_args!("this side of the rule has more than {MAX_PARTS} parts");
        self.fail(RuleFault::new(RuleCode::Limit, self.peek().span, message).help("split the rule"))
    }

    /// Parses something that may contain itself.
    pub fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            let message = format_args!("this is nested more than {MAX_DEPTH} deep");
            return self.fail(RuleFault::new(RuleCode::Limit, self.peek().span, message).help("split the rule"));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// Parses items up to a closing sign; a comma after the last one is allowed.
    pub fn list<T>(&mut self, close: &str, item: impl Fn(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        while !self.accept(close) {
            items.push(item(self)?);
            if !self.is(close) && !self.accept(",") {
                return self.expected(&format!("`,` or `{close}`"), "items are separated by commas");
            }
        }
        Ok(items)
    }

    fn skip_rule(&mut self) {
        while self.peek().kind != Kind::End && !self.is(";") {
            self.at += 1;
        }
    }

    fn rule_end(&mut self) -> Parsed<()> {
        if self.is(";") || self.peek().kind == Kind::End {
            return Ok(());
        }
        self.expected("`;`, `if` or the end", "rules are separated by `;`, conditions by `,`")
    }

    fn rule(&mut self) -> Parsed<Rule> {
        let start = self.peek().span;
        let is_named = self.is_name() && matches!(self.ahead(1).kind, Kind::Sign(":"));
        let name = if is_named { Some(self.name("a name")?) } else { None };
        self.at += usize::from(is_named);
        let opset = if self.accept("@") { Some(self.version()?) } else { None };
        let mut others = Vec::new();
        let patterns = match self.accept("(") {
            false => vec![self.call()?],
            true if self.is_name() && matches!(self.ahead(1).kind, Kind::Sign("=")) => {
                let first = self.root()?;
                while self.accept(",") {
                    others.push(self.root()?);
                }
                if others.is_empty() {
                    return self.expected("`,`", "one outermost call is written `Relu(x) as y`, without parentheses");
                }
                self.expect(")", "several outermost calls are `(p = Sin(x), q = Cos(x))`")?;
                vec![first]
            }
            true => self.either()?,
        };
        self.expect("=>", "a rule is `pattern => result`")?;
        if others.len() >= MAX_ROOTS {
            let message = format_args!("there are {} outermost calls", others.len() + 1);
            let fault = RuleFault::new(RuleCode::Limit, self.span_from(start), message);
            return self.fail(fault.help(format_args!("at most {MAX_ROOTS} are allowed")));
        }
        self.n_parts = 0;
        let results = self.results()?;
        let mut conditions = Vec::new();
        if self.accept_word("if") {
            conditions.push(self.condition()?);
            while self.accept(",") {
                conditions.push(self.condition()?);
            }
        }
        Ok(Rule { name, opset, patterns, others, results, conditions, span: self.span_from(start) })
    }

    /// One of several outermost calls, after its variable.
    fn root(&mut self) -> Parsed<CallPattern> {
        let name = self.name("a variable")?;
        self.expect("=", "each of several outermost calls has a variable: `p = Sin(x)`")?;
        let mut call = self.call()?;
        match call.bind.replace(name) {
            None => Ok(call),
            Some(second) => {
                let fault = RuleFault::new(RuleCode::Duplicate, second.span, "the call is given a second name");
                self.fail(fault.help("remove the `as`"))
            }
        }
    }

    fn version(&mut self) -> Parsed<i64> {
        let span = self.peek().span;
        match self.number()? {
            Number::Int(version) if version > 0 => Ok(version),
            _ => {
                let message = "a version is a positive integer";
                self.fail(RuleFault::new(RuleCode::Token, span, message).help("write, for example, `@13`"))
            }
        }
    }

    /// Alternatives after the opening parenthesis.
    fn either(&mut self) -> Parsed<Vec<CallPattern>> {
        let mut calls = vec![self.call()?];
        while self.accept("|") {
            calls.push(self.call()?);
        }
        self.expect(")", "alternatives are `(Relu(x) | Clip(x, 0.0, none))`")?;
        Ok(calls)
    }

    pub fn op_name(&mut self) -> Parsed<OpName> {
        let start = self.peek().span;
        let is_quoted = self.peek().kind == Kind::String && matches!(self.ahead(1).kind, Kind::Sign("::"));
        let mut domain = String::new();
        if is_quoted {
            domain = self.string()?;
            self.at += 1;
        } else if self.is_name() && matches!(self.ahead(1).kind, Kind::Sign("::")) {
            domain = self.name("a domain")?.text;
            self.at += 1;
        }
        let name = self.name("an operator")?;
        let span = self.span_from(start);
        if domain == "ai.onnx" {
            domain.clear();
        }
        Ok(OpName { domain, name: name.text, span })
    }

    /// Whether a call begins here.
    pub fn is_call(&self) -> bool {
        let is_op = self.is_name() || self.peek().kind == Kind::String;
        is_op && matches!(self.ahead(1).kind, Kind::Sign("(" | "{" | "@" | "::"))
    }

    fn call(&mut self) -> Parsed<CallPattern> {
        self.nested(Self::call_here)
    }

    fn call_here(&mut self) -> Parsed<CallPattern> {
        self.part()?;
        let start = self.peek().span;
        let op = self.op_name()?;
        let mut versions = None;
        if self.accept("@") {
            let first = self.version()?;
            let last = if self.accept("..") { Some(self.version()?) } else { None };
            if last.is_some_and(|last| last < first) {
                let fault =
                    RuleFault::new(RuleCode::Token, self.span_from(start), "the last version comes before the first");
                return self.fail(fault.help("write `@first..last`"));
            }
            versions = Some((first, last));
        }
        let (mut attrs, mut any_attrs) = (Vec::new(), false);
        if self.accept("{") {
            while !self.accept("}") {
                if self.accept("..") {
                    any_attrs = true;
                    self.expect("}", "`..` comes last")?;
                    break;
                }
                attrs.push(self.attr()?);
                if !self.is("}") && !self.accept(",") {
                    return self.expected("`,` or `}`", "attributes are separated by commas");
                }
            }
        }
        self.expect("(", "a call has its arguments in parentheses")?;
        let args = self.list(")", Self::arg)?;
        let mut result = 0;
        if self.accept("[") {
            let span = self.peek().span;
            result = match self.number()? {
                Number::Int(index) if (0..1 << 15).contains(&index) => index as u16,
                _ => {
                    let fault = RuleFault::new(RuleCode::Token, span, "the number of a result is a small integer");
                    return self.fail(fault.help("the first result is `[0]`"));
                }
            };
            self.expect("]", "a result is, for example, `[1]`")?;
        }
        let bind = if self.accept_word("as") { Some(self.name("a variable")?) } else { None };
        let is_shared = self.accept("!");
        Ok(CallPattern { op, versions, attrs, any_attrs, args, result, bind, is_shared, span: self.span_from(start) })
    }

    fn attr(&mut self) -> Parsed<AttrPattern> {
        self.part()?;
        let key = self.name("an attribute or `..`")?;
        self.expect("=", "an attribute is `key = value`")?;
        let value = if self.accept_word("_") {
            AttrWanted::Any
        } else if self.is_name() {
            AttrWanted::Bind(self.name("a variable")?)
        } else {
            AttrWanted::Literal(self.literal()?)
        };
        Ok(AttrPattern { key, value })
    }

    fn arg(&mut self) -> Parsed<ArgPattern> {
        self.part()?;
        let start = self.peek().span;
        if self.accept_word("_") {
            return Ok(ArgPattern::Any(start));
        }
        if self.accept_word("none") {
            return Ok(ArgPattern::Absent(start));
        }
        if self.accept("?") {
            return Ok(ArgPattern::Optional(self.name("a variable")?));
        }
        if self.accept("..") {
            let rest = self.name("a variable")?;
            if !self.is(")") {
                return self.expected("`)`", "`..v` is the last argument of a pattern");
            }
            return Ok(ArgPattern::Rest(rest));
        }
        if self.accept_word("const") {
            let name = self.name("a variable")?;
            return Ok(ArgPattern::Const { name, is_splat: self.accept_word("splat") });
        }
        if self.accept("(") {
            let calls = self.nested(Self::either)?;
            return Ok(ArgPattern::Either(calls, self.span_from(start)));
        }
        if self.is_call() {
            return Ok(ArgPattern::Call(Box::new(self.call()?)));
        }
        if self.is_name() {
            return Ok(ArgPattern::Var(self.name("a variable")?));
        }
        if self.is("[") {
            return match self.literal()? {
                Literal::List(items) => Ok(ArgPattern::List(items, self.span_from(start))),
                _ => Err(Stop),
            };
        }
        if self.is("-") || self.peek().kind == Kind::Number {
            let value = self.number()?;
            let tolerance = if self.accept("~") { Some(self.number()?) } else { None };
            return Ok(ArgPattern::Number { value, tolerance, span: self.span_from(start) });
        }
        self.expected("an argument", ARGUMENT)
    }

    pub fn literal(&mut self) -> Parsed<Literal> {
        match self.peek().kind {
            Kind::String => Ok(Literal::String(self.string()?)),
            Kind::Sign("[") => {
                self.at += 1;
                let item = |parser: &mut Self| {
                    parser.part()?;
                    parser.literal()
                };
                self.nested(|parser| parser.list("]", item)).map(Literal::List)
            }
            Kind::Number | Kind::Sign("-") => self.number().map(Literal::Number),
            _ => self.expected("a literal", "a literal is a number, a string or a list of literals"),
        }
    }

    pub fn number(&mut self) -> Parsed<Number> {
        let is_negative = self.accept("-");
        let Token { kind, span } = self.peek();
        if kind != Kind::Number {
            return self.expected("a number", "a number is, for example, `-1` or `0.5`");
        }
        self.at += 1;
        let sign = if is_negative { "-" } else { "" };
        let text = format!("{sign}{}", self.text_of(span));
        let number = match text.parse::<i64>() {
            Ok(value) => Some(Number::Int(value)),
            Err(_) if text.contains(['.', 'e', 'E']) => {
                text.parse().ok().filter(|value: &f64| value.is_finite()).map(Number::Float)
            }
            Err(_) => None,
        };
        match number {
            Some(number) => Ok(number),
            None => {
                let message = format_args!("`{}` is not a number", text.chars().take(40).collect::<String>());
                self.fail(RuleFault::new(RuleCode::Token, span, message).help("a number has 64 bits, and is finite"))
            }
        }
    }

    pub fn string(&mut self) -> Parsed<String> {
        let span = self.next().span;
        let mut string = String::new();
        let mut characters = self.text[span.start + 1..span.end - 1].chars();
        while let Some(character) = characters.next() {
            if character != '\\' {
                string.push(character);
                continue;
            }
            match characters.next() {
                Some('n') => string.push('\n'),
                Some('t') => string.push('\t'),
                Some(other @ ('"' | '\\')) => string.push(other),
                _ => {
                    let fault = RuleFault::new(RuleCode::Token, span, "an escape in this string has no meaning");
                    return self.fail(fault.help("the escapes are `\\\"`, `\\\\`, `\\n` and `\\t`"));
                }
            }
        }
        Ok(string)
    }
}
