//! `#[derive(PassOptions)]` and `config_option!`.

use crate::{
    register::register,
    values::{doc, literal_value},
};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{
    Attribute, Data, DeriveInput, Expr, ExprLit, ExprPath, ExprRange, ExprUnary, Field, Fields, Ident, Lit, LitStr,
    RangeLimits, Token, Type, bracketed,
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
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
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

/// An expression of type `OptionKind`.
fn kind(ty: &Type, args: &Args) -> syn::Result<TokenStream> {
    let mut kind = quote_spanned!(ty.span()=> <#ty as rt::OptionType>::KIND);
    if let Some(unit) = &args.unit {
        kind = quote_spanned!(unit.span()=> #kind.in_bytes());
    }
    let Some(range) = &args.range else { return Ok(kind) };
    if matches!((&range.limits, &range.end), (RangeLimits::HalfOpen(_), Some(_))) {
        return Err(syn::Error::new(range.span(), "a range says its last value: `0..=10`"));
    }
    let is_float = [&range.start, &range.end].into_iter().flatten().any(|bound| contains_float(bound));
    let (method, number) = if is_float { ("with_float_range", "f64") } else { ("with_int_range", "i64") };
    let [method, number] = [method, number].map(|name| Ident::new(name, range.span()));
    let bound = |bound: &Option<Box<Expr>>| match bound {
        Some(bound) => quote!(Some(#bound as #number)),
        None => quote!(None),
    };
    let (start, end) = (bound(&range.start), bound(&range.end));
    Ok(quote_spanned!(range.span()=> #kind.#method(#start, #end)))
}

fn contains_float(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(ExprLit { lit, .. }) => matches!(lit, Lit::Float(_)),
        Expr::Unary(ExprUnary { expr, .. }) => contains_float(expr),
        _ => false,
    }
}

/// An expression of type `DefaultSpec`. The default of a number of bytes may have a unit.
fn default_of(value: &Expr, args: &Args) -> syn::Result<TokenStream> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if args.unit.is_some() => {
            Ok(quote_spanned!(text.span()=> rt::DefaultSpec::Int(const { rt::default_bytes(#text) })))
        }
        _ => literal_value(value),
    }
}

/// An expression of type `OptionSpec`.
fn spec(name: &str, doc: &str, ty: &Type, args: &Args) -> syn::Result<TokenStream> {
    let kind = kind(ty, args)?;
    let default = match &args.default {
        Some(value) => {
            let value = default_of(value, args)?;
            quote!(Some(#value))
        }
        None => quote!(None),
    };
    let is_optional = quote_spanned!(ty.span()=> <#ty as rt::OptionType>::ABSENT.is_some());
    Ok(quote! {
        rt::OptionSpec { name: #name, doc: #doc, kind: #kind, default: #default, is_optional: #is_optional }
    })
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
    let mut specs = Vec::new();
    let mut reads = Vec::new();
    let (mut checks, mut are_checked) = (Vec::new(), Vec::new());
    for (index, field) in fields.iter().enumerate() {
        let args = option_args(&field.attrs)?;
        let ident = field.ident.as_ref().expect("a named field has a name");
        let name = args.name.as_ref().map_or_else(|| ident.to_string(), LitStr::value);
        let name = name.strip_prefix("r#").unwrap_or(&name);
        specs.push(spec(name, &doc(&field.attrs), &field.ty, &args)?);
        reads.push(quote!(#ident: rt::field(value, &FIELDS[#index])?));
        let (ty, span) = (&field.ty, field.ty.span());
        checks.push(quote_spanned!(span=> rt::check::<#ty>(&options.#ident)?;));
        are_checked.push(quote_spanned!(span=> <#ty as rt::OptionType>::CHECK.is_some()));
    }
    let ident = &input.ident;
    let has_own = own_check.is_some();
    let own_check = own_check.map(|check| quote_spanned!(check.span()=> rt::check_with(#check, options)?;));
    Ok(quote! {
        const _: () = {
            use ::relais_plugin_api::__private as rt;

            const FIELDS: &'static [rt::OptionSpec] = &[#(#specs),*];

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
    let mut choices = Vec::new();
    let mut arms = Vec::new();
    for variant in variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(syn::Error::new(variant.fields.span(), "a choice is a name alone"));
        }
        let args = option_args(&variant.attrs)?;
        let name = args.name.as_ref().map_or_else(|| snake_case(&variant.ident), LitStr::value);
        let (doc, ident) = (doc(&variant.attrs), &variant.ident);
        choices.push(quote!(rt::ChoiceSpec { name: #name, doc: #doc }));
        arms.push(quote!(#name => Some(Self::#ident)));
    }
    if choices.is_empty() {
        return Err(syn::Error::new(input.ident.span(), "an option has at least one choice"));
    }
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
    let doc = args.doc.as_ref().map_or_else(String::new, LitStr::value);
    let spec = spec(&key.value(), &doc, &ty, &args)?;
    // No plugin is opened when a context is made.
    let is_checked = quote_spanned!(ty.span()=> <#ty as rt::OptionType>::CHECK.is_some());
    let aliases = &args.aliases;
    let register = register(quote!(rt::Spec::Option(&SPEC)), quote!(rt::Item::Option(&SPEC)));
    Ok(quote! {
        const _: () = {
            use ::relais_plugin_api::__private as rt;
            const SPEC: rt::ConfigSpec = rt::ConfigSpec { option: #spec, aliases: &[#(#aliases),*] };
            const _: () = assert!(!#is_checked, "an option of the context has no `check`: passes that read it check it");
            #register
        };
    })
}
