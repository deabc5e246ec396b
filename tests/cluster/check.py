"""Runs studies on a real SLURM of four nodes on this machine while things go wrong, and compares every result with that
of a quiet run without a cluster.

    python3 tests/cluster/check.py --program target/debug/frostline [--only power-cut,time-limit]

Without --only all cases of cases.py are run but those that only take times. Exit code 77: SLURM or munge is not
installed.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cases import CASES, FIGURES
from slurm_here import Cluster, ClusterError, NotStarted, missing
from world import World

SKIPPED = 77


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True, type=Path)
    usual = [name for name in CASES if name not in FIGURES]
    parser.add_argument("--only", type=lambda text: text.split(","), default=usual)
    parser.add_argument("--keep", type=Path, help="a new folder for everything, which is not removed")
    given = parser.parse_args()
    if unknown := [name for name in given.only if name not in CASES]:
        parser.error(f"no such case: {', '.join(unknown)}; there are {', '.join(CASES)}")
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
        for name in given.only:
            begun = time.monotonic()
            try:
                CASES[name](world)
                verdict = "ok"
            except (AssertionError, TimeoutError, subprocess.TimeoutExpired, ClusterError) as error:
                failed += 1
                verdict = f"FAILED: {error}"
                print(cluster.output(["squeue", "-r"]))
                cluster.reset()
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
