//! `CastLike` to a type that is known is `Cast`.
//!
//! ```text
//! %0 = CastLike(%x, %y);      // %y: Tensor[(8), float16]
//! ```
//! becomes
//! ```text
//! %0 = Cast(%x, to = 10);
//! ```
//!
//! Models from torch's newer exporter write their constants so, and nothing folds before this is done.

use relais_plugin_api::{
    ir::{AttrData, AttrValue},
    prelude::*,
};

/// Turns `CastLike` into `Cast` where the target type is known.
#[rewrite_pass(name = "relais.CastLikeToCast", opt_level = 1, required = ["relais.InferType"], ops = ["CastLike"])]
pub fn cast_like_to_cast(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    let [input, like] = *call.args() else { return Rewrite::Keep };
    let Some(elem) = cx.type_of(like).elem() else {
        return Rewrite::decline("the element type of the second input is not known");
    };
    let kept = call.owner().attr_recs(call.id).iter().map(|rec| call.owner().str(rec.name));
    // `saturate` and `round_mode` mean the same for both.
    let attrs: Vec<Attr> = kept
        .filter_map(|name| match call.attrs().get(name)? {
            AttrValue::Int(value) => Some(Attr::new(name.to_owned(), value)),
            AttrValue::String(value) => Some(Attr::new(name.to_owned(), AttrData::String(value.to_vec()))),
            _ => None,
        })
        .chain([Attr::new("to", i64::from(elem.0))])
        .collect();
    Rewrite::Replace(cx.call_with("Cast", &[input], attrs))
}
