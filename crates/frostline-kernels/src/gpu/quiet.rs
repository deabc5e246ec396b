//! Attempts at what panics where there is no device.

/// What something yields; nothing where it panics, of which nothing is printed.
pub(crate) fn quietly<T>(of: impl FnOnce() -> T + std::panic::UnwindSafe) -> Option<T> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let found = std::panic::catch_unwind(of);
    std::panic::set_hook(hook);
    found.ok()
}
