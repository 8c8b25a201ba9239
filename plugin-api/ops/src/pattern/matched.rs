//! Conditions that are functions of an author, and the match that they are given.

use super::found::{Bound, Known, Match, Slot};
use crate::rewrite::RewriteCx;
use relais_ir::{prim::number_of, *};
use std::{borrow::Cow, fmt, sync::Arc};

/// A function that rules can name as a condition: `Ok` holds, and `Err` says why it does not.
#[derive(Clone, Copy, Debug)]
pub struct ConditionFn {
    name: &'static str,
    holds: fn(&Matched<'_>, &RewriteCx<'_>) -> Result<(), Unmet>,
}

impl ConditionFn {
    /// A function with the name by which rules mean it.
    pub const fn new(name: &'static str, holds: fn(&Matched<'_>, &RewriteCx<'_>) -> Result<(), Unmet>) -> Self {
        Self { name, holds }
    }
}

type Shared = dyn Fn(&Matched<'_>, &RewriteCx<'_>) -> Result<(), Unmet> + Send + Sync;

type Make = dyn Fn(&Matched<'_>, &mut RewriteCx<'_>) -> Result<Vec<NodeId>, Unmet> + Send + Sync;

/// The same of a closure, for rules that are made at run time.
#[derive(Clone)]
pub struct SharedCondition {
    name: Arc<str>,
    holds: Arc<Shared>,
}

impl SharedCondition {
    /// A closure with the name by which rules mean it.
    pub fn new(
        name: &str,
        holds: impl Fn(&Matched<'_>, &RewriteCx<'_>) -> Result<(), Unmet> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), holds: Arc::new(holds) }
    }
}

/// A condition that is a function.
#[derive(Clone)]
pub(super) enum Asked {
    Fn(ConditionFn),
    Shared(SharedCondition),
}

impl Asked {
    pub fn name(&self) -> &str {
        match self {
            Self::Fn(function) => function.name,
            Self::Shared(closure) => &closure.name,
        }
    }

    pub fn ask(&self, found: &Matched<'_>, cx: &RewriteCx<'_>) -> Result<(), Unmet> {
        match self {
            Self::Fn(function) => (function.holds)(found, cx),
            Self::Shared(closure) => (closure.holds)(found, cx),
        }
    }
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for Asked {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Fn(a), Self::Fn(b)) => a.name == b.name && std::ptr::fn_addr_eq(a.holds, b.holds),
            (Self::Shared(a), Self::Shared(b)) => a.name == b.name && Arc::ptr_eq(&a.holds, &b.holds),
            _ => false,
        }
    }
}

/// A function that makes what takes the place of a call, instead of the right side of a rule: a value for each of its
/// results, [`NodeId::ABSENT`] for one that nothing uses. Its match has all variables of the rule as arguments.
#[derive(Clone)]
pub struct MakeFn(Arc<Make>);

impl MakeFn {
    /// A closure. It returns why it declines the match, otherwise the values.
    pub fn new(
        make: impl Fn(&Matched<'_>, &mut RewriteCx<'_>) -> Result<Vec<NodeId>, Unmet> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(make))
    }

    pub(super) fn make(&self, found: &Matched<'_>, cx: &mut RewriteCx<'_>) -> Result<Vec<NodeId>, Unmet> {
        (self.0)(found, cx)
    }
}

impl fmt::Debug for MakeFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a function")
    }
}

impl PartialEq for MakeFn {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Why a condition does not hold. It becomes a part of the remark; texts convert to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unmet(Cow<'static, str>);

impl From<&'static str> for Unmet {
    fn from(why: &'static str) -> Self {
        Self(why.into())
    }
}

impl From<String> for Unmet {
    fn from(why: String) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A variable of a rule: the position of an argument of the condition, so that several rules can share a function, or
/// the name that the rule gives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variable<'a> {
    /// The argument at this position: `x` is at 0 in `is_even(x)`.
    Arg(usize),
    /// The variable of this name.
    Named(&'a str),
}

impl From<usize> for Variable<'_> {
    fn from(position: usize) -> Self {
        Self::Arg(position)
    }
}

impl<'a> From<&'a str> for Variable<'a> {
    fn from(name: &'a str) -> Self {
        Self::Named(name)
    }
}

