//! The threads that work is spread over, where they are not rayon's own.

use rayon::ThreadPool;
use std::{cell::RefCell, sync::Arc};

thread_local! {
    static POOL: RefCell<Option<Arc<ThreadPool>>> = const { RefCell::new(None) };
}

/// Does something on this thread; what it spreads over threads runs on those of `pool`. Passes stay on this thread, unlike
/// with [`ManagerOptions::pool`](crate::manager::ManagerOptions::pool).
pub fn with_threads<T>(pool: Arc<ThreadPool>, work: impl FnOnce() -> T) -> T {
    /// Restores the threads of before, also after a panic.
    struct Restore(Option<Arc<ThreadPool>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            POOL.set(self.0.take());
        }
    }
    let _restore = Restore(POOL.replace(Some(pool)));
    work()
}

/// Does something that works in parallel, on the threads of [`with_threads`] if there are some.
pub(crate) fn spread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match POOL.with_borrow(Clone::clone) {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::current_num_threads;

    #[test]
    fn work_is_spread_over_the_threads_that_are_given() {
        let pool = |n| Arc::new(rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap());
        let here = || spread(|| (current_num_threads(), rayon::current_thread_index().is_some()));
        let without = here();
        with_threads(pool(3), || {
            assert!(rayon::current_thread_index().is_none());
            assert_eq!(here(), (3, true));
            with_threads(pool(5), || assert_eq!(here(), (5, true)));
            assert_eq!(here(), (3, true));
        });
        assert_eq!(here(), without);
    }
}
