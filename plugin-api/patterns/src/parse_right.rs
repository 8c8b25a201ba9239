//! The parser: right sides and conditions.

use crate::{
    ast::*,
    lex::Kind,
    parse::{Parsed, Parser},
};

const VALUE: &str = "a value is a variable, a call, `like v(…)`, `eval(…)`, a number, a list, `none` or `..v`";

impl Parser<'_> {
    pub(crate) fn results(&mut self) -> Parsed<Vec<NewValue>> {
        if !self.is("(") {
            return Ok(vec![self.value()?]);
        }
        self.accept("(");
        if self.is(")") {
            return self.expected("a value", VALUE);
        }
        self.list(")", Self::value)
    }

    fn value(&mut self) -> Parsed<NewValue> {
        self.nested(Self::value_here)
    }

    fn value_here(&mut self) -> Parsed<NewValue> {
        self.part()?;
        let start = self.peek().span;
        if self.accept_word("none") {
            return Ok(NewValue::Absent(start));
        }
        if self.accept("..") {
            return Ok(NewValue::Rest(self.name("a variable")?));
        }
        if self.is_word("eval") && matches!(self.ahead(1).kind, Kind::Sign("(")) {
            self.next();
            self.accept("(");
            if !self.is_call() {
                return self.expected("a call", "`eval` computes a call of constants: `eval(Neg(c))`");
            }
            let call = self.value()?;
            self.expect(")", "`eval` computes one call")?;
            return Ok(NewValue::Eval(Box::new(call), self.span_from(start)));
        }
        if self.accept_word("like") {
            let call = self.name("a variable")?;
            let (attrs, args) = self.settings_and_args()?;
            return Ok(NewValue::Like { call, attrs, args });
        }
        if self.is_call() {
            let op = self.op_name()?;
            let (attrs, args) = self.settings_and_args()?;
            return Ok(NewValue::Call { op, attrs, args });
        }
        if self.is_name() {
            return Ok(NewValue::Var(self.name("a variable")?));
        }
        match self.peek().kind {
            Kind::Sign("[") => {
                self.accept("[");
                let items = self.list("]", Self::expr)?;
                Ok(NewValue::List(items, self.span_from(start)))
            }
            Kind::Number | Kind::Sign("-") => {
                let number = self.number()?;
                Ok(NewValue::Number(number, self.span_from(start)))
            }
            _ => self.expected("a value", VALUE),
        }
    }

    fn settings_and_args(&mut self) -> Parsed<(Vec<Setting>, Vec<NewValue>)> {
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
                let Computation::Call(function, args) = left else { return self.expected("a comparison", HELP) };
                let names =
                    args.into_iter().map(|arg| if let Computation::Var(name) = arg { Some(name) } else { None });
                let Some(names) = names.collect() else {
                    return self.expected("a comparison", "a condition on values has variables as arguments");
                };
                return Ok(Condition::Holds(function, names));
            }
        };
        self.next();
        Ok(Condition::Compare(left, comparison, self.expr()?))
    }

    pub(crate) fn expr(&mut self) -> Parsed<Computation> {
        self.nested(|parser| parser.chain(&[("+", Operation::Add), ("-", Operation::Sub)], Self::product))
    }

    fn product(&mut self) -> Parsed<Computation> {
        self.chain(&[("*", Operation::Mul), ("/", Operation::Div)], Self::factor)
    }

    fn chain(
        &mut self,
        signs: &[(&str, Operation)],
        part: impl Fn(&mut Self) -> Parsed<Computation>,
    ) -> Parsed<Computation> {
        let mut left = part(self)?;
        loop {
            let Some(&(sign, operation)) = signs.iter().find(|(sign, _)| self.is(sign)) else { return Ok(left) };
            self.part()?;
            self.accept(sign);
            left = Computation::Binary(operation, Box::new((left, part(self)?)));
        }
    }

    fn factor(&mut self) -> Parsed<Computation> {
        self.part()?;
        let start = self.peek().span;
        match self.peek().kind {
            Kind::Number => {
                let number = self.number()?;
                Ok(Computation::Number(number, start))
            }
            Kind::String => Ok(Computation::String(self.string()?, start)),
            // The least integer has no positive form.
            Kind::Sign("-") if self.ahead(1).kind == Kind::Number => {
                let number = self.number()?;
                Ok(Computation::Number(number, self.span_from(start)))
            }
            Kind::Sign("-") => {
                self.accept("-");
                let inner = self.nested(Self::factor)?;
                let span = self.span_from(start);
                Ok(match inner {
                    Computation::Number(Number::Int(value), _) if value != i64::MIN => {
                        Computation::Number(Number::Int(-value), span)
                    }
                    Computation::Number(Number::Float(value), _) => Computation::Number(Number::Float(-value), span),
                    inner => Computation::Neg(Box::new(inner), span),
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
                Ok(Computation::List(items, self.span_from(start)))
            }
            _ if self.is_name() => {
                let name = self.name("a variable")?;
                if !self.accept("(") {
                    return Ok(Computation::Var(name));
                }
                Ok(Computation::Call(name, self.list(")", Self::expr)?))
            }
            _ => self.expected(
                "a value",
                "a value is a number, a string, a list, a variable of an attribute or a constant, or a function such as `rank(x)`",
            ),
        }
    }
}
