//! Operators of a camera's software: what a model that calls them needs to be optimised like any other.

use relais_plugin_api::prelude::*;

mod letter_box;

plugin! { description = "the operators of the domain `vision`" }

operators! {
    &[letter_box::LETTER_BOX]
}
