"""Runs studies on a real SLURM of four nodes on this machine while things go wrong, and compares every result with that of
a quiet run without a cluster.

    python3 tests/cluster/check.py --program target/debug/frostline [--only power-cut,time-limit]

Exit code 77: SLURM or munge is not installed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from slurm_here import Cluster, ClusterError, NotStarted, missing, wait

SKIPPED = 77

# Twenty cells of the demo: a minute or two on two cores.
STUDY = ["--lang", "en,pcm", "--seeds", "42,43", "--set", "train.epochs=3", "--no-timing"]
CELLS = 20

# A process of another node that has died is noticed after this time; on one machine at once.
SHORT = ["--lease-s", "10"]


class World:
    """A cluster, the program, and the results that all runs must have."""

    def __init__(self, cluster, program, folder):
        self.cluster, self.program, self.folder = cluster, program, Path(folder)
        self.wanted = {}

    def frostline(self, *arguments, wants=0, limit_s=900):
        command = [self.program, *map(str, arguments)]
        run = subprocess.run(
            command, env=self.cluster.env, capture_output=True, text=True, cwd=self.folder, timeout=limit_s
        )
        if wants is not None and run.returncode != wants:
            raise AssertionError(f"{command} ended with {run.returncode}:\n{run.stdout}\n{run.stderr}")
        return run

    def begin(self, *arguments, **more):
        """Starts a command and does not wait for it."""
        command = [self.program, *map(str, arguments)]
        return subprocess.Popen(
            command, env=self.cluster.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            cwd=self.folder, **more
        )

    def submit(self, out, *arguments):
        """Submits the study and returns at once."""
        self.frostline("sweep", *STUDY, *SHORT, "--out", out, "--executor", "slurm", "--detach", *arguments)
        return json.loads((self.folder / out / "slurm" / "jobs.json").read_text())[-1]

    def results(self, out):
        """The result of each recorded cell."""
        found = {}
        for path in sorted((self.folder / out / "cells").glob("*/record.json")):
            record = json.loads(path.read_text())
            assert record.get("error") is None, f"{path}: {record['error']}"
            found[path.parent.name] = record["result"]
        return found

    def recorded(self, out):
        return len(list((self.folder / out / "cells").glob("*/record.json")))

    def some_recorded(self, out, job, count):
        wait(lambda: self.recorded(out) >= count or self.queue_is_empty(job), 300, f"{count} records")
        assert self.recorded(out) >= count, self.logs(out)

    def queue_is_empty(self, job):
        return not self.cluster.output(["squeue", "-h", "-r", "-j", f"{job['array']},{job['report']}"]).strip()

    def ends_well(self, out, job, limit_s=600):
        """All jobs end, every cell is recorded, and each result has the bits of the quiet run's."""
        wait(lambda: self.queue_is_empty(job), limit_s, "the jobs to end")
        found = self.results(out)
        assert found.keys() == self.wanted.keys(), f"{len(found)} of {len(self.wanted)} cells\n{self.logs(out)}"
        different = [name for name in found if found[name] != self.wanted[name]]
        assert not different, f"other results than those of the quiet run: {different}"
        assert (self.folder / out / "report" / "report.md").exists(), "no report was written"

    def logs(self, out):
        return "\n".join(path.read_text() for path in sorted((self.folder / out / "slurm").glob("*.log")))


def plain(world):
    """Four workers, nothing goes wrong."""
    job = world.submit("plain", "--workers", "4")
    world.ends_well("plain", job)


def stays(world):
    """The command stays, shows how it stands, and prints the table at the end."""
    run = world.frostline("sweep", *STUDY, "--out", "stays", "--executor", "slurm", "--workers", "2")
    assert f"{CELLS} of {CELLS} cells recorded" in run.stdout, run.stdout
    job = json.loads((world.folder / "stays/slurm/jobs.json").read_text())[-1]
    world.ends_well("stays", job)


def power_cut(world):
    """A node loses its power in the middle of its cells, and comes back later."""
    job = world.submit("power-cut", "--workers", "4")
    world.some_recorded("power-cut", job, 5)
    world.cluster.cut("n2")
    time.sleep(15)
    world.cluster.revive("n2")
    world.ends_well("power-cut", job)


def two_copies(world):
    """Only a node's daemon dies: its worker runs on while the same job starts elsewhere."""
    job = world.submit("two-copies", "--workers", "4")
    world.some_recorded("two-copies", job, 3)
    world.cluster.cut_daemon("n3")
    world.ends_well("two-copies", job)
    world.cluster.revive("n3")


