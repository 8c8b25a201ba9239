//! Analyses as they cross the boundary: what they are of, and their results.
#![expect(unsafe_code, reason = "values that cross the boundary as pointers")]

use abi_stable::{
    StableAbi,
    prefix_type::WithMetadata,
    std_types::{RArc, ROption, RResult},
};
use relais_ir::{Function, IRModule, Lists, diagnostics::PassError, guard::caught};
use std::{any::Any, marker::PhantomData, ops::Deref, sync::atomic::AtomicU8};

/// The unit that an analysis looks at. Append-only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SubjectKind(pub u8);

impl SubjectKind {
    /// A function, or a loop program.
    pub const FUNCTION: Self = Self(0);
    /// The module.
    pub const MODULE: Self = Self(1);

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FUNCTION => "function",
            Self::MODULE => "module",
            _ => "unknown",
        }
    }
}

/// The subject of an analysis: one of the two.
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct SubjectRec<'a> {
    function: ROption<&'a RArc<Function>>,
    module: ROption<&'a IRModule>,
}

impl<'a> SubjectRec<'a> {
    /// A hash of the layout, for the boundary's fingerprint.
    pub const LAYOUT_HASH: u64 = relais_ir::__layout_hash!(SubjectRec<'static> { function, module });

    /// A function, or a loop program.
    pub fn function(function: &'a RArc<Function>) -> Self {
        Self { function: ROption::RSome(function), module: ROption::RNone }
    }

    /// A module.
    pub fn module(module: &'a IRModule) -> Self {
        Self { function: ROption::RNone, module: ROption::RSome(module) }
    }

    /// The function, or the loop program, if it is one.
    pub fn as_function(&self) -> Option<&'a RArc<Function>> {
        self.function.into_option()
    }

    /// The module, if it is one.
    pub fn as_module(&self) -> Option<&'a IRModule> {
        self.module.into_option()
    }

    /// The unit that it is.
    pub fn kind(&self) -> SubjectKind {
        match self.function {
            ROption::RSome(_) => SubjectKind::FUNCTION,
            ROption::RNone => SubjectKind::MODULE,
        }
    }
}

/// The functions of a result.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = AnalysisVTableRef, prefix_fields = AnalysisVTablePrefix)))]
#[sabi(missing_field(option))]
pub struct AnalysisVTable {
    /// Drops the value; catches its panics.
    pub drop: unsafe extern "C" fn(*const ()) -> RResult<(), PassError>,
    /// Whether two values of results of one library are equal: 1 if they are.
    #[sabi(last_prefix_field)]
    pub equals: unsafe extern "C" fn(*const (), *const ()) -> RResult<u8, PassError>,
}

/// The result of an analysis: a value of its own library, and lists that everybody may read. Like
/// [`InferEntry`](super::InferEntry), it cannot be taken apart.
#[repr(C)]
#[derive(StableAbi)]
pub struct AnalysisObject {
    /// A `Box<Value>`.
    state: *const (),
    vtable: AnalysisVTableRef,
    /// The address of `LIBRARY` in the library that made it.
    library: *const (),
    lists: Lists,
}

// SAFETY: the state is a value of a type that is `Send + Sync` (see `new`), owned by this object.
unsafe impl Send for AnalysisObject {}
// SAFETY: as above.
unsafe impl Sync for AnalysisObject {}

/// Its address tells libraries apart. As an atomic number it is merged with nothing.
static LIBRARY: AtomicU8 = AtomicU8::new(0);

/// Returns an address that is another one in each library.
pub fn this_library() -> *const () {
    std::ptr::from_ref(&LIBRARY).cast()
}

trait AnyValue: Any + Send + Sync {
    fn equals(&self, other: &dyn Any) -> bool;
}

impl<A: PartialEq + Send + Sync + 'static> AnyValue for A {
    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<A>().is_some_and(|other| self == other)
    }
}

type Value = Box<dyn AnyValue>;

const TABLE: &WithMetadata<AnalysisVTable> = &WithMetadata::new(AnalysisVTable { drop: drop_value, equals });

/// # Safety
/// The state is that of an object that this library made, and is not used afterwards.
unsafe extern "C" fn drop_value(state: *const ()) -> RResult<(), PassError> {
    caught(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(state.cast::<Value>().cast_mut()) });
    })
    .into()
}

/// # Safety
/// Both are states of objects that this library made, and are alive.
unsafe extern "C" fn equals(a: *const (), b: *const ()) -> RResult<u8, PassError> {
    caught(|| {
        // SAFETY: the caller's promise.
        let (a, b): (&Value, &Value) = unsafe { (&*a.cast(), &*b.cast()) };
        let b: &dyn Any = &**b;
        u8::from(a.equals(b))
    })
    .into()
}

