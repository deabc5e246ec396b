//! The memory that this process may use: the machine's, or less if a batch system or a container has set a limit.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// Memory of a machine or of a part of it.
///
/// # Units
/// Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MemoryLimit {
    available: u64,
    total: u64,
}

/// Returns the bytes that this process may still use; `None` if the system does not report them.
#[must_use]
pub fn available_bytes() -> Option<u64> {
    let (machine, limit) = find_here()?;
    Some(limit.map_or(machine, |(limit, _)| limit).available)
}

/// `15.3 of 23.5 GiB available`, or what is available within a limit; `None` if the system does not report it.
#[must_use]
pub fn describe_available() -> Option<String> {
    find_here().map(format_memory)
}

/// The machine's memory, and a narrower limit with its name.
type FoundMemory = (MemoryLimit, Option<(MemoryLimit, &'static str)>);

fn find_here() -> Option<FoundMemory> {
    find_memory(Path::new("/"), |name| std::env::var(name).ok())
}

/// The same for a system whose files lie under `root`, and a process with these variables.
fn find_memory(root: &Path, variable: impl Fn(&str) -> Option<String>) -> Option<FoundMemory> {
    let machine = of_machine(&root.join("proc/meminfo"))?;
    let of_slurm = of_slurm(variable)
        .map(|total| (MemoryLimit { available: total, total }, "what SLURM gives this job"));
    let of_group = of_control_groups(root).map(|memory| (memory, "this process's control group"));
    let limits = [of_group, of_slurm].into_iter().flatten().filter(|(limit, _)| limit.total < machine.total);
    let limit = limits.min_by_key(|(limit, _)| limit.total).map(|(limit, whose)| {
        (MemoryLimit { available: limit.available.min(machine.available), ..limit }, whose)
    });
    Some((machine, limit))
}

fn format_memory((machine, limit): FoundMemory) -> String {
    let gib = |bytes: u64| bytes as f64 / f64::from(1u32 << 30);
    let shown = |MemoryLimit { available, total }: MemoryLimit| {
        format!("{:.1} of {:.1} GiB available", gib(available), gib(total))
    };
    match limit {
        Some((limit, whose)) => format!("{} within {whose}; on the machine {}", shown(limit), shown(machine)),
        None => shown(machine),
    }
}

fn of_machine(meminfo: &Path) -> Option<MemoryLimit> {
    let text = read_to_string(meminfo).ok()?;
    let bytes = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        let kib: u64 = line.trim_start_matches(':').split_whitespace().next()?.parse().ok()?;
        Some(kib << 10)
    };
    Some(MemoryLimit { available: bytes("MemAvailable")?, total: bytes("MemTotal")? })
}

/// What SLURM promises a job, which it enforces on some clusters only.
fn of_slurm(variable: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let number = |name| variable(name)?.parse::<u64>().ok().filter(|number| *number > 0);
    let mib = number("SLURM_MEM_PER_NODE")
        .or_else(|| number("SLURM_MEM_PER_CPU")?.checked_mul(number("SLURM_CPUS_ON_NODE")?))?;
    mib.checked_mul(1 << 20)
}

/// The narrowest limit of the control groups that this process is in, of either version.
fn of_control_groups(root: &Path) -> Option<MemoryLimit> {
    let own = read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mounts = read_to_string(root.join("proc/self/mountinfo")).ok()?;
    let of_line = |line: &str| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        let files = if controllers.is_empty() {
            LimitFiles { kind: "cgroup2", limit: "memory.max", used: "memory.current", idle: "inactive_file" }
        } else if controllers.split(',').any(|controller| controller == "memory") {
            let [limit, used] = ["memory.limit_in_bytes", "memory.usage_in_bytes"];
            LimitFiles { kind: "cgroup", limit, used, idle: "total_inactive_file" }
        } else {
            return None;
        };
        files.narrowest_limit(root, &mounts, group)
    };
    own.lines().filter_map(of_line).min_by_key(|memory| memory.total)
}

/// The names of a version's files.
struct LimitFiles {
    kind: &'static str,
    limit: &'static str,
    used: &'static str,
    /// In `memory.stat`: what is used and can be had back.
    idle: &'static str,
}

impl LimitFiles {
    /// The narrowest limit from a group up to the highest that is mounted.
    fn narrowest_limit(&self, root: &Path, mounts: &str, group: &str) -> Option<MemoryLimit> {
        let (top, at) = mounts.lines().find_map(|line| self.mounted_group(line))?;
        let top_folder = root.join(at.trim_start_matches('/'));
        // In a container the group's name may be that outside of it; then what is mounted is the group.
        let below = Path::new(group).strip_prefix(&top).ok().map(Path::to_path_buf);
        let folder = top_folder.join(below.unwrap_or_else(|| PathBuf::from("")));
        let groups = folder.ancestors().take_while(|folder| folder.starts_with(&top_folder));
        groups.filter_map(|folder| self.read_limit(folder)).min_by_key(|memory| memory.total)
    }

