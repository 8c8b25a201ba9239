//! The parser: right sides and conditions.

use crate::{
    ast::*,
    lex::Kind,
    parse::{Parsed, Parser},
};

const VALUE: &str = "a value is a variable, a call, `like v(…)`, `eval(…)`, a number, a list, `none` or `..v`";

impl Parser<'_> {
    pub(crate) fn results(&mut self) -> Parsed<Vec<Value>> {
        if !self.is("(") {
            return Ok(vec![self.value()?]);
        }
        self.accept("(");
        if self.is(")") {
            return self.expected("a value", VALUE);
        }
        self.list(")", Self::value)
    }

    fn value(&mut self) -> Parsed<Value> {
        self.nested(Self::value_here)
    }

    fn value_here(&mut self) -> Parsed<Value> {
        self.part()?;
        let start = self.peek().span;
        if self.accept_word("none") {
            return Ok(Value::Absent(start));
        }
        if self.accept("..") {
            return Ok(Value::Rest(self.name("a variable")?));
        }
        if self.is_word("eval") && matches!(self.ahead(1).kind, Kind::Sign("(")) {
            self.next();
            self.accept("(");
            if !self.is_call() {
                return self.expected("a call", "`eval` computes a call of constants: `eval(Neg(c))`");
            }
            let call = self.value()?;
            self.expect(")", "`eval` computes one call")?;
            return Ok(Value::Eval(Box::new(call), self.span_from(start)));
        }
        if self.accept_word("like") {
            let call = self.name("a variable")?;
            let (attrs, args) = self.settings_and_args()?;
            return Ok(Value::Like { call, attrs, args });
        }
        if self.is_call() {
            let op = self.op_name()?;
            let (attrs, args) = self.settings_and_args()?;
            return Ok(Value::Call { op, attrs, args });
        }
        if self.is_name() {
            return Ok(Value::Var(self.name("a variable")?));
        }
        match self.peek().kind {
            Kind::Sign("[") => {
                self.accept("[");
                let items = self.list("]", Self::expr)?;
                Ok(Value::List(items, self.span_from(start)))
            }
            Kind::Number | Kind::Sign("-") => {
                let number = self.number()?;
                Ok(Value::Number(number, self.span_from(start)))
            }
            _ => self.expected("a value", VALUE),
        }
    }

    fn settings_and_args(&mut self) -> Parsed<(Vec<Setting>, Vec<Value>)> {
        let attrs = if self.accept("{") { self.list("}", Self::setting)? } else { Vec::new() };
        self.expect("(", "a call has its arguments in parentheses")?;
        Ok((attrs, self.list(")", Self::value)?))
    }

    fn setting(&mut self) -> Parsed<Setting> {
        self.part()?;
        let key = self.name("an attribute")?;
        self.expect("=", "an attribute is `key = value`")?;
        Ok(Setting { key, value: self.expr()? })
    }

    pub(crate) fn condition(&mut self) -> Parsed<Condition> {
        const HELP: &str = "a condition is a comparison, `… in {…}`, `broadcasts(c, x)` or `finite(c)`";
        let left = self.expr()?;
        if self.accept_word("in") {
            self.expect("{", "the values are in braces")?;
            return Ok(Condition::In(left, self.list("}", Self::expr)?));
        }
        let comparison = match self.peek().kind {
            Kind::Sign("==") => Comparison::Eq,
            Kind::Sign("!=") => Comparison::Ne,
            Kind::Sign("<") => Comparison::Lt,
            Kind::Sign("<=") => Comparison::Le,
            Kind::Sign(">") => Comparison::Gt,
            Kind::Sign(">=") => Comparison::Ge,
            _ => {
                let Expr::Call(function, args) = left else { return self.expected("a comparison", HELP) };
                let names = args.into_iter().map(|arg| if let Expr::Var(name) = arg { Some(name) } else { None });
                let Some(names) = names.collect() else {
                    return self.expected("a comparison", "a condition on values has variables as arguments");
                };
                return Ok(Condition::Holds(function, names));
            }
        };
        self.next();
        Ok(Condition::Compare(left, comparison, self.expr()?))
    }

    pub(crate) fn expr(&mut self) -> Parsed<Expr> {
        self.nested(|parser| parser.chain(&[("+", Operation::Add), ("-", Operation::Sub)], Self::product))
    }

    fn product(&mut self) -> Parsed<Expr> {
        self.chain(&[("*", Operation::Mul), ("/", Operation::Div)], Self::factor)
    }

    fn chain(&mut self, signs: &[(&str, Operation)], part: impl Fn(&mut Self) -> Parsed<Expr>) -> Parsed<Expr> {
        let mut left = part(self)?;
        loop {
            let Some(&(sign, operation)) = signs.iter().find(|(sign, _)| self.is(sign)) else { return Ok(left) };
            self.part()?;
            self.accept(sign);
            left = Expr::Binary(operation, Box::new((left, part(self)?)));
        }
    }

    fn factor(&mut self) -> Parsed<Expr> {
        self.part()?;
        let start = self.peek().span;
        match self.peek().kind {
            Kind::Number => {
                let number = self.number()?;
                Ok(Expr::Number(number, start))
            }
            Kind::String => Ok(Expr::String(self.string()?, start)),
            // The least integer has no positive form.
            Kind::Sign("-") if self.ahead(1).kind == Kind::Number => {
                let number = self.number()?;
                Ok(Expr::Number(number, self.span_from(start)))
            }
            Kind::Sign("-") => {
                self.accept("-");
                let inner = self.nested(Self::factor)?;
                let span = self.span_from(start);
                Ok(match inner {
                    Expr::Number(Number::Int(value), _) if value != i64::MIN => {
                        Expr::Number(Number::Int(-value), span)
                    }
                    Expr::Number(Number::Float(value), _) => Expr::Number(Number::Float(-value), span),
                    inner => Expr::Neg(Box::new(inner), span),
                })
            }
            Kind::Sign("(") => {
                self.accept("(");
                let inner = self.expr()?;
                self.expect(")", "the parenthesis is not closed")?;
                Ok(inner)
            }
            Kind::Sign("[") => {
                self.accept("[");
                let items = self.list("]", Self::expr)?;
                Ok(Expr::List(items, self.span_from(start)))
            }
            _ if self.is_name() => {
                let name = self.name("a variable")?;
                if !self.accept("(") {
                    return Ok(Expr::Var(name));
                }
                Ok(Expr::Call(name, self.list(")", Self::expr)?))
            }
            _ => self.expected(
                "a value",
                "a value is a number, a string, a list, a variable of an attribute or a constant, or a function such as `rank(x)`",
            ),
        }
    }
}
