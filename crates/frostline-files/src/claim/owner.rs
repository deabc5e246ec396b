//! The holder of a claim: the content of the claim's file, and whether the process has ended.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

/// Time for which a claim is respected after it was last touched, unless it contains another time.
pub const LEASE: Duration = Duration::from_secs(120);

/// The longest lease. A claim with a longer one is damaged: it would keep work from all others after its holder has died.
pub const LONGEST_LEASE: Duration = Duration::from_secs(24 * 3600);

/// The holder of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Random, and another for each claim.
    pub token: String,
    /// How long the claim is respected after it was last touched.
    pub lease: Duration,
    /// The name of its machine.
    pub host: String,
    /// The running system on it, and the set of processes that see each other; empty if that is unknown.
    pub machine: String,
    /// The number of its process.
    pub pid: u32,
    /// When this process began, since another may get its number; 0 if that is unknown.
    pub started: u64,
    /// The process's command, such as `frostline work`.
    pub by: String,
}

impl Owner {
    /// Returns this process as owner, with a new token.
    #[must_use]
    pub fn this_process(by: &str, lease: Duration) -> Self {
        let pid = std::process::id();
        let (host, machine, started) = (host_name(), machine_id(), start_ticks(pid).unwrap_or(0));
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        Self { token: new_token(), lease, host: one_line(&host), machine, pid, started, by: one_line(by) }
    }

    /// Returns the same process with another token.
    #[must_use]
    pub fn with_new_token(&self) -> Self {
        Self { token: new_token(), ..self.clone() }
    }

    /// Returns the text of a claim.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { token, lease, host, machine, pid, started, by } = self;
        let lease_s = lease.as_secs_f64();
        format!(
            "token {token}\nlease-s {lease_s}\nhost {host}\nmachine {machine}\npid {pid}\nstarted {started}\nby {by}\n"
        )
    }

    /// Returns the owner in a claim's text. Missing or damaged parts count as unknown.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let value = |key: &str| {
            let mut lines = text.lines();
            let found = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
            found.unwrap_or_default().trim().to_string()
        };
        let lease_s: Option<f64> = value("lease-s").parse().ok();
        let lease = lease_s.and_then(|lease_s| Duration::try_from_secs_f64(lease_s).ok());
        Self {
            token: value("token"),
            lease: lease.filter(|lease| !lease.is_zero() && *lease <= LONGEST_LEASE).unwrap_or(LEASE),
            host: value("host"),
            machine: value("machine"),
            pid: value("pid").parse().unwrap_or(0),
            started: value("started").parse().unwrap_or(0),
            by: value("by"),
        }
    }

    /// Returns whether it is certain that this process has ended: it was of this machine, whose processes can
    /// be listed.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        let here = machine_id();
        let known = !here.is_empty() && self.machine == here && self.started != 0;
        known
            && match process_state(self.pid) {
                Life::Since(start) => start != self.started,
                Life::Over => true,
                Life::Hidden => false,
            }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.is_empty() {
            return f.write_str("an unknown process");
        }
        write!(f, "{} on {} (process {})", self.by, self.host, self.pid)
    }
}

/// Sixteen hexadecimal digits that no other process has.
pub(crate) fn new_token() -> String {
    // Each of these has keys that the system draws at random.
    let drawn = [(); 4].map(|()| RandomState::new().hash_one(std::process::id()).to_le_bytes());
    let digest = Sha256::digest(drawn.concat());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(unix)]
fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "a machine".into())
}

/// Returns the running system and its set of processes: containers on one machine do not see each other's.
#[cfg(target_os = "linux")]
fn machine_id() -> String {
    static MACHINE: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    MACHINE.get_or_init(read_machine).clone()
}

#[cfg(target_os = "linux")]
fn read_machine() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let processes = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let processes = processes.to_string_lossy();
    if boot.trim().is_empty() || processes.is_empty() {
        return String::new();
    }
    format!("{} {processes}", boot.trim())
}

#[cfg(not(target_os = "linux"))]
fn machine_id() -> String {
    String::new()
}

/// The state of a process.
enum Life {
    /// The process is running; it started at this number of ticks after the system.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code))]
    Since(u64),
    /// The process has ended.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code))]
    Over,
    /// The state is unknown: the system may hide other users' processes.
    Hidden,
}

#[cfg(target_os = "linux")]
fn process_state(pid: u32) -> Life {
    use rustix::process::{Pid, test_kill_process};
    let Ok(about) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        // If it is hidden it is there all the same, for a signal too.
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let is_gone = pid.is_none_or(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH));
        return if is_gone { Life::Over } else { Life::Hidden };
    };
    // After the name, which may contain anything: the state, and nineteen fields later the start.
    let fields: Vec<&str> =
        about.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace().collect();
    if matches!(fields.first(), Some(&"Z" | &"X")) {
        return Life::Over;
    }
    fields.get(19).and_then(|start| start.parse().ok()).map_or(Life::Hidden, Life::Since)
}

#[cfg(not(target_os = "linux"))]
fn process_state(_pid: u32) -> Life {
    Life::Hidden
}

/// Returns a process's start, in ticks since the system started; `None` if it has ended, or the start is
/// unknown.
fn start_ticks(pid: u32) -> Option<u64> {
    if let Life::Since(start) = process_state(pid) { Some(start) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claims_text_is_read_back() {
        let owner = Owner::this_process("frostline\nwork", Duration::from_millis(1500));
        assert_eq!(Owner::parse(owner.text().as_bytes()), owner);
        assert_eq!(owner.by, "frostline work");
        assert_ne!(owner.with_new_token().token, owner.token);
        let unknown = Owner::parse(b"tok");
        assert_eq!((unknown.lease, unknown.to_string().as_str()), (LEASE, "an unknown process"));
        assert!(!unknown.has_ended());
    }

    #[test]
    fn a_damaged_claim_is_respected_for_the_usual_time_and_is_the_same_when_it_is_stored() {
        for lease_s in ["0", "-1", "86400.5", "1e19", "inf", "NaN", ""] {
            let owner = Owner::parse(format!("lease-s {lease_s}\n").as_bytes());
            assert_eq!(owner.lease, LEASE, "{lease_s}");
        }
        assert_eq!(Owner::parse(b"lease-s 86400\n").lease, LONGEST_LEASE);
        let owner = Owner::parse(b"host a \r\r\nby  frostline work\r\r\n");
        assert_eq!((owner.host.as_str(), owner.by.as_str()), ("a", "frostline work"));
        assert_eq!(Owner::parse(owner.text().as_bytes()), owner);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_of_this_machine_is_known_to_have_ended() {
        let me = Owner::this_process("a test", LEASE);
        assert!(!me.has_ended());
        let mut child = std::process::Command::new("true").spawn().expect("it starts");
        let child_began = start_ticks(child.id());
        let ended = Owner { pid: child.id(), started: child_began.unwrap_or(1), ..me.clone() };
        child.wait().expect("it ends");
        assert!(ended.has_ended());
        assert!(Owner { started: me.started + 1, ..me.clone() }.has_ended(), "another has its number");
        assert!(!Owner { machine: "elsewhere".into(), ..ended }.has_ended(), "nothing is known of it");
    }
}
