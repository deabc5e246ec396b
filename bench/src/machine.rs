//! The machine and the date, as reported by the system.
//!
//! Benchmarks are the only place where the project uses a clock for more than durations.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::stored::MachineInfo;

/// Returns the system's load: runnable threads, on average over a minute; 0 if the system does not report it.
pub(crate) fn system_load() -> f64 {
    let load = read_or_empty("/proc/loadavg");
    load.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(0.0)
}

/// Returns a description of the machine: what can be found without running other programs, the processor's name as
/// reported by the runner, and the load before anything was started. Unknown items are empty.
pub(crate) fn describe_machine(cpu: &str, load_before: f64) -> MachineInfo {
    let kernel = read_or_empty("/proc/sys/kernel/osrelease");
    MachineInfo {
        cpu: cpu.into(),
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
        memory_mib: value_after(&read_or_empty("/proc/meminfo"), "MemTotal")
            .and_then(|size| size.trim_end_matches("kB").trim().parse::<u64>().ok())
            .map_or(0, |kib| kib / 1024),
        system: format!("{} {}", std::env::consts::OS, kernel.trim()).trim().to_string(),
        load_before,
    }
}

fn read_or_empty(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Returns the value behind the first `key:` of a text.
fn value_after(text: &str, key: &str) -> Option<String> {
    let (_, value) =
        text.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| name.trim() == key)?;
    Some(value.trim().to_string())
}

/// Returns the present time in UTC, as in `2026-03-09T14-05-59Z`, which can be sorted and used as a file's name.
pub(crate) fn utc_timestamp() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format_utc(since.as_secs())
}

/// The Gregorian calendar from seconds since 1970, by counting years and months.
fn format_utc(seconds: u64) -> String {
    let leap = |year: u64| (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400);
    let (mut year, mut day) = (1970, seconds / 86_400);
    while day >= 365 + u64::from(leap(year)) {
        day -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 0;
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    while day >= lengths[month] {
        day -= lengths[month];
        month += 1;
    }
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year}-{:02}-{:02}T{hour:02}-{minute:02}-{second:02}Z", month + 1, day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(format_utc(0), "1970-01-01T00-00-00Z");
        assert_eq!(format_utc(951_782_399), "2000-02-28T23-59-59Z");
        assert_eq!(format_utc(951_782_400), "2000-02-29T00-00-00Z");
        assert_eq!(format_utc(951_868_800), "2000-03-01T00-00-00Z");
        assert_eq!(format_utc(1_000_000_000), "2001-09-09T01-46-40Z");
    }

    #[test]
    fn values_behind_keys() {
        let text = "MemTotal:  24683776 kB\nMemFree: 1 kB: or so\nMemFree: 2 kB\n";
        assert_eq!(value_after(text, "MemFree").as_deref(), Some("1 kB: or so"));
        assert_eq!(value_after(text, "Buffers"), None);
    }
}