    /// The group that is mounted and where, if this line of `mountinfo` is of this version and has memory.
    fn mounted_group(&self, line: &str) -> Option<(String, String)> {
        let (mount, system) = line.split_once(" - ")?;
        let mut system = system.split(' ');
        let (kind, options) = (system.next()?, system.nth(1).unwrap_or_default());
        let has_memory = self.kind == "cgroup2" || options.split(',').any(|option| option == "memory");
        let mut fields = mount.split(' ').skip(3);
        (kind == self.kind && has_memory).then_some((fields.next()?.into(), fields.next()?.into()))
    }

    fn read_limit(&self, folder: &Path) -> Option<MemoryLimit> {
        let number = |file: &str| read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok();
        let total = number(self.limit)?;
        let statistics = read_to_string(folder.join("memory.stat")).unwrap_or_default();
        let idle =
            statistics.lines().find_map(|line| line.strip_prefix(self.idle)?.trim().parse::<u64>().ok());
        let used = number(self.used).unwrap_or(0).saturating_sub(idle.unwrap_or(0));
        Some(MemoryLimit { available: total.saturating_sub(used), total })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: [&str; 2] = [
        "5:cpuacct,memory:/slurm/uid_0/job_7\n1:name=systemd:/\n0::/\n",
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,cpuacct,memory\n",
    ];
    const V2: [&str; 2] =
        ["0::/system.slice/job_7/step_0\n", "35 31 0:32 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n"];

    /// Describes the memory of a machine with 16 GiB, 12 of them available, with these groups and files.
    fn described_memory(
        [own, mounts]: [&str; 2],
        files: &[(&str, &str)],
        variables: &[(&str, &str)],
    ) -> String {
        let root = tempfile::tempdir().expect("a folder");
        let meminfo = "MemTotal:       16777216 kB\nMemAvailable:   12582912 kB\n";
        let system = [("proc/meminfo", meminfo), ("proc/self/cgroup", own), ("proc/self/mountinfo", mounts)];
        for (name, text) in system.iter().chain(files) {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder");
            std::fs::write(path, text).expect("the file");
        }
        let value =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into());
        format_memory(find_memory(root.path(), value).expect("a machine"))
    }

    #[test]
    fn without_a_limit_the_machines_memory_is_shown() {
        for groups in [["", ""], V1, V2] {
            assert_eq!(described_memory(groups, &[], &[]), "12.0 of 16.0 GiB available");
        }
        let unlimited = ("sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(described_memory(V1, &[unlimited], &[]), "12.0 of 16.0 GiB available");
        let unlimited = ("sys/fs/cgroup/system.slice/memory.max", "max\n");
        assert_eq!(described_memory(V2, &[unlimited], &[]), "12.0 of 16.0 GiB available");
    }

    #[test]
    fn the_narrowest_group_of_either_version_counts() {
        let wanted = "1.5 of 2.0 GiB available within this process's control group; on the machine 12.0 of 16.0 GiB available";
        // The job's limit, of which half a GiB is used for good and one for files that can be read again.
        let job = |folder: &str, [limit, used, idle]: [&str; 3]| {
            let file = |name: &str| format!("sys/fs/cgroup/{folder}/{name}");
            [
                (file(limit), "2147483648\n".to_string()),
                (file(used), "1610612736\n".to_string()),
                (file("memory.stat"), format!("cache 5\n{idle} 1073741824\n")),
            ]
        };
        let v1 = job(
            "memory/slurm/uid_0/job_7",
            ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"],
        );
        let v2 = job("system.slice/job_7", ["memory.max", "memory.current", "inactive_file"]);
        let wider = [
            ("sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", "4294967296\n"),
            ("sys/fs/cgroup/system.slice/job_7/step_0/memory.max", "max\n"),
        ];
        for (groups, files) in [(V1, v1), (V2, v2)] {
            let mut all: Vec<(&str, &str)> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
            all.extend(wider);
            assert_eq!(described_memory(groups, &all, &[]), wanted);
        }
    }

    #[test]
    fn a_containers_own_group_is_found() {
        let groups = ["4:memory:/docker/abc\n", V1[1]];
        let limit = ("sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
        let outside =
            [groups[0], "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"];
        for groups in [outside, ["4:memory:/elsewhere\n", outside[1]]] {
            assert!(
                described_memory(groups, &[limit], &[]).starts_with("1.0 of 1.0 GiB available within this"),
                "{groups:?}"
            );
        }
        // The folder of that name is not there, but one above it.
        assert!(described_memory(groups, &[limit], &[]).starts_with("1.0 of 1.0 GiB available within this"));
    }

    #[test]
    fn what_slurm_promises_is_shown_where_no_group_enforces_it() {
        let wanted = "3.0 of 3.0 GiB available within what SLURM gives this job; on the machine 12.0 of 16.0 GiB available";
        assert_eq!(described_memory(V2, &[], &[("SLURM_MEM_PER_NODE", "3072")]), wanted);
        let each = [("SLURM_MEM_PER_CPU", "1536"), ("SLURM_CPUS_ON_NODE", "2")];
        assert_eq!(described_memory(V2, &[], &each), wanted);
        // All of the node, or more.
        for all in ["0", "999999"] {
            assert_eq!(
                described_memory(V2, &[], &[("SLURM_MEM_PER_NODE", all)]),
                "12.0 of 16.0 GiB available"
            );
        }
    }
}
