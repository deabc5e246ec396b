"""Runs a small sweep with every tracker switched on, and reads what was tracked with the trackers' own programs.

    python check.py --program FILE

Needs the packages of requirements.txt. `cargo xtask ci --only track` runs this; each check prints a line, and the first
that fails ends it with code 1. Compared are the values with those of the sweep's records, float by float.
"""

import argparse
import json
import logging
import math
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

# MLflow asks for this before it reads a folder.
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ["WANDB_MODE"] = "offline"
SWEEP = ["sweep", "--lang", "en", "--policies", "none,first-2", "--seeds", "42", "--set", "train.epochs=2", "--no-timing"]
TOOLS = Path(sys.executable).parent


class Failed(Exception):
    """A check that does not hold."""


def check(holds, what, found=""):
    print(f"{'ok  ' if holds else 'FAIL'} {what} {'' if holds else found}".rstrip(), flush=True)
    if not holds:
        raise Failed(what)


def sweep(program, out, *more, **settings):
    command = [program, *SWEEP, "--out", out, *more]
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **settings)


def wanted(folder):
    """What the records say: for each cell its policy, and for each name the values as (step, value)."""
    cells = {}
    for file in sorted(folder.glob("cells/*/record.json")):
        record = json.loads(file.read_text())
        result = record["result"]
        last = result["stages"][-1]["tasks"][result["headline"]]["scores"]
        accuracy = {split: score["correct"] / score["words"] for split, score in last.items()}
        cells[record["cell"]["id"]] = {
            "policy": record["cell"]["settings"]["policy"],
            "train/loss_nats": [(point["step"], point["loss_nats"]) for point in result["train_loss"]],
            "train/learning_rate": [(point["step"], point["lr"]) for point in result["train_loss"]],
            "dev/accuracy": [(row["step"], row["dev"]["correct"] / row["dev"]["words"]) for row in result["epochs"]],
            "test/accuracy": [(result["steps"], accuracy["test"])],
        }
    return cells


def same(found, expected, single=False):
    """Whether both have these steps with these values; `single` where a tracker keeps 32 bits."""
    close = lambda a, b: a == b or (single and math.isclose(a, b, rel_tol=1e-7))
    pairs = list(zip(sorted(found), sorted(expected)))
    return len(found) == len(expected) and all(s == t and close(a, b) for (s, a), (t, b) in pairs)


def compare(tool, cells, values_of, single=False):
    """`values_of(id, name)` gives what a tool reads."""
    for cell, expected in cells.items():
        for name in [name for name in expected if name != "policy"]:
            found = values_of(cell, name)
            what = f"{tool}: {expected['policy']} has {len(expected[name])} x {name}"
            check(same(found, expected[name], single), what, f"{found} {expected[name]}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def asked(url, body=None, wait_s=60):
    """The answer of a server that is perhaps not up yet."""
    until = time.monotonic() + wait_s
    while True:
        try:
            data = None if body is None else json.dumps(body).encode()
            request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.read()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.3)


class Server:
    """A tool's server, while it is needed."""

    def __init__(self, folder, name, *arguments):
        self.log = open(folder / f"{name}.log", "w")
        self.running = subprocess.Popen(
            [str(TOOLS / name), *map(str, arguments)], stdout=self.log, stderr=self.log, cwd=folder, start_new_session=True
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.running.pid, 15)
            self.running.wait(20)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(self.running.pid, 9)


def tensorboard(folder, cells):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    runs = {}
    for run in (folder / "tensorboard").iterdir():
        runs[run.name.rsplit("-", 1)[1]] = EventAccumulator(str(run)).Reload()
    scalars = lambda cell, name: [(event.step, event.value) for event in runs[cell[:8]].Scalars(name)]
    compare("TensorBoard", cells, scalars, single=True)
    port = free_port()
    with Server(folder, "tensorboard", "--logdir", "tensorboard", "--port", port, "--load_fast", "false"):
        url = f"http://127.0.0.1:{port}/data/plugin/hparams"
        until = time.monotonic() + 60
        while True:
            experiment = json.loads(asked(f"{url}/experiment", {"experimentName": ""}))
            if experiment.get("hparamInfos") or time.monotonic() > until:
                break
            time.sleep(0.5)
        columns = sorted(info["name"] for info in experiment["hparamInfos"])
        check({"lang", "policy", "seed", "optimizer.lr"} <= set(columns), f"its page compares runs by {', '.join(columns)}")
        wanted_page = {
            "experimentName": "",
            "allowedStatuses": ["STATUS_SUCCESS"],
            "colParams": [{"hparam": "policy", "order": "ORDER_ASC"}],
            "startIndex": 0,
            "sliceSize": 10,
        }
        groups = json.loads(asked(f"{url}/session_groups", wanted_page))["sessionGroups"]
        policies = [group["hparams"]["policy"] for group in groups]
        check(policies == sorted(cell["policy"] for cell in cells.values()), f"its table lists {policies} as ended well")


