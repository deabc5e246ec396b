"""What the cases of check.py share: the program, studies with the results that every run must have, and a cluster."""

import csv
import json
import math
import re
import subprocess
import threading
from pathlib import Path

from slurm_here import processes, wait

# A process of another node that has died is noticed after this time; on one machine at once.
SHORT = ["--lease-s", "10"]


# How long a cell of the study "steady" takes at least, alone on this machine.
STEADY_S = 15


class Study:
    """Cells of the demo, and their results in a quiet run without a cluster."""

    def __init__(self, name, cells, arguments):
        self.name, self.cells, self.arguments = name, cells, ["--no-timing", *arguments]
        self.wanted = None


def studies(folder, demo, epoch_s):
    """The studies by name; `demo` is the demo's plan, of which an epoch takes `epoch_s` here. With checkpoints, a cell goes
    on after a power cut."""
    plan = folder / "checkpoints.toml"
    plan.write_text(demo + "\n[checkpoints]\nsteps = 5\nminutes = 0\n")
    return {
        # A minute or two on two cores.
        "short": Study("short", 20, ["--lang", "en,pcm", "--seeds", "42,43", "--set", "train.epochs=3"]),
        # Fewer and longer cells: there is time to cut a node, and to wait until the cluster has noticed.
        "long": Study("long", 18, [
            "--plan", str(plan), "--lang", "en", "--policies", "none,first-2,alternating", "--seeds", "42-47",
            "--set", "train.epochs=10",
        ]),
        # Cells that are in their middle for a long time, however fast the machine is.
        "steady": Study("steady", 2, [
            "--plan", str(plan), "--lang", "en", "--policies", "none", "--seeds", "42,43",
            "--set", f"train.epochs={math.ceil(STEADY_S / epoch_s)}",
        ]),
        # The records decide how many cells run.
        "deciding": Study("deciding", None, [
            "--lang", "en", "--policies", "none,first-2,all", "--seeds", "42-45", "--decide=verdicts",
            "--set", "data.first=120", "--set", "train.epochs=1",
        ]),
    }


class World:
    """A cluster and the program, and the studies that are run on it."""

    def __init__(self, cluster, program, folder):
        self.cluster, self.program, self.folder = cluster, program, Path(folder)
        demo = self.frostline("plans", "demo").stdout
        self.studies = studies(self.folder, demo, self.epoch_s())

    def epoch_s(self):
        """The time of an epoch of a cell of the demo on this machine."""
        one = ["--lang", "en", "--policies", "none", "--seeds", "42", "--set", "train.epochs=1"]
        self.frostline("sweep", "--no-timing", *one, "--out", "speed")
        [record] = self.records("speed").values()
        return record["timing"]["epochs"][0]["train_ms"] / 1000

    def frostline(self, *arguments, wants=0, limit_s=900, env=None):
        command = [self.program, *map(str, arguments)]
        run = subprocess.run(
            command, env={**self.cluster.env, **(env or {})}, capture_output=True, text=True, cwd=self.folder,
            timeout=limit_s,
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

    def sweep(self, study, out):
        """The arguments of a command that runs a study."""
        return ["sweep", *self.studies[study].arguments, "--out", out]

    def submitted(self, study, out, *arguments, env=None):
        """Submits a study and returns at once."""
        wanted = self.wanted(study)
        self.frostline(*self.sweep(study, out), *SHORT, "--executor", "slurm", "--detach", *arguments, env=env)
        return Job(self, out, wanted)

    def job(self, out, study):
        """What was submitted last for a folder."""
        return Job(self, out, self.wanted(study))

    def wanted(self, study):
        """The result of each cell of a study, from a quiet run."""
        study = self.studies[study]
        if study.wanted is None:
            out = f"quiet-{study.name}"
            self.frostline(*self.sweep(study.name, out), limit_s=3600)
            study.wanted = {name: record["result"] for name, record in self.records(out).items()}
            assert study.cells in (None, len(study.wanted)), f"{len(study.wanted)} cells"
        return study.wanted

    def records(self, out):
        """The record of each recorded cell. None of them is an error."""
        found = {}
        for path in sorted((self.folder / out / "cells").glob("*/record.json")):
            record = json.loads(path.read_text())
            assert record.get("error") is None, f"{path}: {record['error']}"
            found[path.parent.name] = record
        return found


class Watch:
    """Looks at the records of a folder while it is worked on: each file, once there, has to stay the one it is."""

    def __init__(self, cells):
        self.cells, self.first, self.changed = Path(cells), {}, []
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.look_on, daemon=True)
        self.thread.start()

    def look_on(self):
        while not self.ended.wait(0.3):
            self.look()

    def look(self):
        for path in self.cells.glob("*/record.json"):
            about = path.stat()
            now = (about.st_ino, about.st_mtime_ns)
            if self.first.setdefault(path.parent.name, now) != now:
                self.changed.append(path.parent.name)

    def end(self):
        self.ended.set()
        self.thread.join()
        self.look()
        assert not self.changed, f"recorded more than once: {sorted(set(self.changed))}"