/// A match of a rule, for a condition that is a function. Its methods return an error that says so if a variable does
/// not stand for what they return.
pub struct Matched<'m> {
    pub(super) f: &'m Function,
    pub(super) uses: &'m [u32],
    pub(super) known: &'m Known,
    /// The names of the rule's variables.
    pub(super) slots: &'m [&'m str],
    pub(super) found: &'m Match,
    pub(super) args: &'m [Slot],
}

impl<'m> Matched<'m> {
    /// Returns the value of a variable.
    ///
    /// # Errors
    /// Returns an error if it is absent, or the variable stands for several values or an attribute.
    pub fn value<'v>(&self, variable: impl Into<Variable<'v>>) -> Result<NodeId, Unmet> {
        self.node(self.slot(variable.into())?)
    }

    /// Returns the values of a variable: all those of `..rest`, one, or none of one that is absent.
    ///
    /// # Errors
    /// Returns an error if the variable stands for an attribute.
    pub fn values<'v>(&self, variable: impl Into<Variable<'v>>) -> Result<&'m [NodeId], Unmet> {
        let slot = self.slot(variable.into())?;
        match &self.found.bound[slot] {
            Bound::Node(id) => Ok(std::slice::from_ref(id)),
            Bound::Absent => Ok(&[]),
            Bound::Rest(first, n) => Ok(self.found.rest(*first, *n)),
            _ => Err(self.not(slot, "not a value")),
        }
    }

    /// Returns the tensor of a variable that is a constant.
    ///
    /// # Errors
    /// Returns an error if it is not one.
    pub fn constant<'v>(&self, variable: impl Into<Variable<'v>>) -> Result<&'m Tensor, Unmet> {
        let slot = self.slot(variable.into())?;
        self.f.constant(self.node(slot)?).ok_or_else(|| self.not(slot, "not a constant"))
    }

    /// Returns the number of a variable of a loop program that is one, in each lane of a vector.
    ///
    /// # Errors
    /// Returns an error if it is not one.
    pub fn number<'v>(&self, variable: impl Into<Variable<'v>>) -> Result<Imm, Unmet> {
        let slot = self.slot(variable.into())?;
        number_of(self.f, self.node(slot)?).ok_or_else(|| self.not(slot, "not a number"))
    }

    /// Returns the value of an attribute: the one that the call has, or the default in the version of the call.
    ///
    /// # Errors
    /// Returns an error if the variable stands for a value.
    pub fn attr<'v>(&self, variable: impl Into<Variable<'v>>) -> Result<&'m AttrData, Unmet> {
        let slot = self.slot(variable.into())?;
        match self.found.bound[slot] {
            Bound::Attr(index) => Ok(self.found.attr(index)),
            _ => Err(self.not(slot, "not an attribute")),
        }
    }

    /// Returns what is known of the type of a value.
    ///
    /// # Errors
    /// As for [`value`](Self::value).
    pub fn type_of<'v>(&self, variable: impl Into<Variable<'v>>) -> Result<Type<'m>, Unmet> {
        Ok(self.f.type_of(self.value(variable)?))
    }

    /// Returns the number of uses of a value, as `users(x)` does: those by calls that these rules have replaced do not
    /// count, unlike in [`RewriteCx::n_uses`].
    ///
    /// # Errors
    /// As for [`value`](Self::value).
    pub fn n_uses<'v>(&self, variable: impl Into<Variable<'v>>) -> Result<u32, Unmet> {
        let id = self.value(variable)?;
        Ok(self.known.n_live_uses(id, self.uses.get(id.index()).copied().unwrap_or(0)))
    }

    fn slot(&self, variable: Variable<'_>) -> Result<Slot, Unmet> {
        match variable {
            Variable::Arg(position) => self
                .args
                .get(position)
                .copied()
                .ok_or_else(|| format!("the condition has no argument {position}").into()),
            Variable::Named(name) => {
                let slot = self.slots.iter().position(|slot| *slot == name);
                slot.ok_or_else(|| format!("the rule has no variable `{name}`").into())
            }
        }
    }

    fn node(&self, slot: Slot) -> Result<NodeId, Unmet> {
        match self.found.bound[slot] {
            Bound::Node(id) => Ok(id),
            Bound::Absent => Err(self.not(slot, "absent")),
            _ => Err(self.not(slot, "not one value")),
        }
    }

    fn not(&self, slot: Slot, what: &str) -> Unmet {
        format!("`{}` is {what}", self.slots[slot]).into()
    }
}
