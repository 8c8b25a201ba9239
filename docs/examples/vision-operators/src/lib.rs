//! Operators of a camera's software: what a model that calls them needs to be optimised like any other.

use relais_plugin_api::prelude::*;

mod letter_box;
mod luma;

plugin! { description = "the operators of the domain `vision`" }

operators! {
    &[letter_box::LETTER_BOX, luma::LUMA]
}

#[cfg(test)]
mod tests {
    /// Calls as models have them, which chance would hardly find.
    const CALLS: &str = "def @main(%size: Tensor[(2), int64], %image: Tensor[(1, 2, 4, 3), float32]) {
        (%fitted, %pads) = vision::LetterBox(%size, target = [6, 4]);
        %grey = vision::Luma(%image);
        (%fitted, %pads, %grey)
    }";

    /// Among others: kernels come to an end, write what they say, and compute what evaluators do. With `strict`, each
    /// kernel must have run.
    #[test]
    fn everything_keeps_the_rules() {
        relais_conformance::Kit::new().module(CALLS).strict().check_all();
    }
}
