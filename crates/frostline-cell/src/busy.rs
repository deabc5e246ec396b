//! Measures other load on the machine, as far as the system reports it: times under other load are not
//! reliable.

use std::fs;

use frostline_record::Load;

/// The load from some moment on.
pub(crate) struct Busy {
    /// Processes that wanted to run, as a mean over the minute before.
    before: Option<f64>,
    begun: Option<Ticks>,
}

impl Busy {
    /// From now on.
    pub fn start() -> Self {
        let before = read("/proc/loadavg").split_whitespace().next().and_then(|number| number.parse().ok());
        Self { before, begun: Ticks::now() }
    }

    /// Starts a new measurement from now.
    pub fn restart(&mut self) {
        self.begun = Ticks::now();
    }

    /// Up to now.
    pub fn end(&self) -> Load {
        Load { mhz: mhz(), ..self.so_far() }
    }

    /// Returns the load up to now without the processors' frequency, which is slow to read for many processors.
    pub fn so_far(&self) -> Load {
        let shares = self.begun.as_ref().and_then(|begun| Ticks::now()?.since(begun));
        let (stolen, others) = shares.unzip();
        Load { before: self.before, stolen, others, mhz: None }
    }
}

/// The processors' time so far, in the system's ticks.
#[derive(Debug, PartialEq, Eq)]
struct Ticks {
    all: u64,
    idle: u64,
    /// Processor time of other virtual machines.
    stolen: u64,
    /// Processor time of this process.
    own: u64,
}

impl Ticks {
    fn now() -> Option<Self> {
        Self::of(&read("/proc/stat"), &read("/proc/self/stat"))
    }

    /// From the system's text on all processors, and on this process.
    fn of(system: &str, own: &str) -> Option<Self> {
        let first = system.lines().next()?.strip_prefix("cpu ")?;
        let numbers: Vec<u64> = first.split_whitespace().map_while(|number| number.parse().ok()).collect();
        // user, nice, system, idle, iowait, irq, softirq, steal; guests are part of user.
        let (idle, stolen) = (numbers.get(3)? + numbers.get(4)?, *numbers.get(7)?);
        // The name, in brackets, may contain spaces. The state and ten more numbers follow before user and
        // system time.
        let (_, fields) = own.rsplit_once(')')?;
        let fields: Vec<u64> =
            fields.split_whitespace().skip(11).take(2).filter_map(|number| number.parse().ok()).collect();
        let [user, system] = fields.as_slice() else { return None };
        Some(Self { all: numbers.iter().take(8).sum(), idle, stolen, own: user + system })
    }

    /// Returns the shares of the processors' time since then that other virtual machines and other programs
    /// took.
    fn since(&self, before: &Self) -> Option<(f64, f64)> {
        let all = self.all.checked_sub(before.all).filter(|&all| all > 0)? as f64;
        let of = |now: u64, then: u64| now.saturating_sub(then) as f64;
        let stolen = of(self.stolen, before.stolen);
        let others = all - of(self.idle, before.idle) - stolen - of(self.own, before.own);
        Some((stolen / all, others.max(0.0) / all))
    }
}

/// Returns the processors' frequency now, as a mean over them.
fn mhz() -> Option<f64> {
    mhz_in(&read("/proc/cpuinfo"))
}

fn mhz_in(text: &str) -> Option<f64> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let all: Vec<f64> = lines
        .filter(|(name, _)| name.trim() == "cpu MHz")
        .filter_map(|(_, mhz)| mhz.trim().parse().ok())
        .collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

/// Reads a file of the system; returns an empty text if it does not exist.
fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYSTEM: &str = "cpu  100 20 30 400 50 6 4 10 3 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n";

    fn own(user: u64, system: u64) -> String {
        format!("17 (a name) with) R 1 17 17 0 -1 4194304 100 0 0 0 {user} {system} 0 0 20 0 4 0\n")
    }

    #[test]
    fn ticks_are_read_as_the_system_writes_them() {
        let ticks = Ticks::of(SYSTEM, &own(33, 7)).expect("both texts");
        assert_eq!(ticks, Ticks { all: 620, idle: 450, stolen: 10, own: 40 });
        for (system, own) in [("", own(1, 1)), (SYSTEM, String::new()), ("cpu  1 2 3\n", own(1, 1))] {
            assert_eq!(Ticks::of(system, &own), None, "{system:?} {own:?}");
        }
    }

    #[test]
    fn what_is_neither_idle_nor_stolen_nor_ours_is_of_others() {
        let before = Ticks { all: 1_000, idle: 500, stolen: 0, own: 100 };
        let after = Ticks { all: 2_000, idle: 700, stolen: 50, own: 700 };
        let (stolen, others) = after.since(&before).expect("time has passed");
        assert!((stolen - 0.05).abs() < 1e-12 && (others - 0.15).abs() < 1e-12, "{stolen} {others}");
        assert_eq!(before.since(&before), None);
        // A process that counts more than the system does, since ticks are rounded.
        let rounded = Ticks { all: 1_010, idle: 500, stolen: 0, own: 111 };
        assert_eq!(rounded.since(&before), Some((0.0, 0.0)));
    }

    #[test]
    fn frequencies_are_averaged() {
        assert_eq!(
            mhz_in("processor : 0\ncpu MHz\t\t: 2000.0\nprocessor : 1\ncpu MHz : 3000.5\n"),
            Some(2_500.25)
        );
        assert_eq!(mhz_in("Hardware : a board\n"), None);
    }

    #[test]
    fn what_the_system_tells_is_a_share() {
        let load = Busy::start().end();
        for share in [load.stolen, load.others].into_iter().flatten() {
            assert!((0.0..=1.0).contains(&share), "{load:?}");
        }
    }
}