impl AnalysisObject {
    /// A hash of the layout, for the boundary's fingerprint.
    pub const LAYOUT_HASH: u64 = relais_ir::__layout_hash!(AnalysisObject { state, vtable, library, lists });

    /// A result: its value, and what others may read of it.
    pub fn new<A: PartialEq + Send + Sync + 'static>(value: A, lists: Lists) -> Self {
        let value: Value = Box::new(value);
        let state = Box::into_raw(Box::new(value)).cast_const().cast();
        Self { state, vtable: AnalysisVTableRef(TABLE.static_as_prefix()), library: this_library(), lists }
    }

    /// Its value, if this library made it, of that type.
    pub fn value<A: 'static>(&self) -> Option<&A> {
        if self.library != this_library() {
            return None;
        }
        // SAFETY: this library made the object, by `new` alone, and the object owns the state.
        let value: &Value = unsafe { &*self.state.cast() };
        let value: &dyn Any = &**value;
        value.downcast_ref()
    }

    /// The lists that everybody may read.
    pub fn lists(&self) -> &Lists {
        &self.lists
    }

    /// Whether two results are equal: the values, if one library made both, and the lists.
    ///
    /// # Errors
    /// Returns an error if the comparison panics.
    pub fn equals(&self, other: &Self) -> Result<bool, PassError> {
        if self.lists != other.lists {
            return Ok(false);
        }
        if self.library != other.library {
            return Ok(true);
        }
        // SAFETY: the states are those of the objects, and one library, whose function it is, made both.
        let equal = unsafe { (self.vtable.equals())(self.state, other.state) };
        Ok(equal.into_result()? != 0)
    }
}

impl Drop for AnalysisObject {
    fn drop(&mut self) {
        // SAFETY: the state is this object's, and is not used afterwards. A panic while it is dropped changes no result.
        let _ = unsafe { (self.vtable.drop())(self.state) };
    }
}

/// The value of a result, which stays with it. It is shared, and dereferences to the value.
pub struct Analysed<A> {
    object: RArc<AnalysisObject>,
    value: *const A,
    _value: PhantomData<A>,
}

impl<A: 'static> Analysed<A> {
    /// The value of a result, if this library made it, of that type.
    pub fn new(object: RArc<AnalysisObject>) -> Option<Self> {
        let value = std::ptr::from_ref(object.value::<A>()?);
        Some(Self { object, value, _value: PhantomData })
    }

    /// The result.
    pub fn object(&self) -> &RArc<AnalysisObject> {
        &self.object
    }
}

impl<A> Clone for Analysed<A> {
    fn clone(&self) -> Self {
        Self { object: self.object.clone(), value: self.value, _value: PhantomData }
    }
}

impl<A> Deref for Analysed<A> {
    type Target = A;

    fn deref(&self) -> &A {
        // SAFETY: the object owns the value, which nothing changes or moves, and is alive as long as this.
        unsafe { &*self.value }
    }
}

// SAFETY: as for `AnalysisObject`, whose values are `Send + Sync`.
unsafe impl<A: Send + Sync> Send for Analysed<A> {}
// SAFETY: as above.
unsafe impl<A: Send + Sync> Sync for Analysed<A> {}

#[cfg(test)]
mod tests {
    use super::*;
    use relais_ir::Numbers;

    fn object(value: Vec<u32>) -> AnalysisObject {
        let lists = Lists::new().with("all", &Numbers::from(value.clone()));
        AnalysisObject::new(value, lists)
    }

    #[test]
    fn a_value_is_seen_as_its_own_type_alone() {
        let made = RArc::new(object(vec![1, 2]));
        assert_eq!(made.value::<Vec<u32>>(), Some(&vec![1, 2]));
        assert!(made.value::<Vec<i32>>().is_none());
        assert!(Analysed::<String>::new(made.clone()).is_none());
        let held = Analysed::<Vec<u32>>::new(made).unwrap();
        assert_eq!(held.clone().len(), 2);
        assert!(object(vec![3]).equals(&object(vec![3])).unwrap());
        assert!(!object(vec![3]).equals(&object(vec![4])).unwrap());
        let other = AnalysisObject::new("three", object(vec![3]).lists().clone());
        assert!(!other.equals(&object(vec![3])).unwrap());
    }

    #[test]
    fn a_panic_while_values_are_compared_or_dropped_stays_there() {
        struct Harmful;
        impl PartialEq for Harmful {
            fn eq(&self, _: &Self) -> bool {
                panic!("not comparable")
            }
        }
        impl Drop for Harmful {
            fn drop(&mut self) {
                panic!("not droppable")
            }
        }
        let [a, b] = [(); 2].map(|()| AnalysisObject::new(Harmful, Lists::new()));
        assert!(a.equals(&b).unwrap_err().to_string().contains("not comparable"));
        drop(a);
    }
}
