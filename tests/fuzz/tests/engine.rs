//! libFuzzer over one target, which `FROSTLINE_FUZZ_TARGET` names; without it, the list of targets. `cargo xtask fuzz`
//! builds and starts it.
#![no_main]

use std::ffi::{c_char, c_int};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use frostline_fuzz::{InputTarget, Meter, TARGETS, allowed_bytes, measure_peak, mutate_input};

#[global_allocator]
static METER: Meter = Meter;

static TARGET: LazyLock<&InputTarget> = LazyLock::new(|| {
    let name = std::env::var("FROSTLINE_FUZZ_TARGET").unwrap_or_default();
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| panic!("no target {name:?}"))
});

/// The most memory of an input so far, in bytes.
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Makes every panic that is not caught end the process, and shows the peak of memory at the end.
#[unsafe(no_mangle)]
extern "C" fn LLVMFuzzerInitialize(_: *const c_int, _: *const *const *const c_char) -> c_int {
    if std::env::var_os("FROSTLINE_FUZZ_TARGET").is_none_or(|name| name.is_empty()) {
        for InputTarget { name, longest, .. } in TARGETS {
            println!("{name} {longest}");
        }
        std::process::exit(0);
    }
    // One-time work that would count for the first input.
    (TARGET.run)(b"");
    extern "C" fn at_exit() {
        eprintln!("stat::peak_input_bytes: {}", PEAK.load(Relaxed));
    }
    unsafe extern "C" {
        fn atexit(call: extern "C" fn()) -> c_int;
    }
    // SAFETY: the function needs nothing that is gone when the process ends.
    unsafe { atexit(at_exit) }
}

#[unsafe(no_mangle)]
fn rust_fuzzer_test_input(input: &[u8]) -> i32 {
    // A panic that the target does not catch reaches libFuzzer, which ends the process and keeps the input.
    let peak = measure_peak(allowed_bytes(input.len()), || (TARGET.run)(input));
    PEAK.fetch_max(peak, Relaxed);
    0
}

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
    let made = if seed.is_multiple_of(4) { None } else { mutate_input(TARGET.shape, &data[..size], seed) };
    match made.filter(|made| made.len() <= most) {
        Some(made) => {
            data[..made.len()].copy_from_slice(&made);
            made.len()
        }
        None => libfuzzer_sys::fuzzer_mutate(data, size, most),
    }
});
