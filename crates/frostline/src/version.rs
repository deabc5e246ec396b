//! What this build is, and on what it runs.

use frostline_record::MadeBy;

/// Hash of the sources that determine results.
#[must_use]
pub fn code() -> &'static str {
    env!("FROSTLINE_CODE")
}

/// Who makes records on this backend. The git revision comes from the environment variable
/// `FROSTLINE_REVISION`, which xtask sets.
///
/// # Errors
/// Where the backend cannot run here.
pub fn made_by(backend: &str) -> anyhow::Result<MadeBy> {
    Ok(MadeBy {
        version: env!("CARGO_PKG_VERSION").into(),
        code: code().into(),
        revision: std::env::var("FROSTLINE_REVISION").unwrap_or_default(),
        backend: backend.into(),
        device: processor(),
        isa: crate::backend::isa(backend)?,
        threads: rayon::current_num_threads(),
    })
}

/// The processor's name as the system gives it.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.into(), |(_, name)| name.trim().into())
}

/// Peak resident memory of this process in MiB; 0 where the system does not tell.
#[must_use]
pub fn peak_rss_mib() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}
