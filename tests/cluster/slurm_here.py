"""A SLURM cluster on this machine, whole in one folder: munged, slurmctld and some slurmd on the loopback.

Needs Debian's packages slurmctld, slurmd, slurm-client and munge. Nothing outside the folder is touched.
"""

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

# What a node's GPUs are called.
GPUS = ["gpu0", "gpu1"]

PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol"]


def missing():
    """The programs that are not installed."""
    path = os.environ.get("PATH", "") + ":/usr/sbin"
    return [name for name in PROGRAMS if shutil.which(name, path=path) is None]


def free_ports(count):
    """So many free ports in a row, below those that the kernel hands out."""
    for base in range(21000 + os.getpid() % 5000, 31000, count):
        try:
            for port in range(base, base + count):
                with socket.socket() as probe:
                    probe.bind(("", port))
            return base
        except OSError:
            continue
    raise RuntimeError("no free ports")


class ClusterError(Exception):
    """A command of SLURM or munge failed."""


class NotStarted(Exception):
    """SLURM is installed and does not run on this machine."""


class Cluster:
    """Nodes n1 to nN with two cores each, which are the same ones, and two GPUs, which are none. Arrays have at most
    `largest_array` jobs.
    """

    def __init__(self, folder, nodes, largest_array=1001):
        self.folder = Path(folder).resolve()
        self.nodes = [f"n{number + 1}" for number in range(nodes)]
        for name in ["munge", "state", "spool", "log"]:
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "munge").chmod(0o755)
        self.conf = self.folder / "slurm.conf"
        self.env = {
            **os.environ,
            "SLURM_CONF": str(self.conf),
            "PATH": os.environ.get("PATH", "") + ":/usr/sbin",
        }
        self.conf.write_text(self.configuration(largest_array))
        # Devices that are none: jobs get the variables that they would get with GPUs.
        for gpu in GPUS:
            (self.folder / gpu).symlink_to("/dev/null")
        lines = [f"Name=gpu File={self.folder / gpu}\n" for gpu in GPUS]
        (self.folder / "gres.conf").write_text("".join(lines))

    def configuration(self, largest_array):
        host, user = socket.gethostname().split(".")[0], os.environ.get("USER") or "root"
        user = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip() or user
        base = free_ports(1 + len(self.nodes))
        settings = {
            "ClusterName": "here",
            "SlurmctldHost": f"{host}(127.0.0.1)",
            "SlurmctldPort": base,
            "SlurmUser": user,
            "SlurmdUser": user,
            "AuthType": "auth/munge",
            # A short life of credentials lets a job that was requeued start again after seconds.
            "AuthInfo": f"socket={self.folder}/munge/socket,cred_expire=5",
            "CredType": "cred/munge",
            "StateSaveLocation": self.folder / "state",
            "SlurmctldPidFile": self.folder / "slurmctld.pid",
            "SlurmdPidFile": self.folder / "%n.pid",
            "SlurmdSpoolDir": self.folder / "spool" / "%n",
            "CommunicationParameters": "NoInAddrAny,NoCtldInAddrAny",
            "PlugStackConfig": "/dev/null",
            "MpiDefault": "none",
            "ProctrackType": "proctrack/linuxproc",
            "TaskPlugin": "task/none",
            "JobAcctGatherType": "jobacct_gather/none",
            "AccountingStorageType": "accounting_storage/none",
            "SelectType": "select/cons_tres",
            # Jobs go to the node with most idle cores: as many nodes as possible run some.
            "SelectTypeParameters": "CR_Core_Memory,CR_LLN",
            "GresTypes": "gpu",
            # The nodes claim cores that are all the same two.
            "SlurmdParameters": "config_overrides",
            "SchedulerParameters": "sched_interval=1,sched_min_interval=0,bf_interval=1,batch_sched_delay=0",
            "MaxArraySize": largest_array,
            "DefMemPerCPU": 256,
            "ReturnToService": 2,
            "SlurmdTimeout": 10,
            "KillWait": 3,
        }
        lines = [f"{name}={value}" for name, value in settings.items()]
        lines.append(f"NodeName=DEFAULT CPUs=2 RealMemory=4096 Gres=gpu:{len(GPUS)}")
        lines += [
            f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={base + 1 + at}"
            for at, node in enumerate(self.nodes)
        ]
        lines.append("PartitionName=short Nodes=ALL Default=YES DefaultTime=10 MaxTime=60")
        return "\n".join(lines) + "\n"

    def __enter__(self):
        try:
            self.start()
        except (ClusterError, TimeoutError) as error:
            self.__exit__()
            raise NotStarted(str(error)) from error
        return self

    def start(self):
        munge = self.folder / "munge"
        key = munge / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        files = {"socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        # The folder is this test's alone: what munged thinks of the folders above it is of no account.
        self.run(["munged", "--force", f"--key-file={key}", *(f"--{a}={munge / b}" for a, b in files.items())])
        self.run(["slurmctld", "-f", str(self.conf), "-L", str(self.folder / "log" / "slurmctld.log")])
        for node in self.nodes:
            self.revive(node)
        idle = ["sinfo", "-h", "-N", "-t", "idle", "-o", "%N"]
        wait(lambda: len(self.output(idle).split()) == len(self.nodes), 60, "the nodes to come up")

    def __exit__(self, *_):
        for node in self.nodes:
            self.cut(node)
        for file in ["slurmctld.pid", "munge/pid"]:
            try:
                os.kill(int((self.folder / file).read_text()), signal.SIGKILL)
            except (OSError, ValueError):
                pass

    def run(self, command, **more):
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, **more)
        if done.returncode != 0:
            raise ClusterError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
        return done

    def output(self, command):
        """What a command prints; nothing where it fails."""
        return subprocess.run(command, env=self.env, capture_output=True, text=True).stdout

    def revive(self, node):
        """A node comes back."""
        (self.folder / "spool" / node).mkdir(exist_ok=True)
        log = self.folder / "log" / f"{node}.log"
        self.run(["slurmd", "-N", node, "-f", str(self.conf), "-L", str(log)])

    def cut(self, node):
        """A power cut: the node's daemon and all that runs on it are gone at once."""
        for pid in self.daemons(node) + self.jobs(node):
            kill(pid)

    def cut_daemon(self, node):
        """Only the daemon dies: the cluster takes the node for dead while its jobs run on."""
        for pid in self.daemons(node):
            kill(pid)

    def reset(self):
        """After a failure: no jobs, and all nodes."""
        self.output(["scancel", "--signal=KILL", "--state=running", "--full", "-u", str(os.getuid())])
        self.output(["scancel", "-u", str(os.getuid())])
        for node in self.nodes:
            for pid in self.jobs(node):
                kill(pid)
            if not self.daemons(node):
                self.revive(node)

    def jobs(self, node):
        """The processes of a node's jobs."""
        return [pid for pid, env in processes() if env.get("SLURMD_NODENAME") == node and self.is_here(env)]

    def daemons(self, node):
        """A node's daemon, and those of the steps on it: they have the node's log open."""
        log, found = str(self.folder / "log" / f"{node}.log"), []
        for pid, env in processes():
            try:
                files = [os.readlink(entry.path) for entry in os.scandir(f"/proc/{pid}/fd")]
            except OSError:
                continue
            if log in files:
                found.append(pid)
        return found

    def is_here(self, env):
        return env.get("SLURM_CONF") == str(self.conf)


def processes():
    """Every process with its environment."""
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                text = Path(entry.path, "environ").read_text(errors="replace")
            except OSError:
                continue
            pairs = (part.split("=", 1) for part in text.split("\0") if "=" in part)
            yield int(entry.name), dict(pairs)


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass


def wait(done, limit_s, what):
    """Waits until something is so."""
    end = time.monotonic() + limit_s
    while not done():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {limit_s} s for {what}")
        time.sleep(0.2)
