//! Describes this build and the machine on which it runs.

use frostline_kernels::backend::{self, Arithmetic};
use frostline_record::{About, Bits, MadeBy};

/// Hash of the sources that determine results.
#[must_use]
pub fn code() -> &'static str {
    env!("FROSTLINE_CODE")
}

/// Returns the maker of records on this backend: version, code and machine. The git revision comes from the
/// environment variable `FROSTLINE_REVISION`, which `cargo xtask sweep` sets.
///
/// # Errors
/// If the backend cannot run here.
pub fn made_by(backend: &str) -> anyhow::Result<MadeBy> {
    let arithmetic = backend::arithmetic(backend)?;
    Ok(MadeBy {
        version: env!("CARGO_PKG_VERSION").into(),
        code: code().into(),
        revision: std::env::var("FROSTLINE_REVISION").unwrap_or_default(),
        backend: backend.into(),
        device: backend::device(backend)?.unwrap_or_else(processor),
        isa: isa_text(&arithmetic),
        bits: known_bits(&arithmetic),
        threads: rayon::current_num_threads(),
        node: machine_name(),
    })
}

/// Describes this build and the device of a backend.
///
/// # Errors
/// If the backend cannot run here.
pub fn about(backend: &str) -> anyhow::Result<About> {
    let MadeBy { version, code, backend, isa, bits, device, .. } = made_by(backend)?;
    let backends = backend::names().iter().map(ToString::to_string).collect();
    let (gpus, amx) = (backend::gpus(&backend), backend::check("amx").is_ok());
    Ok(About { version, code, backends, backend, isa, bits, device, gpus, amx })
}

/// The machine's name: the one that a cluster gives it, else the system's.
fn machine_name() -> String {
    let variable = |name| std::env::var(name).ok();
    let system = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let names = [variable("SLURMD_NODENAME"), system(), variable("HOSTNAME"), variable("COMPUTERNAME")];
    let names = names.into_iter().flatten().map(|name| name.trim().to_string());
    names.into_iter().find(|name| !name.is_empty()).unwrap_or_default()
}

/// Returns the instruction set or device of products, as in `made_by.isa` of records.
///
/// # Errors
/// If the backend cannot run here.
pub fn isa(backend: &str) -> anyhow::Result<String> {
    Ok(isa_text(&backend::arithmetic(backend)?))
}

/// Returns the machine's influence on a result: two machines with equal values give the same bits. Only there
/// can a checkpoint be resumed and a stored prefix be read.
pub(crate) fn machine(arithmetic: &Arithmetic) -> String {
    match known_bits(arithmetic) {
        Bits::Reproducible => "every processor".into(),
        Bits::SameInstructions => isa_text(arithmetic),
    }
}

fn known_bits(arithmetic: &Arithmetic) -> Bits {
    if arithmetic.reproducible { Bits::Reproducible } else { Bits::SameInstructions }
}

/// Returns the instruction set of the kernels, with the precisions whose products are native.
pub(crate) fn isa_text(arithmetic: &Arithmetic) -> String {
    arithmetic
        .native
        .iter()
        .fold(arithmetic.isa.into(), |text: String, precision| text + "+" + precision.name())
}

/// Returns the processor's name as the system gives it, with family and model, since a name such as `AMD EPYC`
/// spans generations.
#[must_use]
pub fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    processor_in(&text).unwrap_or_else(|| std::env::consts::ARCH.into())
}

fn processor_in(text: &str) -> Option<String> {
    let value = |key: &str| {
        let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
        pairs.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim())
    };
    let name = value("model name")?;
    Some(match (value("cpu family"), value("model")) {
        (Some(family), Some(model)) => format!("{name}, family {family}, model {model}"),
        _ => name.into(),
    })
}

/// Peak resident memory of this process in MiB; 0 if the system does not report it.
#[must_use]
pub fn peak_rss_mib() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

#[cfg(test)]
mod tests {
    use frostline_record::Precision;

    use super::*;

    #[test]
    fn an_instruction_set_names_what_is_native() {
        let machine = |isa, native| isa_text(&Arithmetic { isa, native, reproducible: false });
        assert_eq!(machine("avx2", Vec::new()), "avx2");
        let gpu = machine("gpu", Precision::ROUNDING.to_vec());
        assert_eq!(gpu, "gpu+f16+tf32+bf16");
        for precision in Precision::ROUNDING {
            assert!(precision.is_native_in(&gpu) && !precision.is_native_in("avx2"), "{precision:?}");
        }
        assert!(Precision::F32.is_native_in("avx2") && !Precision::Tf32.is_native_in("gpu+f16+bf16"));
    }

    #[test]
    fn processors_of_one_name_are_told_apart() {
        let text = "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: Some CPU @ 3 GHz: fast\n\n\
                    processor\t: 1\nmodel name\t: other\n";
        assert_eq!(processor_in(text).as_deref(), Some("Some CPU @ 3 GHz: fast, family 25, model 17"));
        assert_eq!(processor_in("model name : Board 4\n").as_deref(), Some("Board 4"));
        assert_eq!(processor_in(""), None);
    }
}
