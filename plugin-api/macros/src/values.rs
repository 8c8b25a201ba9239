//! The values of the keys that attributes and macros take.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Attribute, Expr, ExprArray, ExprLit, ExprPath, ExprUnary, Ident, Lit, LitBool, LitInt, LitStr, Meta, Token, UnOp,
    parenthesized,
    parse::{Parse, ParseBuffer, ParseStream},
    punctuated::Punctuated,
    spanned::Spanned,
    token::Paren,
};

/// The domain of the operators of loop programs.
const PRIM_DOMAIN: &str = "tir::";

/// `key = value, …`, and `key(name = value, …)` among them.
#[derive(Default)]
pub struct Pairs {
    pub pairs: Vec<(Ident, Expr)>,
    pub groups: Vec<(Ident, Vec<(Ident, Expr)>)>,
}

impl Parse for Pairs {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let pair = |input: ParseStream<'_>| {
            let key: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            Ok((key, input.parse()?))
        };
        let mut parsed = Self::default();
        while !input.is_empty() {
            if input.peek2(Paren) {
                let (key, content) = (input.parse()?, parenthesized_in(input)?);
                let group = Punctuated::<_, Token![,]>::parse_terminated_with(&content, pair)?;
                parsed.groups.push((key, group.into_iter().collect()));
            } else {
                parsed.pairs.push(pair(input)?);
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(parsed)
    }
}

fn parenthesized_in<'a>(input: &ParseBuffer<'a>) -> syn::Result<ParseBuffer<'a>> {
    let content;
    parenthesized!(content in input);
    Ok(content)
}

/// Name and documentation of a statistic.
pub fn statistic((name, doc): &(Ident, Expr)) -> syn::Result<(LitStr, LitStr)> {
    Ok((LitStr::new(&name.to_string(), name.span()), text(doc)?))
}

/// A string that is not empty.
pub fn a_name(value: &Expr, message: &str) -> syn::Result<LitStr> {
    let name = text(value)?;
    if name.value().is_empty() { Err(syn::Error::new(name.span(), message)) } else { Ok(name) }
}

/// A list of strings that is not empty.
pub fn some(value: &Expr, message: &str) -> syn::Result<Vec<LitStr>> {
    let texts = texts(value)?;
    if texts.is_empty() { Err(syn::Error::new(value.span(), message)) } else { Ok(texts) }
}

/// The operators that a rewrite looks at.
pub fn ops(value: &Expr) -> syn::Result<Vec<LitStr>> {
    let ops = some(value, "name the operators, or leave `ops` out to be offered all calls")?;
    for op in &ops {
        let name = op.value();
        if let (false, Some((domain, name))) = (name.contains("::"), name.rsplit_once('.')) {
            let message = format!("an operator of another domain is written `{domain}::{name}`");
            return Err(syn::Error::new(op.span(), message));
        }
    }
    Ok(ops)
}

/// Checks that operators are of the level of a rewrite.
pub fn ops_of_level(ops: &[LitStr], is_prim: bool) -> syn::Result<()> {
    let Some(other) = ops.iter().find(|op| op.value().starts_with(PRIM_DOMAIN) != is_prim) else { return Ok(()) };
    let help = match is_prim {
        true => {
            "an operator of graphs, and `level = \"prim\"` is for loop programs, whose operators are of the domain `tir`"
        }
        false => "an operator of loop programs\n  help: write `level = \"prim\"`",
    };
    Err(syn::Error::new(other.span(), format!("`{}` is {help}", other.value())))
}

/// The examples for a rule: a text, or a list of them.
pub fn samples((rule, value): (Ident, Expr)) -> Vec<(Ident, Expr)> {
    match value {
        Expr::Array(ExprArray { elems, .. }) => elems.into_iter().map(|elem| (rule.clone(), elem)).collect(),
        value => vec![(rule, value)],
    }
}

