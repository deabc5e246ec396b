//! Calls into the tokenizer library, which panics on some files: a panic becomes an error, and nothing is printed.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether this thread is inside [`catch_panic`].
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Returns the result of a call of the tokenizer library.
///
/// # Errors
/// If the library panicked: its message, in one line.
pub(crate) fn catch_panic<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    install_hook();
    let outer = GUARDED.replace(true);
    // The tokenizer is not used again after a panic while it was made, and `&Tokenizer` changes only caches behind
    // locks, which handle poisoning themselves.
    let result = panic::catch_unwind(AssertUnwindSafe(call));
    GUARDED.set(outer);
    result.map_err(|said| {
        let text = said.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| said.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
        let line = text.lines().next().unwrap_or_default();
        format!("the tokenizer library failed on it ({line}); the file is probably damaged")
    })
}

/// Leaves panics of guarded calls out of the process's panic hook, which would print them.
fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |about| {
            if !GUARDED.get() {
                before(about);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_one_line_and_a_result_passes() {
        assert_eq!(catch_panic(|| 7), Ok(7));
        let failed = catch_panic(|| -> u32 { panic!("index 3\nof 2") });
        let line = "the tokenizer library failed on it (index 3); the file is probably damaged".to_string();
        assert_eq!(failed, Err(line));
        assert!(!GUARDED.get());
    }
}
