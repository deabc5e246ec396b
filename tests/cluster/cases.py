"""The cases of check.py: each is one study on the cluster, while something goes wrong."""

import json
import re
import time

from slurm_here import Cluster, wait
from world import SHORT, environment, is_alive


def plain(world):
    """Four workers on four nodes, nothing goes wrong."""
    job = world.submitted("short", "plain", "--workers", "4")
    job.runs_on(4)
    job.ends_well()


def stays(world):
    """The command stays, shows how the study stands, and prints the table at the end."""
    world.wanted("short")
    study = world.studies["short"]
    run = world.frostline(*world.sweep("short", "stays"), "--executor", "slurm", "--workers", "2")
    assert f"{study.cells} of {study.cells} cells recorded" in run.stdout, run.stdout
    for policy in ["none", "first-2", "alternating"]:
        assert re.search(rf"^ *{policy} .*\d", run.stdout, re.MULTILINE), f"no row of {policy}:\n{run.stdout}"
    world.job("stays", "short").ends_well()


def decides(world):
    """The workers of one submission run all rounds of a sweep that stops when its question is answered."""
    job = world.submitted("deciding", "decides", "--workers", "3")
    job.ends_well()
    assert len(json.loads((job.folder / "slurm/jobs.json").read_text())) == 1, "another submission"
    sweep = json.loads((job.folder / "sweep.json").read_text())
    assert len(job.wanted) > 6 and sweep["rounds"]["round"] > 1, "one round was enough"
    assert not sweep.get("search_continues"), job.logs()


def power_cut(world):
    """A node loses its power in the middle of a cell, and comes back later. The cell goes on from its checkpoint."""
    job = world.submitted("long", "power-cut", "--workers", "4")
    job.has_recorded(2)
    node, cell = job.victim()
    running = world.cluster.jobs(node)
    world.cluster.cut(node)
    wait(lambda: not any(is_alive(process) for process in running), 5, f"the end of {cell}, whose node has no power")
    time.sleep(15)
    world.cluster.revive(node)
    job.ends_well()
    taken = re.findall(r": taken over from .*; it goes on after step (\d+) of", job.logs())
    assert taken and int(taken[0]) >= 5, f"no cell went on from a checkpoint of {node}\n{job.logs()}"


def two_copies(world):
    """Only a node's daemon dies: its worker runs on while the same task starts on another node."""
    job = world.submitted("long", "two-copies", "--workers", "4")
    job.has_recorded(1)
    node, _ = job.victim()
    [task] = [task for task, where in job.nodes().items() if where == node]
    old = job.processes(task)
    assert old and all(environment(process)["SLURMD_NODENAME"] == node for process in old), old
    world.cluster.cut_daemon(node)

    def both():
        new = [process for process in job.processes(task) if environment(process).get("SLURMD_NODENAME") != node]
        return (new and all(is_alive(process) for process in old)) or job.has_ended()

    wait(both, 300, f"a second copy of task {task}")
    assert not job.has_ended(), f"task {task} of {node} was never run twice at once\n{job.logs()}"
    job.ends_well()
    wait(lambda: not any(is_alive(process) for process in old), 60, "the first copy to end")
    world.cluster.revive(node)


def time_limit(world):
    """The limit strikes before the cells are done: jobs store theirs, and return to the queue."""
    limits = ["--time", "1", "--signal-s", "20", "--max-restarts", "30"]
    job = world.submitted("long", "time-limit", "--workers", "2", *limits)
    job.ends_well(900)
    assert "returns to the queue" in job.logs(), job.logs()
    assert any(step > 0 for step in job.went_on()), f"no cell went on\n{job.logs()}"


def requeued(world):
    """An administrator puts a running job back into the queue in the middle of a cell."""
    job = world.submitted("steady", "requeued", "--workers", "1")
    job.victim()
    world.cluster.run(["scontrol", "requeue", f"{job.array}_0"])
    job.ends_well()
    assert any(step > 0 for step in job.went_on()), f"no cell went on\n{job.logs()}"


def names(world):
    """Folders whose names SLURM would read as patterns of its own have their logs."""
    for out in ["p%j%x", "100%", r"a\b", r"a\%j"]:
        job = world.submitted("short", out, "--workers", "2")
        job.ends_well()
        done = [int(count) for count in re.findall(r"^here +(\d+) cells?,", job.logs(), re.MULTILINE)]
        assert sum(done) == len(job.wanted), f"{out}: {done}\n{job.logs()}"
        assert "report " in job.logs("report*.log"), f"{out}: no log of the report"


