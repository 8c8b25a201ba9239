//! Proofs from several conditions together.

use super::{Holds, Intervals, Linear, MOST_FACTS};
use relais_ir::*;

/// The most conditions that are taken together.
const MOST_COMBINED: usize = 4;
/// The most sums that a proof looks at.
const MOST_SUMS: usize = 64;

impl Intervals {
    /// The least and the largest value of a sum, and whether it is certainly not 0, by what is known of them so far.
    ///
    /// A condition says that another sum is at most 0. Subtracting that does not make a sum smaller, and makes it simpler if
    /// the two have terms in common: an upper bound of the difference is one of the sum.
    pub(super) fn prove_by_several(
        &self,
        f: &Function,
        sum: &Linear,
        (mut min, mut max, mut is_not_zero): (i128, i128, bool),
    ) -> (i128, i128, bool) {
        max = max.min(self.most(f, sum));
        if let Some(negative) = Linear::default().minus(sum) {
            min = min.max(self.most(f, &negative).saturating_neg());
        }
        // Where two values are equal, one differs from a third if the other one does.
        for fact in self.facts.iter().rev().take(MOST_FACTS).filter(|fact| fact.holds == Holds::Zero) {
            let negative = Linear::default().minus(&fact.sum);
            for part in [Some(&fact.sum), negative.as_ref()].into_iter().flatten().filter(|part| shares(sum, part)) {
                is_not_zero |= sum.minus(part).is_some_and(|rest| self.prove_by_one(f, &rest).2);
            }
        }
        if is_not_zero {
            min += i128::from(min == 0);
            max -= i128::from(max == 0);
        }
        (min, max, is_not_zero)
    }

    /// A bound of a sum: the least that was found.
    fn most(&self, f: &Function, sum: &Linear) -> i128 {
        let mut most = self.range_of(f, sum).1;
        let mut sums = vec![sum.clone()];
        let (mut start, mut n_combined) = (0, 0);
        while start < sums.len() && n_combined < MOST_COMBINED {
            let end = sums.len();
            for at in start..end {
                for fact in self.facts.iter().rev().take(MOST_FACTS) {
                    let negative = if fact.holds == Holds::Zero { Linear::default().minus(&fact.sum) } else { None };
                    let is_bound = fact.holds != Holds::NotZero;
                    let parts = [Some(&fact.sum).filter(|_| is_bound), negative.as_ref()];
                    for part in parts.into_iter().flatten() {
                        let Some(rest) =
                            Some(&sums[at]).filter(|sum| shares(sum, part)).and_then(|sum| sum.minus(part))
                        else {
                            continue;
                        };
                        most = most.min(self.range_of(f, &rest).1);
                        if sums.len() < MOST_SUMS && !rest.terms.is_empty() && !sums.contains(&rest) {
                            sums.push(rest);
                        }
                    }
                }
            }
            (start, n_combined) = (end, n_combined + 1);
        }
        most
    }
}

/// Whether a term of both goes if the second sum is taken from the first.
fn shares(sum: &Linear, part: &Linear) -> bool {
    sum.terms.iter().any(|term| part.terms.contains(term))
}
