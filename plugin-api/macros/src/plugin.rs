//! `plugin!`, `operators!`, `additions!`, `evaluators!` and `pipeline!`.

use crate::{
    register::{register, unique, unique_in},
    values::{Pairs, int, text},
};
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{
    Expr, Ident, LitStr, Token,
    parse::{Parse, ParseStream},
    spanned::Spanned,
};

struct Plugin {
    description: LitStr,
    /// A list of domain and version.
    closed_domains: Option<Expr>,
}

impl Parse for Plugin {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let expected =
            "expected `description = \"…\"`: the name, the version and the licence are those in the `Cargo.toml`";
        let key: Ident = input.parse().map_err(|error| syn::Error::new(error.span(), expected))?;
        if key != "description" {
            return Err(syn::Error::new(key.span(), expected));
        }
        input.parse::<Token![=]>()?;
        let description: LitStr = input.parse()?;
        input.parse::<Option<Token![,]>>()?;
        if description.value().trim().is_empty() {
            return Err(syn::Error::new(description.span(), "say in one line what the plugin has"));
        }
        if input.is_empty() {
            return Ok(Self { description, closed_domains: None });
        }
        let key: Ident = input.parse()?;
        if key != "closed_domains" {
            let message = match key.to_string().as_str() {
                "name" | "version" | "licence" | "license" => format!("the {key} is the one in the `Cargo.toml`"),
                _ => "expected `closed_domains = &[(\"my.domain\", 1)]`".to_owned(),
            };
            return Err(syn::Error::new(key.span(), message));
        }
        input.parse::<Token![=]>()?;
        let closed_domains = Some(input.parse()?);
        input.parse::<Option<Token![,]>>()?;
        Ok(Self { description, closed_domains })
    }
}

pub fn plugin(input: TokenStream) -> syn::Result<TokenStream> {
    let Plugin { description, closed_domains } = syn::parse2(input)?;
    let closed_domains = closed_domains.map_or_else(|| quote!(&[]), |domains| quote!(#domains));
    let crate_name = std::env::var("CARGO_CRATE_NAME")
        .map_err(|_| syn::Error::new(Span::call_site(), "a plugin is built by cargo, which sets CARGO_CRATE_NAME"))?;
    let entry = format_ident!("relais_plugin_v1_{crate_name}");
    let entry_name = entry.to_string();
    let register =
        register(quote!(rt::Spec::Plugin(&SPEC, rt::FINGERPRINT)), quote!(rt::Item::Plugin(rt::root::<ThisPlugin>)));
    Ok(quote! {
        const _: () = {
            use ::relais_plugin_api::__private as rt;

            struct ThisPlugin;

            impl rt::PluginImpl for ThisPlugin {
                const CRATE: &'static str = env!("CARGO_CRATE_NAME");
                const NAME: &'static str = env!("CARGO_PKG_NAME");
            }

            const SPEC: rt::PluginSpec = rt::PluginSpec {
                name: env!("CARGO_PKG_NAME"),
                version: env!("CARGO_PKG_VERSION"),
                licence: env!("CARGO_PKG_LICENSE"),
                description: #description,
                entry: #entry_name,
                crate_name: env!("CARGO_CRATE_NAME"),
                panic: if cfg!(panic = "unwind") { "unwind" } else { "abort" },
                debug: cfg!(debug_assertions) as u8,
                closed_domains: #closed_domains,
            };

            #[allow(non_upper_case_globals)]
            #[unsafe(no_mangle)]
            pub static #entry: rt::LibHeader = rt::lib_header::<ThisPlugin>();

            #register
        };
    })
}

pub fn table(input: TokenStream, spec: &str, ty: &str) -> syn::Result<TokenStream> {
    let table: Expr = syn::parse2(input)?;
    let [spec, ty] = [spec, ty].map(|name| Ident::new(name, Span::call_site()));
    let register = register(quote!(rt::Spec::#spec(TABLE)), quote!(rt::Item::#spec(TABLE)));
    if matches!(without_reference(&table), Expr::Array(array) if array.elems.is_empty()) {
        return Err(syn::Error::new(table.span(), format!("the table is empty: write `&[{ty}::new(…)]`")));
    }
    let names = if spec == "Operators" { written_operators(&table) } else { Vec::new() };
    Ok(quote! {
        #(#names)*

        const _: () = {
            use ::relais_plugin_api::__private as rt;
            const TABLE: &'static [rt::#ty] = #table;
            #register
        };
    })
}

/// The operators of a table that name theirs in it: `Operator::new("acme", "Gelu", 1)`, whatever follows. Those that are
/// constants are compared within their table alone, when it is evaluated.
fn written_operators(table: &Expr) -> Vec<TokenStream> {
    let Expr::Array(table) = without_reference(table) else { return Vec::new() };
    let unique = |mut made: &Expr| {
        while let Expr::MethodCall(call) = made {
            made = &call.receiver;
        }
        let Expr::Call(call) = made else { return None };
        let Expr::Path(function) = &*call.func else { return None };
        let mut path = function.path.segments.iter().rev().map(|part| part.ident.to_string());
        if path.next()? != "new" || path.next()? != "Operator" {
            return None;
        }
        let mut arguments = call.args.iter();
        let (domain, name) = (text(arguments.next()?).ok()?, text(arguments.next()?).ok()?);
        let since = int(arguments.next()?).ok()?;
        let parts = [&*domain.value(), &*name.value(), since.base10_digits()];
        Some(unique_in("operator", &parts, name.span()))
    };
    table.elems.iter().filter_map(unique).collect()
}

fn without_reference(expr: &Expr) -> &Expr {
    if let Expr::Reference(reference) = expr { &reference.expr } else { expr }
}

pub fn pipeline(input: TokenStream) -> syn::Result<TokenStream> {
    let expected = "expected `name = \"acme.tidy\", toml = include_str!(\"tidy.toml\")`";
    let Pairs { pairs, groups } =
        syn::parse2(input).map_err(|error| syn::Error::new(error.span(), format!("{error}: {expected}")))?;
    if let Some((key, _)) = groups.first() {
        return Err(syn::Error::new(key.span(), expected));
    }
    let (mut name, mut toml) = (None, None);
    for (key, value) in pairs {
        let is_new = match key.to_string().as_str() {
            "name" => name.replace(text(&value)?).is_none(),
            "toml" => toml.replace(value).is_none(),
            _ => return Err(syn::Error::new(key.span(), format!("unknown key `{key}`: {expected}"))),
        };
        if !is_new {
            return Err(syn::Error::new(key.span(), format!("`{key}` is given twice")));
        }
    }
    let (Some(name), Some(toml)) = (name, toml) else { return Err(syn::Error::new(Span::call_site(), expected)) };
    let register = register(quote!(rt::Spec::Pipeline(&SPEC)), quote!(rt::Item::Pipeline));
    let once = unique("pipeline", &name);
    Ok(quote! {
        #once

        const _: () = {
            use ::relais_plugin_api::__private as rt;
            const SPEC: rt::PipelineSpec = rt::PipelineSpec { name: #name, toml: #toml };
            #register
        };
    })
}
