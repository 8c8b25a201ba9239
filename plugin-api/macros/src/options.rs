//! `#[derive(PassOptions)]` and `config_option!`.

use crate::{
    register::{register, unique},
    values::{doc, literal_value},
};
use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{
    Attribute, Data, DeriveInput, Expr, ExprLit, ExprPath, ExprRange, ExprUnary, Field, Fields, Ident, Lit, LitStr,
    RangeLimits, Token, Type, bracketed,
    ext::IdentExt,
    parse::{Parse, ParseStream},
    punctuated::Punctuated,
    spanned::Spanned,
};

/// The contents of `#[option(…)]`.
#[derive(Default)]
struct Args {
    default: Option<Expr>,
    range: Option<ExprRange>,
    /// `"bytes"`, the only unit.
    unit: Option<LitStr>,
    doc: Option<LitStr>,
    name: Option<LitStr>,
    /// Of options of the context.
    aliases: Vec<LitStr>,
}

impl Parse for Args {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut args = Self::default();
        let mut seen: Vec<Ident> = Vec::new();
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            if seen.contains(&key) {
                return Err(syn::Error::new(key.span(), format!("`{key}` is given twice")));
            }
            match key.to_string().as_str() {
                "default" => args.default = Some(input.parse()?),
                "range" => args.range = Some(input.parse()?),
                "unit" => {
                    let unit: LitStr = input.parse()?;
                    if unit.value() != "bytes" {
                        return Err(syn::Error::new(unit.span(), "a unit is `\"bytes\"`"));
                    }
                    args.unit = Some(unit);
                }
                "name" => args.name = Some(input.parse()?),
                "doc" => args.doc = Some(input.parse()?),
                "aliases" => {
                    let list;
                    bracketed!(list in input);
                    args.aliases = Punctuated::<LitStr, Token![,]>::parse_terminated(&list)?.into_iter().collect();
                }
                _ => {
                    let message = format!("unknown key `{key}`: an option takes `default`, `range`, `unit`, `name`");
                    return Err(syn::Error::new(key.span(), message));
                }
            }
            seen.push(key);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(args)
    }
}

fn option_args(attrs: &[Attribute]) -> syn::Result<Args> {
    let mut found = attrs.iter().filter(|attr| attr.path().is_ident("option"));
    let args: Args = found.next().map_or_else(|| Ok(Args::default()), Attribute::parse_args)?;
    if let Some(alias) = args.aliases.first() {
        return Err(syn::Error::new(alias.span(), "only options of the context have aliases"));
    }
    match found.next() {
        Some(second) => Err(syn::Error::new(second.span(), "`#[option(…)]` stands once")),
        None => Ok(args),
    }
}

/// The contents of `#[options(…)]` on a struct: the function that checks it.
fn check_arg(attrs: &[Attribute]) -> syn::Result<Option<ExprPath>> {
    let mut check = None;
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("options")) {
        attr.parse_nested_meta(|meta| {
            if !meta.path.is_ident("check") {
                return Err(meta.error("unknown key: a struct of options takes `check`"));
            }
            if check.is_some() {
                return Err(meta.error("`check` is given twice"));
            }
            check = Some(meta.value()?.parse()?);
            Ok(())
        })?;
    }
    Ok(check)
}

