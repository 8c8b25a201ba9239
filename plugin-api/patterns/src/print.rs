//! The printer.

use crate::{ast::*, parse::KEYWORDS};
use std::fmt::{self, Display, Formatter};

impl Display for Rule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "{}: ", name.text)?;
        }
        if let Some(opset) = self.opset {
            write!(f, "@{opset} ")?;
        }
        if self.others.is_empty() {
            either(f, &self.patterns, self.patterns.len() > 1)?;
        } else {
            for (at, root) in self.roots().enumerate() {
                f.write_str(if at > 0 { ", " } else { "(" })?;
                if let Some(name) = &root.bind {
                    write!(f, "{} = ", name.text)?;
                }
                call_pattern(f, root, false)?;
            }
            f.write_str(")")?;
        }
        f.write_str(" => ")?;
        match self.results.as_slice() {
            [one] => one.fmt(f)?,
            several => {
                f.write_str("(")?;
                list(f, several)?;
                f.write_str(")")?;
            }
        }
        if !self.conditions.is_empty() {
            f.write_str(" if ")?;
            list(f, &self.conditions)?;
        }
        Ok(())
    }
}

fn list(f: &mut Formatter<'_>, items: &[impl Display]) -> fmt::Result {
    items.iter().enumerate().try_for_each(|(at, item)| write!(f, "{}{item}", if at > 0 { ", " } else { "" }))
}

fn either(f: &mut Formatter<'_>, calls: &[CallPattern], is_list: bool) -> fmt::Result {
    if is_list {
        f.write_str("(")?;
    }
    for (at, call) in calls.iter().enumerate() {
        write!(f, "{}{call}", if at > 0 { " | " } else { "" })?;
    }
    if is_list { f.write_str(")") } else { Ok(()) }
}

impl Display for OpName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let is_part = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let domain = self.domain.as_str();
        match domain {
            "" => {}
            _ if domain.split('.').all(is_part) && !KEYWORDS.contains(&domain) => write!(f, "{domain}::")?,
            _ => {
                string(f, domain)?;
                f.write_str("::")?;
            }
        }
        f.write_str(&self.name)
    }
}

impl Display for CallPattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        call_pattern(f, self, true)
    }
}

fn call_pattern(f: &mut Formatter<'_>, call: &CallPattern, says_bind: bool) -> fmt::Result {
    call.op.fmt(f)?;
    if let Some((first, last)) = call.versions {
        write!(f, "@{first}")?;
        if let Some(last) = last {
            write!(f, "..{last}")?;
        }
    }
    if !call.attrs.is_empty() || call.any_attrs {
        f.write_str("{")?;
        list(f, &call.attrs)?;
        if call.any_attrs {
            f.write_str(if call.attrs.is_empty() { ".." } else { ", .." })?;
        }
        f.write_str("}")?;
    }
    f.write_str("(")?;
    list(f, &call.args)?;
    f.write_str(")")?;
    if call.result > 0 {
        write!(f, "[{}]", call.result)?;
    }
    if let (Some(bind), true) = (&call.bind, says_bind) {
        write!(f, " as {}", bind.text)?;
    }
    f.write_str(if call.is_shared { "!" } else { "" })
}

impl Display for AttrPattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} = ", self.key.text)?;
        match &self.value {
            AttrWanted::Literal(literal) => literal.fmt(f),
            AttrWanted::Bind(name) => f.write_str(&name.text),
            AttrWanted::Any => f.write_str("_"),
        }
    }
}

impl Display for ArgPattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Var(name) => f.write_str(&name.text),
            Self::Any(_) => f.write_str("_"),
            Self::Absent(_) => f.write_str("none"),
            Self::Optional(name) => write!(f, "?{}", name.text),
            Self::Rest(name) => write!(f, "..{}", name.text),
            Self::Const { name, is_splat } => {
                write!(f, "const {}{}", name.text, if *is_splat { " splat" } else { "" })
            }
            Self::Number { value, tolerance, .. } => {
                value.fmt(f)?;
                tolerance.map_or(Ok(()), |tolerance| write!(f, " ~ {tolerance}"))
            }
            Self::List(items, _) => brackets(f, items),
            Self::Call(call) => call.fmt(f),
            Self::Either(calls, _) => either(f, calls, true),
        }
    }
}

fn brackets(f: &mut Formatter<'_>, items: &[impl Display]) -> fmt::Result {
    f.write_str("[")?;
    list(f, items)?;
    f.write_str("]")
}

fn string(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
    write!(f, "\"{text}\"")
}

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => value.fmt(f),
            // With a point or an exponent, by which it is a float again.
            Self::Float(value) => write!(f, "{value:?}"),
        }
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::String(text) => string(f, text),
            Self::List(items) => brackets(f, items),
        }
    }
}

impl Display for NewValue {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (attrs, args) = match self {
            Self::Var(name) => return f.write_str(&name.text),
            Self::Number(number, _) => return number.fmt(f),
            Self::List(items, _) => return brackets(f, items),
            Self::Absent(_) => return f.write_str("none"),
            Self::Rest(name) => return write!(f, "..{}", name.text),
            Self::Eval(call, _) => return write!(f, "eval({call})"),
            Self::Call { op, attrs, args } => {
                op.fmt(f)?;
                (attrs, args)
            }
            Self::Like { call, attrs, args } => {
                write!(f, "like {}", call.text)?;
                (attrs, args)
            }
        };
        if !attrs.is_empty() {
            f.write_str("{")?;
            list(f, attrs)?;
            f.write_str("}")?;
        }
        f.write_str("(")?;
        list(f, args)?;
        f.write_str(")")
    }
}

impl Display for Setting {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.key.text, self.value)
    }
}

impl Display for Computation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let operand = |f: &mut Formatter<'_>, expr: &Self| match expr {
            Self::Binary(..) => write!(f, "({expr})"),
            _ => expr.fmt(f),
        };
        match self {
            Self::Number(number, _) => number.fmt(f),
            Self::String(text, _) => string(f, text),
            Self::Var(name) => f.write_str(&name.text),
            Self::Call(name, args) => {
                write!(f, "{}(", name.text)?;
                list(f, args)?;
                f.write_str(")")
            }
            Self::List(items, _) => brackets(f, items),
            Self::Neg(inner, _) => {
                f.write_str("-")?;
                // Two signs in front of the least integer would be read as one number.
                let is_number = matches!(**inner, Self::Number(..));
                if is_number { write!(f, "({inner})") } else { operand(f, inner) }
            }
            Self::Binary(operation, sides) => {
                operand(f, &sides.0)?;
                let sign = match operation {
                    Operation::Add => "+",
                    Operation::Sub => "-",
                    Operation::Mul => "*",
                    Operation::Div => "/",
                };
                write!(f, " {sign} ")?;
                operand(f, &sides.1)
            }
        }
    }
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compare(left, comparison, right) => {
                let sign = match comparison {
                    Comparison::Eq => "==",
                    Comparison::Ne => "!=",
                    Comparison::Lt => "<",
                    Comparison::Le => "<=",
                    Comparison::Gt => ">",
                    Comparison::Ge => ">=",
                };
                write!(f, "{left} {sign} {right}")
            }
            Self::In(left, options) => {
                write!(f, "{left} in {{")?;
                list(f, options)?;
                f.write_str("}")
            }
            Self::Holds(name, args) => {
                write!(f, "{}(", name.text)?;
                for (at, arg) in args.iter().enumerate() {
                    write!(f, "{}{}", if at > 0 { ", " } else { "" }, arg.text)?;
                }
                f.write_str(")")
            }
        }
    }
}