def time_limit(world):
    """The limit strikes before the cells are done: jobs store theirs, and return to the queue."""
    job = world.submit("time-limit", "--workers", "1", "--time", "1", "--signal-s", "20", "--max-restarts", "9")
    world.ends_well("time-limit", job, 900)
    assert "returns to the queue" in world.logs("time-limit"), world.logs("time-limit")


def requeued(world):
    """An administrator puts a running job back into the queue."""
    job = world.submit("requeued", "--workers", "2")
    world.some_recorded("requeued", job, 3)
    world.cluster.run(["scontrol", "requeue", f"{job['array']}_0"])
    world.ends_well("requeued", job)


def cancelled(world):
    """The jobs are cancelled; the same sweep goes on here, with what they have done."""
    job = world.submit("cancelled", "--workers", "4")
    world.some_recorded("cancelled", job, 4)
    world.frostline("sweep", "--cancel", "cancelled")
    wait(lambda: world.queue_is_empty(job), 60, "the jobs to end")
    before = world.recorded("cancelled")
    assert before < len(world.wanted), "nothing was left to cancel"
    run = world.frostline("sweep", *STUDY, "--out", "cancelled")
    assert f"{before} cells here already" in run.stdout, run.stdout
    world.ends_well("cancelled", job)


def too_many(world):
    """More workers than an array may have, and a partition that does not exist, are loud errors."""
    run = world.frostline("sweep", *STUDY, "--out", "too-many", "--executor", "slurm", "--workers", "18", wants=3)
    assert "MaxArraySize" in run.stderr and "lower --workers" in run.stderr, run.stderr
    run = world.frostline(
        "sweep", *STUDY, "--out", "too-many", "--executor", "slurm", "--partition", "none-such", wants=3
    )
    assert "invalid partition" in run.stderr.lower(), run.stderr


def two_sweeps(world):
    """The same study is submitted and run here at the same time, in one folder."""
    job = world.submit("two-sweeps", "--workers", "2")
    here = world.begin("sweep", *STUDY, *SHORT, "--out", "two-sweeps")
    text = here.communicate(timeout=600)[0]
    assert here.returncode == 0, text
    world.ends_well("two-sweeps", job)


def times(world):
    """Wall times of the study with 1, 2 and 4 workers. The nodes share this machine's cores."""
    for workers in [1, 2, 4]:
        begun = time.monotonic()
        out = f"times-{workers}"
        job = world.submit(out, "--workers", workers)
        world.ends_well(out, job)
        print(f"      {workers} workers: {time.monotonic() - begun:.0f} s", flush=True)


CASES = {
    "plain": plain,
    "stays": stays,
    "power-cut": power_cut,
    "two-copies": two_copies,
    "time-limit": time_limit,
    "requeued": requeued,
    "cancelled": cancelled,
    "too-many": too_many,
    "two-sweeps": two_sweeps,
    "times": times,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True, type=Path)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(CASES))
    parser.add_argument("--keep", type=Path, help="a new folder for everything, which is not removed")
    given = parser.parse_args()
    if missing():
        print(f"not installed: {', '.join(missing())} (Debian: slurmctld slurmd slurm-client munge)")
        sys.exit(SKIPPED)
    temporary = None
    if given.keep is None:
        temporary = tempfile.TemporaryDirectory(prefix="frostline-cluster-")
        # munged wants a socket that everyone can reach.
        Path(temporary.name).chmod(0o755)
    folder = given.keep or Path(temporary.name)
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    failed = 0
    with Cluster(folder / "slurm", nodes=4, largest_array=15) as cluster:
        world = World(cluster, given.program.resolve(), folder / "runs")
        world.frostline("sweep", *STUDY, "--out", "quiet")
        world.wanted = world.results("quiet")
        assert len(world.wanted) == CELLS
        print(f"      {len(world.wanted)} cells", flush=True)
        for name in given.only:
            begun = time.monotonic()
            try:
                CASES[name](world)
                verdict = "ok"
            except (AssertionError, TimeoutError, ClusterError) as error:
                failed += 1
                verdict = f"FAILED: {error}"
                print(cluster.output(["squeue", "-r"]))
            print(f"{name:12}{time.monotonic() - begun:6.0f} s  {verdict}", flush=True)
    if temporary is not None:
        temporary.cleanup()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    try:
        main()
    except NotStarted as error:
        print(f"SLURM does not start here: {error}")
        sys.exit(SKIPPED)
