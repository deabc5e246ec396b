//! The program `frostline`.

use std::process::ExitCode;

/// burn allocates new tensors in every step. This allocator reuses pages without system calls, which
/// halves a step's time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Lets the allocator keep freed pages for the next step. Returning them to the system, which zeroes them again, took
/// up to a sixth of a step, for a few percent less memory.
fn keep_pages() {
    /// `mi_option_purge_delay`, which the bindings do not name.
    const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
    // SAFETY: sets an option of the allocator; -1 means never.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, -1) };
}

fn main() -> ExitCode {
    keep_pages();
    frostline::run(std::env::args_os())
}