/// The functions that rules name as conditions, each by the last part of its path.
pub fn conditions(value: &Expr) -> syn::Result<Vec<ExprPath>> {
    let wrong = |span| syn::Error::new(span, "expected a list of functions: `[is_even]`");
    let Expr::Array(ExprArray { elems, .. }) = value else { return Err(wrong(value.span())) };
    let mut paths: Vec<ExprPath> = Vec::new();
    for elem in elems {
        let Expr::Path(path) = elem else { return Err(wrong(elem.span())) };
        let name = condition_name(path);
        if relais_patterns::is_function(&name) {
            let message = format!("rules have a function `{name}` already: give this one another name");
            return Err(syn::Error::new(path.span(), message));
        }
        if paths.iter().any(|other| condition_name(other) == name) {
            return Err(syn::Error::new(path.span(), format!("`{name}` is given twice")));
        }
        paths.push(path.clone());
    }
    Ok(paths)
}

pub fn condition_name(path: &ExprPath) -> String {
    path.path.segments.last().map_or_else(String::new, |last| last.ident.to_string())
}

pub fn literal(value: &Expr) -> Option<&Lit> {
    match value {
        Expr::Lit(ExprLit { lit, .. }) => Some(lit),
        _ => None,
    }
}

pub fn text(value: &Expr) -> syn::Result<LitStr> {
    match literal(value) {
        Some(Lit::Str(text)) => Ok(text.clone()),
        _ => Err(syn::Error::new(value.span(), "expected a string")),
    }
}

pub fn int(value: &Expr) -> syn::Result<LitInt> {
    match literal(value) {
        Some(Lit::Int(int)) => Ok(int.clone()),
        _ => Err(syn::Error::new(value.span(), "expected a number")),
    }
}

pub fn boolean(value: &Expr) -> syn::Result<LitBool> {
    match literal(value) {
        Some(Lit::Bool(boolean)) => Ok(boolean.clone()),
        _ => Err(syn::Error::new(value.span(), "expected `true` or `false`")),
    }
}

pub fn texts(value: &Expr) -> syn::Result<Vec<LitStr>> {
    match value {
        Expr::Array(ExprArray { elems, .. }) => elems.iter().map(text).collect(),
        _ => Err(syn::Error::new(value.span(), "expected a list of strings: `[\"A\", \"B\"]`")),
    }
}

/// An expression of type `DefaultSpec`.
pub fn literal_value(value: &Expr) -> syn::Result<TokenStream> {
    let negated = |value: &Expr| match value {
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => Some((**expr).clone()),
        _ => None,
    };
    let literal = negated(value).unwrap_or_else(|| value.clone());
    match (&literal, value) {
        (Expr::Lit(ExprLit { lit: Lit::Int(_), .. }), _) => Ok(quote!(rt::DefaultSpec::Int(#value))),
        (Expr::Lit(ExprLit { lit: Lit::Float(_), .. }), _) => Ok(quote!(rt::DefaultSpec::Float(#value))),
        (Expr::Lit(ExprLit { lit: Lit::Bool(_), .. }), Expr::Lit(_)) => Ok(quote!(rt::DefaultSpec::Bool(#value))),
        (Expr::Lit(ExprLit { lit: Lit::Str(_), .. }), Expr::Lit(_)) => Ok(quote!(rt::DefaultSpec::Str(#value))),
        (Expr::Array(ExprArray { elems, .. }), Expr::Array(_)) => {
            let items: Vec<TokenStream> = elems.iter().map(literal_value).collect::<syn::Result<_>>()?;
            Ok(quote!(rt::DefaultSpec::List(&[#(#items),*])))
        }
        _ => Err(syn::Error::new(value.span(), "the value of an option is a literal, or a list of literals")),
    }
}

/// The text of documentation comments, without the space that follows `///`.
pub fn doc(attrs: &[Attribute]) -> String {
    let lines = attrs.iter().filter_map(|attr| match &attr.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match literal(&pair.value) {
            Some(Lit::Str(line)) => Some(line.value()),
            _ => None,
        },
        _ => None,
    });
    let text: Vec<String> = lines.map(|line| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned()).collect();
    text.join("\n").trim().to_owned()
}
