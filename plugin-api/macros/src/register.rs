//! The registration of one item: its record in the file, its constructor, and its name in the crate.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use std::fmt::Write;
use syn::LitStr;

/// A static with the records of `spec`, in their section, and a registration of `item`.
pub fn register(spec: TokenStream, item: TokenStream) -> TokenStream {
    quote! {
        const LEN: usize = { let spec: rt::Spec<'_> = #spec; spec.len() };

        #[used]
        #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__passrec"))]
        #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".passrec"))]
        static RECORDS: [u8; LEN] = { let spec: rt::Spec<'_> = #spec; spec.bytes() };

        rt::inventory::submit! {
            rt::Registration { crate_name: env!("CARGO_CRATE_NAME"), records: &RECORDS, item: #item }
        }
    }
}

/// An item that makes a second one of this kind and name in the crate an error of the compiler, which points at both.
///
/// No macro sees what another one makes. But macros that are exported are in the root of their crate, whichever module they
/// are written in, and names there are unique. Nothing calls these, and they make no code.
pub fn unique(kind: &str, name: &LitStr) -> TokenStream {
    unique_in(kind, &[&name.value()], name.span())
}

/// The same for a name of several parts.
pub fn unique_in(kind: &str, parts: &[&str], place: Span) -> TokenStream {
    let parts: Vec<String> = parts.iter().map(|part| word(part)).collect();
    let ident = Ident::new(&format!("{kind}_{}", parts.join("_of_")), Span::call_site().located_at(place));
    quote! {
        #[doc(hidden)]
        #[macro_export]
        macro_rules! #ident { () => {} }
    }
}

/// A name as a part of an identifier: no two names are the same one.
fn word(name: &str) -> String {
    let mut word = String::new();
    for letter in name.chars() {
        match letter {
            '_' => word.push_str("__"),
            '.' => word.push_str("_dot_"),
            '-' => word.push_str("_dash_"),
            _ if letter.is_ascii_alphanumeric() => word.push(letter),
            _ => write!(word, "_x{:x}_", u32::from(letter)).expect("a text takes everything"),
        }
    }
    word
}