/// A call of a function of `OptionSpec` on the variable `option`, for which the compiler underlines `place`.
fn call_at(place: &impl ToTokens, function: &str, args: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = place.to_token_stream().into_iter().collect();
    let span = |token: Option<&TokenTree>| token.map_or_else(Span::call_site, TokenTree::span);
    let function = Ident::new(function, span(tokens.first()));
    let mut args = Group::new(Delimiter::Parenthesis, args);
    // The compiler underlines a call from its first token to its last one.
    args.set_span(span(tokens.last()));
    quote_spanned!(function.span()=> rt::OptionSpec::#function #args)
}

/// The call that gives an option its range.
fn range_of(range: &ExprRange) -> syn::Result<TokenStream> {
    if matches!((&range.limits, &range.end), (RangeLimits::HalfOpen(_), Some(_))) {
        return Err(syn::Error::new_spanned(range, "a range says its last value: `0..=10`"));
    }
    if range.start.is_none() && range.end.is_none() {
        return Err(syn::Error::new_spanned(range, "a range has a bound: `0..=10`, `1..`"));
    }
    let is_float = [&range.start, &range.end].into_iter().flatten().any(|bound| contains_float(bound));
    let (function, number) = if is_float { ("with_float_range", "f64") } else { ("with_int_range", "i64") };
    let number = Ident::new(number, range.span());
    let bound = |bound: &Option<Box<Expr>>| match bound {
        Some(bound) => quote!(Some(#bound as #number)),
        None => quote!(None),
    };
    let (start, end) = (bound(&range.start), bound(&range.end));
    Ok(call_at(range, function, quote!(option, #start, #end)))
}

fn contains_float(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(ExprLit { lit, .. }) => matches!(lit, Lit::Float(_)),
        Expr::Unary(ExprUnary { expr, .. }) => contains_float(expr),
        _ => false,
    }
}

/// The call that gives an option its default. That of a number of bytes may have a unit.
fn default_of(value: &Expr, args: &Args) -> syn::Result<TokenStream> {
    let default = match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if args.unit.is_some() => {
            let bytes = call_at(value, "bytes_of", quote!(&option, #text));
            quote!(rt::DefaultSpec::Int(#bytes))
        }
        _ => literal_value(value)?,
    };
    let (text, range) = (written(value), args.range.as_ref().map_or_else(String::new, written));
    Ok(call_at(value, "with_default", quote!(option, #default, #text, #range)))
}

/// Code as its author writes it, or nearly so: the compiler does not tell its spaces.
fn written(code: &impl ToTokens) -> String {
    let (mut text, mut is_word) = (String::new(), false);
    for token in code.to_token_stream() {
        let was_word = is_word;
        is_word = matches!(token, TokenTree::Ident(_) | TokenTree::Literal(_));
        if was_word && is_word {
            text.push(' ');
        }
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
                text.push_str(&format!("[{}]", written(&group.stream())));
            }
            TokenTree::Punct(punct) if punct.as_char() == ',' => text.push_str(", "),
            other => text.push_str(&other.to_string()),
        }
    }
    text
}

/// An expression of type `OptionSpec`. Each step is a call of its own, at which the compiler reports its fault.
fn spec(name: &str, doc: &str, ty: &Type, args: &Args) -> syn::Result<TokenStream> {
    let made = quote_spanned! {ty.span()=>
        rt::OptionSpec::new(
            #name, #doc, <#ty as rt::OptionType>::KIND, <#ty as rt::OptionType>::ABSENT.is_some(),
        )
    };
    let items = call_at(ty, "without_optional_items", quote!(option, <#ty as rt::OptionType>::HAS_OPTIONAL_ITEMS));
    let unit = args.unit.as_ref().map(|unit| call_at(unit, "in_bytes", quote!(option)));
    let range = args.range.as_ref().map(range_of).transpose()?;
    let default = args.default.as_ref().map(|value| default_of(value, args)).transpose()?;
    let steps = [Some(items), unit, range, default].into_iter().flatten();
    Ok(quote!({
        let option = #made;
        #(let option = #steps;)*
        option
    }))
}

/// Checks that no two options, or choices, have one name.
fn each_once(what: &str, names: &[(String, Span)]) -> syn::Result<()> {
    let is_again = |at: &usize| names[..*at].iter().any(|(name, _)| *name == names[*at].0);
    match (0..names.len()).find(is_again).map(|at| &names[at]) {
        Some((name, span)) => Err(syn::Error::new(*span, format!("two {what} are called `{name}`"))),
        None => Ok(()),
    }
}

pub fn derive(item: TokenStream) -> syn::Result<TokenStream> {
    let input: DeriveInput = syn::parse2(item)?;
    if !input.generics.params.is_empty() {
        return Err(syn::Error::new(input.generics.span(), "options have no generic parameters"));
    }
    match &input.data {
        Data::Struct(data) => derive_struct(&input, &data.fields),
        Data::Enum(data) => derive_enum(&input, data.variants.iter().collect()),
        Data::Union(data) => {
            Err(syn::Error::new(data.union_token.span(), "options are a struct, or an enum of choices"))
        }
    }
}

fn derive_struct(input: &DeriveInput, fields: &Fields) -> syn::Result<TokenStream> {
    let fields: Vec<&Field> = match fields {
        Fields::Named(fields) => fields.named.iter().collect(),
        Fields::Unit => Vec::new(),
        Fields::Unnamed(fields) => return Err(syn::Error::new(fields.span(), "options have names: `struct … { … }`")),
    };
    let own_check = check_arg(&input.attrs)?;
    let (mut names, mut specs, mut consts) = (Vec::new(), Vec::new(), Vec::new());
    let mut reads = Vec::new();
    let (mut checks, mut are_checked) = (Vec::new(), Vec::new());
    for (index, field) in fields.iter().enumerate() {
        let args = option_args(&field.attrs)?;
        if let Some(doc) = &args.doc {
            return Err(syn::Error::new(doc.span(), "the documentation comment of a field is the option's"));
        }
        let ident = field.ident.as_ref().expect("a named field has a name");
        let name = args.name.as_ref().map_or_else(|| ident.unraw().to_string(), LitStr::value);
        specs.push(spec(&name, &doc(&field.attrs), &field.ty, &args)?);
        consts.push(format_ident!("OPTION_{index}"));
        names.push((name, args.name.as_ref().map_or_else(|| ident.span(), LitStr::span)));
        let (ty, span) = (&field.ty, field.ty.span());
        reads.push(quote_spanned!(span=> #ident: rt::field::<#ty>(value, &FIELDS[#index])?));
        checks.push(quote_spanned!(span=> rt::check::<#ty>(&options.#ident)?;));
        are_checked.push(quote_spanned!(span=> <#ty as rt::OptionType>::CHECK.is_some()));
    }
    each_once("options", &names)?;
    let ident = &input.ident;
    let has_own = own_check.is_some();
    let own_check = own_check.map(|check| quote_spanned!(check.span()=> rt::check_with(#check, options)?;));
    Ok(quote! {
        const _: () = {
            use ::relais_plugin_api::__private as rt;

            // One by one, so that the faults of all are reported.
            #(const #consts: rt::OptionSpec = #specs;)*
            const FIELDS: &'static [rt::OptionSpec] = &[#(#consts),*];

            impl rt::OptionType for #ident {
                const KIND: rt::OptionKind = rt::OptionKind::Struct(FIELDS);

                // Those of its fields come first: its own may rely on them.
                const CHECK: Option<rt::Check<Self>> =
                    if #has_own #(|| #are_checked)* {
                        Some(|options: &Self| {
                            #(#checks)*
                            #own_check
                            let _ = options;
                            Ok(())
                        })
                    } else {
                        None
                    };

                fn from_value(value: &rt::Value) -> Option<Self> {
                    let _ = value;
                    Some(Self { #(#reads),* })
                }
            }

            impl rt::PassOptions for #ident {
                const FIELDS: &'static [rt::OptionSpec] = FIELDS;
            }
        };
    })
}

fn derive_enum(input: &DeriveInput, variants: Vec<&syn::Variant>) -> syn::Result<TokenStream> {
    let (mut names, mut choices, mut arms) = (Vec::new(), Vec::new(), Vec::new());
    for variant in variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(syn::Error::new(variant.fields.span(), "a choice is a name alone"));
        }
        let args = option_args(&variant.attrs)?;
        if let Args { default: Some(_), .. } | Args { range: Some(_), .. } | Args { unit: Some(_), .. } = args {
            return Err(syn::Error::new(
                variant.ident.span(),
                "a choice takes `name` alone: the rest is of the option",
            ));
        }
        let name = args.name.as_ref().map_or_else(|| snake_case(&variant.ident), LitStr::value);
        names.push((name.clone(), args.name.as_ref().map_or_else(|| variant.ident.span(), LitStr::span)));
        let (doc, ident) = (doc(&variant.attrs), &variant.ident);
        choices.push(quote!(rt::ChoiceSpec { name: #name, doc: #doc }));
        arms.push(quote!(#name => Some(Self::#ident)));
    }
    if choices.is_empty() {
        return Err(syn::Error::new(input.ident.span(), "an option has at least one choice"));
    }
    each_once("choices", &names)?;
    if let Some(check) = check_arg(&input.attrs)? {
        return Err(syn::Error::new(check.span(), "`check` is for a struct: a choice is checked by its name"));
    }
    let ident = &input.ident;
    Ok(quote! {
        const _: () = {
            use ::relais_plugin_api::__private as rt;

            impl rt::OptionType for #ident {
                const KIND: rt::OptionKind = rt::OptionKind::Choice(&[#(#choices),*]);

                fn from_value(value: &rt::Value) -> Option<Self> {
                    let rt::Value::Str(name) = value else { return None };
                    match name.as_str() {
                        #(#arms,)*
                        _ => None,
                    }
                }
            }
        };
    })
}

fn snake_case(ident: &Ident) -> String {
    let mut name = String::new();
    for (i, letter) in ident.to_string().chars().enumerate() {
        if letter.is_uppercase() && i > 0 {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

struct ConfigOption {
    key: LitStr,
    ty: Type,
    args: Args,
}

impl Parse for ConfigOption {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let key = input.parse()?;
        input.parse::<Token![:]>()?;
        let ty = input.parse()?;
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
        Ok(Self { key, ty, args: input.parse()? })
    }
}

pub fn config_option(input: TokenStream) -> syn::Result<TokenStream> {
    let ConfigOption { key, ty, args } = syn::parse2(input)?;
    if let Some(name) = &args.name {
        return Err(syn::Error::new(name.span(), "the name of an option of the context is its key"));
    }
    let doc = args.doc.as_ref().map_or_else(String::new, LitStr::value);
    let spec = spec(&key.value(), &doc, &ty, &args)?;
    // No plugin is opened when a context is made.
    let is_checked = quote_spanned!(ty.span()=> <#ty as rt::OptionType>::CHECK.is_some());
    let aliases = &args.aliases;
    let register = register(quote!(rt::Spec::Option(&SPEC)), quote!(rt::Item::Option(&SPEC)));
    let once = unique("option", &key);
    Ok(quote! {
        #once

        const _: () = {
            use ::relais_plugin_api::__private as rt;
            const SPEC: rt::ConfigSpec = rt::ConfigSpec { option: #spec, aliases: &[#(#aliases),*] };
            const _: () = assert!(!#is_checked, "an option of the context has no `check`: passes that read it check it");
            #register
        };
    })
}
