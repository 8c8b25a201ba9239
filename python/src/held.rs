//! Objects of Python that native code calls.
//!
//! Python's collector frees cycles of objects that it can look into, and it cannot look into closures. So an object of
//! Python owns what its native part calls and shows it to the collector, and the native part refers to it weakly.

use pyo3::{
    exceptions::PyRuntimeError,
    gc::{PyTraverseError, PyVisit},
    prelude::*,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

/// An object of Python with one owner.
pub(crate) type Held = Arc<Py<PyAny>>;

/// The objects that an object of Python owns.
#[derive(Default)]
pub(crate) struct Owner {
    held: Mutex<Vec<Held>>,
    /// Those that its native part owns.
    lent: Mutex<Vec<Weak<Py<PyAny>>>>,
}

impl Owner {
    /// Owns some objects from the start.
    pub fn of(held: Vec<Held>) -> Self {
        Self { held: Mutex::new(held), ..Self::default() }
    }

    /// Takes an object over.
    pub fn own(&self, object: Py<PyAny>) -> Handle {
        let held = Arc::new(object);
        let handle = Handle::of(&held);
        locked(&self.held).push(held);
        handle
    }

    /// Shows an object to the collector that the native part owns.
    pub fn lend(&self, object: Py<PyAny>) -> Held {
        let held = Arc::new(object);
        let mut lent = locked(&self.lent);
        lent.retain(|lent| lent.strong_count() > 0);
        lent.push(Arc::downgrade(&held));
        held
    }

    /// The objects that it owns.
    pub fn held(&self) -> Vec<Held> {
        locked(&self.held).clone()
    }

    /// Owns other objects instead, and returns those of before: finalizers may ask for the new ones.
    pub fn replace(&self, held: Vec<Held>) -> Vec<Held> {
        std::mem::replace(&mut *locked(&self.held), held)
    }

    /// Shows its objects to the collector. Those that another thread changes meanwhile are not shown, and so are not freed this time.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let Some(held) = unlocked(&self.held) {
            held.iter().try_for_each(|held| visit.call(&**held))?;
        }
        if let Some(lent) = unlocked(&self.lent) {
            lent.iter().filter_map(Weak::upgrade).try_for_each(|lent| visit.call(&*lent))?;
        }
        Ok(())
    }

    /// Gives its objects up.
    pub fn clear(&self) {
        drop(self.replace(Vec::new()));
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The collector may run while this thread has locked it.
fn unlocked<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// An object of Python that another object owns.
#[derive(Clone, Default)]
pub(crate) struct Handle(Weak<Py<PyAny>>);

impl Handle {
    pub fn of(held: &Held) -> Self {
        Self(Arc::downgrade(held))
    }

    /// The object, unless its owner was freed.
    pub fn find<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.0.upgrade().map(|held| held.bind(py).clone())
    }

    /// The same where there has to be one.
    pub fn get<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.find(py)
            .ok_or_else(|| PyRuntimeError::new_err("its function was freed with the object that it belongs to"))
    }
}