class Job:
    """A study that was submitted: an array of workers, and behind it the job that writes the report."""

    def __init__(self, world, out, wanted):
        self.world, self.cluster, self.wanted = world, world.cluster, wanted
        self.out, self.folder = out, world.folder / out
        numbers = json.loads((self.folder / "slurm" / "jobs.json").read_text())[-1]
        self.array, self.report = numbers["array"], numbers["report"]
        self.watch = Watch(self.folder / "cells")

    def queue(self, what, *options):
        numbers = f"{self.array},{self.report}"
        return self.cluster.output(["squeue", "-h", "-r", "-j", numbers, "-o", what, *options]).split()

    def has_ended(self):
        return not self.queue("%i")

    def nodes(self):
        """The node of each task of the array that runs now."""
        lines = [line.split("|") for line in self.queue("%K|%N", "-t", "running")]
        return {int(task): node for task, node in lines if task.isdigit()}

    def processes(self, task):
        """The batch processes of a task, of all its copies: what a script has become, not the workers under it."""
        found = []
        for process, env in processes():
            is_of_task = env.get("SLURM_ARRAY_JOB_ID") == self.array and env.get("SLURM_ARRAY_TASK_ID") == str(task)
            if is_of_task and self.cluster.is_here(env) and "work" in arguments(process)[1:2]:
                found.append(process)
        return found

    def runs_on(self, count):
        """Waits until so many nodes run tasks at the same time."""
        wait(lambda: len(set(self.nodes().values())) >= count or self.has_ended(), 60, f"tasks on {count} nodes")
        nodes = set(self.nodes().values())
        assert len(nodes) >= count, f"only {nodes} ran tasks at the same time\n{self.logs()}"

    def recorded(self):
        return len(list(self.folder.glob("cells/*/record.json")))

    def has_recorded(self, count):
        wait(lambda: self.recorded() >= count or self.has_ended(), 300, f"{count} records")
        assert count <= self.recorded() < len(self.wanted), f"{self.recorded()} records\n{self.logs()}"

    def begun(self):
        """The cells that run, each with the process that has it."""
        found = {}
        for claim in self.folder.glob("cells/*/.claim"):
            try:
                process = re.search(r"^pid (\d+)$", claim.read_text(), re.MULTILINE)
            except OSError:
                continue
            if process and not (claim.parent / "record.json").exists():
                found[claim.parent.name] = int(process[1])
        return found

    def victim(self):
        """A node that is in the middle of a cell, which has a checkpoint, with the name of the cell."""
        found = []

        def look():
            for cell, process in self.begun().items():
                node = environment(process).get("SLURMD_NODENAME")
                stored = (self.folder / "cells" / cell / "checkpoint.safetensors").exists()
                if node and stored:
                    found[:] = [(node, cell)]
                    return True
            return self.has_ended()

        wait(look, 120, "a cell in its middle")
        assert found, f"no cell was seen in its middle\n{self.logs()}"
        return found[0]

    def ends_well(self, limit_s=600):
        """All jobs end, every cell is recorded once, with the bits of the quiet run, and the report has all of them."""
        wait(self.has_ended, limit_s, "the jobs to end")
        self.is_whole()

    def is_whole(self):
        self.watch.end()
        found = self.world.records(self.out)
        assert found.keys() == self.wanted.keys(), f"{len(found)} of {len(self.wanted)} cells\n{self.logs()}"
        different = [name for name in found if found[name]["result"] != self.wanted[name]]
        assert not different, f"other results than those of the quiet run: {different}"
        with open(self.folder / "report" / "results.csv", newline="") as file:
            reported = len({row["cell_id"] for row in csv.DictReader(file)})
        assert reported == len(self.wanted), f"{reported} of {len(self.wanted)} cells are in the report\n{self.logs()}"

    def logs(self, pattern="*.log"):
        return "\n".join(path.read_text() for path in sorted((self.folder / "slurm").glob(pattern)))

    def went_on(self):
        """The steps after which cells went on, as the workers' logs say."""
        return [int(step) for step in re.findall(r"goes on after step (\d+) of", self.logs())]


def environment(process):
    """The environment of a process; empty if it has ended."""
    try:
        text = Path(f"/proc/{process}/environ").read_text(errors="replace")
    except OSError:
        return {}
    return dict(part.split("=", 1) for part in text.split("\0") if "=" in part)


def arguments(process):
    """The command line of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return []


def is_alive(process):
    """Whether a process runs; one that has ended may wait to be collected."""
    try:
        about = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return about.rsplit(")", 1)[1].split()[0] not in "ZX"
