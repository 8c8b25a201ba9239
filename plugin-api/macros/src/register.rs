//! The registration of one item: its record in the file, and its constructor.

use proc_macro2::TokenStream;
use quote::quote;

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
