//! Sums of values.

use relais_ir::NodeId;
use smallvec::SmallVec;

/// As many terms as are added up; longer sums are values of their own.
const MOST_TERMS: usize = 8;

/// A sum of values with factors, and a number.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Linear {
    /// Values, in the order of their ids, with factors other than 0.
    pub terms: SmallVec<[(NodeId, i64); 4]>,
    /// The number.
    pub constant: i64,
}

impl Linear {
    /// Adds `factor` times a value; returns whether nothing overflowed.
    pub(super) fn add(&mut self, value: NodeId, factor: i64) -> bool {
        match self.terms.binary_search_by_key(&value, |term| term.0) {
            Ok(at) => match self.terms[at].1.checked_add(factor) {
                Some(0) => drop(self.terms.remove(at)),
                Some(sum) => self.terms[at].1 = sum,
                None => return false,
            },
            Err(_) if factor == 0 => {}
            Err(at) => self.terms.insert(at, (value, factor)),
        }
        self.terms.len() <= MOST_TERMS
    }

    pub(super) fn add_constant(&mut self, value: i64) -> bool {
        match self.constant.checked_add(value) {
            Some(sum) => {
                self.constant = sum;
                true
            }
            None => false,
        }
    }

    /// This plus `factor` times another one; `None` if something overflows, or there are too many terms.
    pub fn plus(&self, other: &Self, factor: i64) -> Option<Self> {
        let mut sum = self.clone();
        for &(value, of_value) in &other.terms {
            sum.add(value, of_value.checked_mul(factor)?).then_some(())?;
        }
        sum.add_constant(other.constant.checked_mul(factor)?).then_some(sum)
    }

    /// This minus another one; `None` if something overflows.
    pub fn minus(&self, other: &Self) -> Option<Self> {
        self.plus(other, -1)
    }

    /// The number that it is, if it has no values.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The terms that are left if `sign` times those of another sum are taken out; `None` unless they are among these.
    pub(super) fn without(&self, other: &Self, sign: i64) -> Option<Self> {
        if other.terms.len() > self.terms.len() {
            return None;
        }
        let mut rest = Self { terms: self.terms.clone(), constant: 0 };
        for &(value, factor) in &other.terms {
            let at = rest.terms.binary_search_by_key(&value, |term| term.0).ok()?;
            if Some(rest.terms[at].1) != factor.checked_mul(sign) {
                return None;
            }
            rest.terms.remove(at);
        }
        Some(rest)
    }
}
