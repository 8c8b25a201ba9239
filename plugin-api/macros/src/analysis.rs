//! The attribute that makes an analysis of an `impl Analysis for …`.

use crate::{
    register::{register, unique},
    values::{Pairs, doc, statistic, text},
};
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Ident, ImplItem, ItemImpl, LitStr, Path, Type, parse_quote, spanned::Spanned};

/// The parts of its unit that an analysis may depend on, and their names in `Depends`.
const DEPENDS: [(&str, &str); 2] = [("structure", "STRUCTURE"), ("everything", "EVERYTHING")];

struct Args {
    name: LitStr,
    depends: &'static str,
    lists: Vec<(LitStr, LitStr)>,
}

impl Args {
    fn parse(args: TokenStream) -> syn::Result<Self> {
        let Pairs { pairs, groups } = syn::parse2(args)?;
        let (mut name, mut depends, mut lists) = (None, None, None);
        for (key, pairs) in groups {
            if key != "lists" || lists.is_some() {
                let message = format!("unknown key `{key}(…)`: this attribute takes `lists(…)`, once");
                return Err(syn::Error::new(key.span(), message));
            }
            lists = Some(pairs.iter().map(statistic).collect::<syn::Result<_>>()?);
        }
        for (key, value) in pairs {
            let is_again = match key.to_string().as_str() {
                "name" => name.replace(text(&value)?).is_some(),
                "depends" => {
                    let given = text(&value)?;
                    let Some((_, constant)) = DEPENDS.iter().find(|(name, _)| *name == given.value()) else {
                        let message = "an analysis depends on the `\"structure\"` alone, or on `\"everything\"`";
                        return Err(syn::Error::new(given.span(), message));
                    };
                    depends.replace(*constant).is_some()
                }
                _ => {
                    let message = format!("unknown key `{key}`: this attribute takes `name`, `depends`, `lists(…)`");
                    return Err(syn::Error::new(key.span(), message));
                }
            };
            if is_again {
                return Err(syn::Error::new(key.span(), format!("`{key}` is given twice")));
            }
        }
        let unnamed = || syn::Error::new(Span::call_site(), "an analysis has a name: `name = \"acme.Depth\"`");
        Ok(Self {
            name: name.ok_or_else(unnamed)?,
            depends: depends.unwrap_or("EVERYTHING"),
            lists: lists.unwrap_or_default(),
        })
    }
}

pub fn analysis(args: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let Args { name, depends, lists } = Args::parse(args)?;
    let expected = "this attribute goes before `impl Analysis for MyType`";
    let mut item: ItemImpl = syn::parse2(item).map_err(|error| syn::Error::new(error.span(), expected))?;
    let is_trait = |path: &Path| path.segments.last().is_some_and(|last| last.ident == "Analysis");
    match &item.trait_ {
        Some((path, _)) if is_trait(path) => {}
        _ => return Err(syn::Error::new(item.self_ty.span(), expected)),
    }
    if !item.generics.params.is_empty() {
        return Err(syn::Error::new(item.generics.span(), "an analysis has no generic parameters"));
    }
    let has_lists = item.items.iter().any(|item| matches!(item, ImplItem::Fn(it) if it.sig.ident == "lists"));
    match (has_lists, lists.first()) {
        (false, Some((first, _))) => {
            let message = "`lists(…)` declares what a function `lists` of the `impl` returns";
            return Err(syn::Error::new(first.span(), message));
        }
        (true, None) => {
            let message = "what `lists` returns is declared: `lists(depth = \"by node: …\")`";
            return Err(syn::Error::new(name.span(), message));
        }
        _ => {}
    }
    if !item.items.iter().any(|item| matches!(item, ImplItem::Type(ty) if ty.ident == "Of")) {
        let of: ImplItem = parse_quote!(
            type Of = ::relais_plugin_api::ir::Function;
        );
        item.items.insert(0, of);
    }
    let depends = Ident::new(depends, Span::call_site());
    let doc = doc(&item.attrs);
    let once = unique("analysis", &name);
    let lists = lists.iter().map(|(name, doc)| quote!(rt::ListSpec { name: #name, doc: #doc }));
    let ty = (*item.self_ty).clone();
    // The record is in the `impl`, so that one without the attribute is not complete.
    item.items.push(parse_quote! {
        const SPEC: &'static ::relais_plugin_api::__private::AnalysisSpec = {
            use ::relais_plugin_api as api;
            use api::__private as rt;
            &rt::AnalysisSpec {
                name: #name,
                doc: #doc,
                subject: <<Self as api::analysis::Analysis>::Of as api::analysis::AnalysisSubject>::KIND,
                depends: rt::Depends::#depends,
                lists: &[#(#lists),*],
            }
        };
    });
    let register = registered(&ty);
    Ok(quote! {
        #item

        #once

        const _: () = {
            use ::relais_plugin_api as api;
            use api::__private as rt;

            #register
        };
    })
}

fn registered(ty: &Type) -> TokenStream {
    let spec = quote!(<#ty as api::analysis::Analysis>::SPEC);
    register(quote!(rt::Spec::Analysis(#spec)), quote!(rt::Item::Analysis(#spec, rt::compute::<#ty>)))
}