def mlflow(tool, uri, cells):
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    [experiment] = [found for found in client.search_experiments() if found.name == "demo"]
    runs = {}
    for run in client.search_runs([experiment.experiment_id]):
        runs[run.data.params["cell"]] = run
    policies = {cell: run.data.params["policy"] for cell, run in runs.items()}
    check(policies == {cell: expected["policy"] for cell, expected in cells.items()}, f"{tool}: runs {policies}")
    states = {run.info.status for run in runs.values()}
    check(states == {"FINISHED"}, f"{tool}: they are {states}")
    history = lambda cell, name: [(point.step, point.value) for point in client.get_metric_history(runs[cell].info.run_id, name)]
    compare(tool, cells, history)


def wandb(folder, cells):
    from wandb.proto import wandb_internal_pb2
    from wandb.sdk.internal.datastore import DataStore

    rows = {}
    for file in (folder / "wandb").glob("offline-run-*/run-*.wandb"):
        store = DataStore()
        store.open_for_scan(str(file))
        cell, found, ended = None, {}, None
        while (data := store.scan_data()) is not None:
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            kind = record.WhichOneof("record_type")
            if kind == "run":
                cell = record.run.run_id
            elif kind == "history":
                row = {item.key or item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
                for name, value in row.items():
                    found.setdefault(name, []).append((row["_step"], value))
            elif kind == "exit":
                ended = record.exit.exit_code
        rows[cell] = found
        check(ended == 0, f"W&B: run {cell} ended well")
    compare("W&B", cells, lambda cell, name: rows[cell].get(name, []))


def faults(program, folder, results):
    """Trackers that cannot work: the sweep ends well, with the same results, and says what was not tracked."""
    out = folder / "faults"
    out.mkdir()
    # A sweep writes into a folder that is empty or its own: the second command finds a file where a folder should be.
    first = sweep(program, out, "--begin")
    check(first.returncode == 0, "a sweep is begun", first.stderr)
    for name in ["tensorboard", "wandb"]:
        (out / name).write_text("in the way")
    url = f"http://127.0.0.1:{free_port()}"
    began = time.monotonic()
    ran = sweep(program, out, "--track", f"tensorboard,wandb,mlflow={url}")
    took = time.monotonic() - began
    check(ran.returncode == 0, "a sweep whose trackers all fail ends well", ran.stderr)
    for name in ["TensorBoard in", "W&B in", url]:
        said = [line for line in ran.stderr.splitlines() if line.startswith("warning") and name in line]
        check(len(said) in (1, 2), f"it says so: {said[0] if said else ''}".replace(str(folder), ""), ran.stderr)
    check(wanted(out) == results, f"and its results are the same, after {took:.0f} s")


def unsent(program, folder):
    """A server that may not be asked while cells run gets everything afterwards."""
    url = f"http://127.0.0.1:{(port := free_port())}"
    out = folder / "unsent"
    ran = sweep(program, out, "--track", f"mlflow={url}", env={**os.environ, "FROSTLINE_OFFLINE": "1"})
    check(ran.returncode == 0, "a sweep that may open no connection ends well", ran.stderr)
    last = [line for line in ran.stderr.splitlines() if "were not sent" in line]
    check(len(last) == 1 and "--send-tracked" in last[0], "it says what was not sent, and how to send it", ran.stderr)
    store = f"sqlite:///{folder}/unsent.db"
    with Server(folder, "mlflow", "server", "--backend-store-uri", store, "--port", port, "--workers", "1"):
        asked(f"{url}/health")
        send = [str(program), "sweep", "--send-tracked", str(out)]
        sent = subprocess.run(send, capture_output=True, text=True)
        check(sent.returncode == 0 and "to " + url in sent.stdout, "it is sent later", sent.stdout + sent.stderr)
        mlflow("MLflow's server, later", url, wanted(out))
    again = subprocess.run(send, capture_output=True, text=True)
    check(again.returncode == 0 and "nothing" in again.stdout, "it is sent once", again.stdout + again.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True, type=Path)
    program = parser.parse_args().program.resolve()
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="frostline-track-") as name:
        folder = Path(name)
        ran = sweep(program, folder / "files", "--track", "tensorboard,wandb,mlflow")
        check(ran.returncode == 0, "a sweep that is tracked in files", ran.stderr)
        cells = wanted(folder / "files")
        tensorboard(folder / "files", cells)
        mlflow("MLflow's files", str(folder / "files" / "mlruns"), cells)
        wandb(folder / "files", cells)
        url = f"http://127.0.0.1:{(port := free_port())}"
        store = f"sqlite:///{folder}/mlflow.db"
        with Server(folder, "mlflow", "server", "--backend-store-uri", store, "--port", port, "--workers", "1"):
            asked(f"{url}/health")
            ran = sweep(program, folder / "server", "--track", f"mlflow={url}")
            check(ran.returncode == 0, "a sweep that is tracked by a server", ran.stderr)
            check("warning" not in ran.stderr, "without a warning", ran.stderr)
            mlflow("MLflow's server", url, wanted(folder / "server"))
        unsent(program, folder)
        faults(program, folder, cells)


if __name__ == "__main__":
    try:
        main()
    except Failed:
        sys.exit(1)
