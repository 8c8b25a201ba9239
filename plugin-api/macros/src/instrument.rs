//! The attribute that makes an instrument of an `impl Instrument for …`.

use crate::{
    register::{register, unique},
    values::{Pairs, doc, text},
};
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{ImplItem, ItemImpl, LitStr, Path, Type, parse_quote, parse_quote_spanned, spanned::Spanned};

pub fn instrument(args: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let name = name(args)?;
    let expected = "this attribute goes before `impl Instrument for MyType`";
    let mut item: ItemImpl = syn::parse2(item).map_err(|error| syn::Error::new(error.span(), expected))?;
    let is_trait = |path: &Path| path.segments.last().is_some_and(|last| last.ident == "Instrument");
    match &item.trait_ {
        Some((path, _)) if is_trait(path) => {}
        _ => return Err(syn::Error::new(item.self_ty.span(), expected)),
    }
    if !item.generics.params.is_empty() {
        return Err(syn::Error::new(item.generics.span(), "an instrument has no generic parameters"));
    }
    let doc = doc(&item.attrs);
    let once = unique("instrument", &name);
    fill_in(&mut item);
    let ty: &Type = &item.self_ty;
    let register = register(
        quote!(rt::Spec::Instrument(&SPEC)),
        quote!(rt::Item::Instrument(&SPEC, rt::create_instrument::<ThisInstrument>)),
    );
    Ok(quote! {
        #item

        #once

        const _: () = {
            use ::relais_plugin_api as api;
            use api::__private as rt;

            const SPEC: rt::InstrumentSpec = rt::InstrumentSpec {
                name: #name,
                doc: #doc,
                options: <<#ty as api::instrument::Instrument>::Options as rt::PassOptions>::FIELDS,
            };

            struct ThisInstrument;

            impl rt::InstrumentImpl for ThisInstrument {
                type Instrument = #ty;
                const SPEC: &'static rt::InstrumentSpec = &SPEC;
            }

            #register
        };
    })
}

fn name(args: TokenStream) -> syn::Result<LitStr> {
    let Pairs { pairs, groups } = syn::parse2(args)?;
    if let Some((key, _)) = groups.first() {
        return Err(syn::Error::new(key.span(), "this attribute takes `name` alone"));
    }
    let mut name = None;
    for (key, value) in pairs {
        if key != "name" {
            let message = format!("unknown key `{key}`: this attribute takes `name`");
            return Err(syn::Error::new(key.span(), message));
        }
        if name.is_some() {
            return Err(syn::Error::new(key.span(), "`name` is given twice"));
        }
        name = Some(text(&value)?);
    }
    name.ok_or_else(|| syn::Error::new(Span::call_site(), "an instrument has a name: `name = \"acme.Counter\"`"))
}

/// Adds the items that an instrument without options may omit.
fn fill_in(item: &mut ItemImpl) {
    let has_options = item.items.iter().any(|item| matches!(item, ImplItem::Type(ty) if ty.ident == "Options"));
    let has_new = item.items.iter().any(|item| matches!(item, ImplItem::Fn(new) if new.sig.ident == "new"));
    if !has_options {
        item.items.insert(
            0,
            parse_quote!(
                type Options = ();
            ),
        );
    }
    if !has_new {
        // A type that is not `Default` is reported at its place in the source.
        let span = item.self_ty.span();
        let default = quote_spanned!(span=> <Self as ::core::default::Default>::default());
        item.items.push(parse_quote_spanned! {span=>
            fn new(_: Self::Options) -> ::core::result::Result<Self, ::relais_plugin_api::diagnostics::PassError> {
                ::core::result::Result::Ok(#default)
            }
        });
    }
}
