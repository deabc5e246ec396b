"""Runs a study with each of the other engines of docs/clusters.md that is installed here: several `frostline work` on
one folder, started by GNU parallel over ssh (to this machine, as three nodes), by HyperQueue, and by hand. Each has to
record every cell, with the results of a quiet run; what an engine ends in the middle has to go on from where it was.

    python3 tests/cluster/engines.py --program target/release/frostline [--only ssh,hyperqueue,hand]

Debian's parallel, openssh-client and openssh-server are needed for the first, PyPI's hyperqueue for the second.
"""

import argparse
import getpass
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from slurm_here import free_ports, wait

STUDY = ["--lang", "en,pcm", "--seeds", "42,43", "--set", "train.epochs=3", "--no-timing"]
WORKERS = 3


class Lacking(Exception):
    """An engine is not installed."""


class Study:
    """The demo's study in one folder after the other."""

    def __init__(self, program, folder):
        self.program, self.folder = str(program), folder
        self.wanted = {}
        self.frostline("sweep", *STUDY, "--out", "quiet")
        self.wanted = self.results("quiet")

    def frostline(self, *arguments):
        run = subprocess.run([self.program, *arguments], cwd=self.folder, capture_output=True, text=True)
        assert run.returncode == 0, f"{arguments}:\n{run.stdout}\n{run.stderr}"
        return run.stdout + run.stderr

    def begin(self, name):
        """A folder for workers; its path and the command that each of them is."""
        self.frostline("sweep", *STUDY, "--out", name, "--begin")
        return self.folder / name, [self.program, "work", str(self.folder / name), "--threads", "1"]

    def results(self, name):
        found = {}
        for path in (self.folder / name / "cells").glob("*/record.json"):
            record = json.loads(path.read_text())
            assert record.get("error") is None, f"{path}: {record['error']}"
            found[path.parent.name] = record["result"]
        return found

    def is_whole(self, name):
        found = self.results(name)
        assert found.keys() == self.wanted.keys(), f"{len(found)} of {len(self.wanted)} cells"
        assert found == self.wanted, "other results than those of the quiet run"
        self.frostline("report", name)

    def has_begun(self, name):
        """Waits until some cells are recorded and others run."""
        cells = self.folder / name / "cells"
        wait(lambda: len(list(cells.glob("*/record.json"))) >= 3, 300, "three records")
        wait(lambda: any(not (at.parent / "record.json").exists() for at in cells.glob("*/.claim")), 60, "a cell")

    def goes_on(self, name):
        """What was ended in its middle: some cells are stored, none has failed, and one more worker does the rest."""
        assert len(self.results(name)) < len(self.wanted), "nothing was left"
        stored = list((self.folder / name / "cells").glob("*/checkpoint.safetensors"))
        output = self.frostline("work", name)
        self.is_whole(name)
        went_on = output.count("goes on after step")
        return f"{len(stored)} running cells were stored, {went_on} went on"


def hand(study):
    """Terminals."""
    _, command = study.begin("hand")
    workers = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(WORKERS)]
    assert [worker.wait() for worker in workers] == [0] * WORKERS
    study.is_whole("hand")
    _, command = study.begin("hand-ended")
    workers = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(WORKERS)]
    study.has_begun("hand-ended")
    for worker in workers:
        worker.send_signal(signal.SIGTERM)
    assert {worker.wait() for worker in workers} == {130}
    return study.goes_on("hand-ended")


def ssh(study):
    """GNU parallel, over an ssh server of this folder's own."""
    sshd = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin")
    if sshd is None or shutil.which("parallel") is None or shutil.which("ssh-keygen") is None:
        raise Lacking("parallel, openssh-client and openssh-server")
    folder = study.folder / "ssh-server"
    folder.mkdir(mode=0o700)
    for key in ["host", "user"]:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
    port = free_ports(1)
    (folder / "server").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\n"
        f"PidFile {folder}/pid\nStrictModes no\nUsePAM no\nMaxStartups 50\n"
    )
    nodes = [f"node{number + 1}" for number in range(WORKERS)]
    (folder / "client").write_text(
        f"Host node*\nHostName 127.0.0.1\nPort {port}\nUser {getpass.getuser()}\nIdentityFile {folder}/user\n"
        "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n"
    )
    # What an ssh server of root needs outside of its folder.
    own = Path("/run/sshd")
    makes = os.geteuid() == 0 and not own.exists()
    if makes:
        own.mkdir(mode=0o755)
    server = subprocess.Popen([sshd, "-D", "-e", "-f", folder / "server"], stderr=open(folder / "log", "w"))
    try:
        wait(lambda: (folder / "pid").exists(), 20, "the ssh server")
        _, command = study.begin("ssh")
        parallel = ["parallel", "--ssh", f"ssh -F {folder}/client", "--sshlogin", ",".join(nodes), "--nonall"]
        env = {**os.environ, "HOME": str(folder), "PARALLEL_HOME": str(folder)}
        begun = subprocess.run([*parallel, *command], env=env, capture_output=True, text=True)
        assert begun.returncode == 0, begun.stdout + begun.stderr
        shares = [line for line in begun.stdout.splitlines() if line.startswith("here ")]
        assert len(shares) == WORKERS, begun.stdout
        study.is_whole("ssh")
        return "; ".join(" ".join(line.split()[:3]).rstrip(",") for line in shares)
    finally:
        server.terminate()
        server.wait()
        if makes:
            own.rmdir()


def hyperqueue(study):
    """HyperQueue: a server and two workers of its own, and an array with one task per entry of a list."""
    try:
        from hyperqueue import Job, LocalCluster
        from hyperqueue.cluster import WorkerConfig
    except ImportError:
        raise Lacking("the Python package hyperqueue") from None

    def array(name, **more):
        out, command = study.begin(name)
        job = Job(name=name, **more)
        # What `hq submit --from-json` makes of a list: a task per entry, which it has in a variable.
        for entry in range(WORKERS):
            log = str(study.folder / f"{name}-{entry}.log")
            job.program(command, env={"HQ_ENTRY": json.dumps(entry)}, cwd=str(out), stdout=log, stderr=log)
        return job

    (study.folder / "hq").mkdir()
    with LocalCluster(server_dir=str(study.folder / "hq")) as cluster:
        for _ in range(2):
            cluster.start_worker(WorkerConfig(cores=2))
        client = cluster.client()
        client.wait_for_jobs([client.submit(array("hyperqueue"))])
        study.is_whole("hyperqueue")
        # A task that fails cancels the job: INT, and KILL a second later.
        job = array("hyperqueue-ended", max_fails=0)
        flag = study.folder / "now"
        job.program(["bash", "-c", f"until [ -e {flag} ]; do sleep 0.1; done; exit 1"], stdout=None, stderr=None)
        submitted = client.submit(job)
        study.has_begun("hyperqueue-ended")
        flag.touch()
        client.wait_for_jobs([submitted], raise_on_error=False)
    time.sleep(2)
    return study.goes_on("hyperqueue-ended")


ENGINES = {"hand": hand, "ssh": ssh, "hyperqueue": hyperqueue}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True, type=Path)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(ENGINES))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="frostline-engines-") as folder:
        study = Study(given.program.resolve(), Path(folder))
        for name in given.only:
            begun = time.monotonic()
            try:
                verdict = ENGINES[name](study) or "ok"
            except Lacking as lacking:
                verdict = f"SKIPPED: needs {lacking}"
            print(f"{name:12}{time.monotonic() - begun:6.0f} s  {verdict}", flush=True)


if __name__ == "__main__":
    main()