def cancelled(world):
    """The jobs are cancelled; the same sweep goes on here, with what they have done and the cells they had begun."""
    job = world.submitted("steady", "cancelled", "--workers", "2")
    job.victim()
    world.frostline("sweep", "--cancel", "cancelled")
    wait(job.has_ended, 60, "the jobs to end")
    before = job.recorded()
    # None of them is an error, not even where a signal reached a worker before its parent.
    assert len(world.records("cancelled")) == before < len(job.wanted), "nothing was left to cancel"
    stored = list(job.folder.glob("cells/*/checkpoint.safetensors"))
    assert stored, f"no running cell was stored\n{job.logs()}"
    assert not job.begun(), f"these are still claimed: {job.begun()}"
    run = world.frostline(*world.sweep("steady", "cancelled"))
    went_on = re.findall(r"goes on after step (\d+) of", run.stdout + run.stderr)
    assert len(went_on) == len(stored) and all(int(step) > 0 for step in went_on), f"{stored}\n{run.stdout}"
    job.is_whole()


def too_many(world):
    """More workers than an array may have, and a partition that does not exist, are loud errors."""
    slurm = [*world.sweep("short", "too-many"), "--executor", "slurm"]
    run = world.frostline(*slurm, "--workers", "18", wants=3)
    assert "MaxArraySize" in run.stderr and "lower --workers" in run.stderr, run.stderr
    run = world.frostline(*slurm, "--partition", "none-such", wants=3)
    assert "invalid partition" in run.stderr.lower(), run.stderr
    assert not (world.folder / "too-many/slurm/jobs.json").exists()


def two_sweeps(world):
    """The same study is submitted and run here at the same time, in one folder."""
    job = world.submitted("short", "two-sweeps", "--workers", "2")
    here = world.begin(*world.sweep("short", "two-sweeps"), *SHORT)
    text = here.communicate(timeout=600)[0]
    assert here.returncode == 0, text
    job.ends_well()
    done = [int(count) for count in re.findall(r"^here +(\d+) cells?,", job.logs(), re.MULTILINE)]
    assert 0 < sum(done) < len(job.wanted), f"the two did not share the cells: {done}\n{text}\n{job.logs()}"


def options(world):
    """Defaults of a user's own file, GPUs, setup commands and further options; first only shown, then submitted."""
    file = world.folder / "config.toml"
    file.write_text(
        "[slurm]\nworkers = 9\ntime = '5'\npartition = 'short'\n"
        "setup = ['export SEEN=yes', 'echo \"setup $SEEN: $SLURMD_NODENAME has GPU $CUDA_VISIBLE_DEVICES\"']\n"
    )
    env = {"FROSTLINE_CONFIG": str(file)}
    given = ["--workers", "5", "--gpus", "1", "--cpus", "1", "--mem", "500M", "--sbatch=--comment=a study"]
    command = [*world.sweep("short", "options"), "--executor", "slurm", *given]
    shown = world.frostline(*command, "--dry-run", env=env).stdout
    for text in ["--array=0-4", "--partition=short", "--time=5", "--gpus=1", "'--comment=a study'", "export SEEN=yes"]:
        assert text in shown, f"{text} is not in what would be submitted:\n{shown}"
    assert not (world.folder / "options/slurm").exists() and not world.cluster.output(["squeue", "-h"]).strip()
    job = world.submitted("short", "options", *given, env=env)
    about = world.cluster.output(["scontrol", "show", "job", f"{job.array}_0"])
    for text in ["TimeLimit=00:05:00", "Comment=a study", "MinMemoryNode=500M", "Partition=short"]:
        assert text in about, f"{text} is not in\n{about}"
    job.ends_well()
    seen = re.findall(r"setup yes: (n\d) has GPU (\d)$", job.logs("*_*.log"), re.MULTILINE)
    # Every task had a GPU of its own, and five of them do not fit on four nodes with one each.
    assert len(set(seen)) == len(seen) == 5 and {gpu for _, gpu in seen} == {"0", "1"}, f"{seen}\n{job.logs()}"


def cores(world):
    """Workers compute with as many threads as a job has cores, not with those of the node."""
    for cpus in [1, 2]:
        out = f"cores-{cpus}"
        job = world.submitted("short", out, "--workers", "2", "--cpus", cpus)
        job.ends_well()
        threads = {record["made_by"]["threads"] for record in world.records(out).values()}
        assert threads == {cpus}, f"{threads} threads with --cpus {cpus}"


def times(world):
    """Wall times of the study with 1, 2 and 4 workers on as many nodes. The nodes share this machine's cores."""
    for workers in [1, 2, 4]:
        begun = time.monotonic()
        job = world.submitted("short", f"times-{workers}", "--workers", workers)
        job.runs_on(workers)
        job.ends_well()
        print(f"      {workers} nodes: {time.monotonic() - begun:.0f} s", flush=True)


CASES = {
    "plain": plain,
    "stays": stays,
    "decides": decides,
    "power-cut": power_cut,
    "two-copies": two_copies,
    "time-limit": time_limit,
    "requeued": requeued,
    "names": names,
    "cancelled": cancelled,
    "too-many": too_many,
    "two-sweeps": two_sweeps,
    "options": options,
    "cores": cores,
    "times": times,
}

# Of these only the figures are of interest.
FIGURES = ["times"]
