"""Loads `frostline tagger-server` with requests from this machine, and prints what it answers, how fast, and in how much memory.

    cargo run --release -p frostline-tagger --example shared_trunk -- 10 4 /tmp/taggers
    python3 tests/tagger-server/load.py --program target/release/frostline --models /tmp/taggers/* [--seconds 20] [--minutes 60]

`wrk` sends the requests (Debian's package `wrk`); memory is read from /proc, so this runs on Linux only. Server and clients share the
machine's cores. A request has one sentence of 20 words. Three tables:

1. one server of all models, a request asks one of them: 1, 32 and 256 clients;
2. a server of all models next to a process for each model: a request asks one model, or all of them;
3. with --minutes, the memory of one server while 32 clients ask all the time.

The exit code is 1 if a server ends, or if an answer has another status than 200.
"""

import argparse
import contextlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORDS = 20
BODIES = 64


class Server:
    """A server of some models on a free port."""

    def __init__(self, program, models, threads=None):
        runs = [part for model in models for part in ("--run", f"{model.name}={model}")]
        # Each model of the example fills the same column; columns of their own let one request ask all.
        columns = [part for model in models for part in ("--column", f"misc.{model.name}")]
        more = ["--threads", str(threads)] if threads else []
        self.process = subprocess.Popen(
            [program, "tagger-server", *runs, *columns, *more, "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        for line in self.process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                break
        else:
            raise SystemExit("the server ended before it printed its address")

    def memory_mib(self):
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"^VmRSS:\s+(\d+) kB", text, re.MULTILINE)[1]) / 1024

    def __enter__(self):
        return self

    def __exit__(self, *_):
        ended = self.process.poll()
        self.process.terminate()
        self.process.wait(timeout=60)
        if ended is not None:
            raise SystemExit(f"the server ended by itself with {ended}")


def write_script(folder, models, asks_all):
    """A script for wrk, whose requests ask one model after the other, or all of them at once."""
    sentence = lambda first: [f"w{(first * WORDS + at) * 7919 % 30000}" for at in range(WORDS)]
    asked = lambda number: [model.name for model in models] if asks_all else [models[number % len(models)].name]
    bodies = [json.dumps({"models": asked(number), "sentences": [sentence(number)]}) for number in range(BODIES)]
    script = folder / "requests.lua"
    script.write_text(
        "local bodies = {\n" + ",\n".join(f"[==[{body}]==]" for body in bodies) + "}\n"
        "local at = 0\n"
        "function request()\n"
        "  at = at % #bodies + 1\n"
        "  return wrk.format('POST', '/v1/tag', {['Content-Type'] = 'application/json'}, bodies[at])\n"
        "end\n"
    )
    return script


def start_wrk(server, script, clients, seconds):
    return subprocess.Popen(
        ["wrk", "-t1", f"-c{clients}", f"-d{seconds}s", "--timeout", "60s", "--latency", "-s", str(script),
         f"http://127.0.0.1:{server.port}"],
        stdout=subprocess.PIPE, text=True,
    )


def milliseconds(text):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s|m)", text).groups()
    return float(number) * {"us": 1e-3, "ms": 1, "s": 1e3, "m": 6e4}[unit]


def read_wrk(process):
    """Requests per second, and the median and the 99th percentile of their times in ms."""
    text, _ = process.communicate()
    if process.returncode or "Non-2xx" in text or "Socket errors" in text:
        raise SystemExit(f"not every request was answered:\n{text}")
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])
    return rate, *(milliseconds(re.search(rf"(?m)^\s+{share}%\s+(\S+)", text)[1]) for share in (50, 99))


def measure_clients(program, models, counts, seconds, folder):
    print(f"\none server of {len(models)} models; a request asks one of them\n")
    print("| clients | requests/s | p50 ms | p99 ms | MiB before | MiB after |\n|---|---|---|---|---|---|")
    script = write_script(folder, models, asks_all=False)
    for clients in counts:
        with Server(program, models) as server:
            read_wrk(start_wrk(server, script, clients, 2))
            before = server.memory_mib()
            rate, p50, p99 = read_wrk(start_wrk(server, script, clients, seconds))
            print(f"| {clients} | {rate:,.0f} | {p50:.1f} | {p99:.1f} | {before:.0f} | {server.memory_mib():.0f} |")


def measure_processes(program, models, seconds, folder):
    print(f"\none server of {len(models)} models next to {len(models)} servers of one model; 32 clients in all\n")
    print("| a request asks | server | sentences/s | MiB |\n|---|---|---|---|")
    clients = max(1, 32 // len(models))
    for asks_all in (False, True):
        with Server(program, models) as server:
            script = write_script(folder, models, asks_all)
            rate, *_ = read_wrk(start_wrk(server, script, clients * len(models), seconds))
            together = (rate, server.memory_mib())
        with contextlib.ExitStack() as stack:
            servers = [stack.enter_context(Server(program, [model], threads=1)) for model in models]
            loads = []
            for number, (server, model) in enumerate(zip(servers, models)):
                place = folder / f"model-{number}"
                place.mkdir(exist_ok=True)
                loads.append(start_wrk(server, write_script(place, [model], asks_all=False), clients, seconds))
            rate = sum(read_wrk(load)[0] for load in loads)
            # A sentence that all models tag is a request to each process.
            apart = (rate / len(models) if asks_all else rate, sum(server.memory_mib() for server in servers))
        asked = "all models" if asks_all else "one model"
        for name, (rate, memory) in (("one", together), ("one for each model", apart)):
            print(f"| {asked} | {name} | {rate:,.0f} | {memory:,.0f} |")
        print(f"| {asked} | ratio | {together[0] / apart[0]:.2f} | {together[1] / apart[1]:.2f} |")


def measure_memory(program, models, minutes, folder):
    print(f"\nmemory of one server over {minutes} minutes with 32 clients\n")
    print("| minute | MiB | requests |\n|---|---|---|")
    script = write_script(folder, models, asks_all=False)
    with Server(program, models) as server:
        requests = 0
        print(f"| 0 | {server.memory_mib():.1f} | 0 |")
        for minute in range(1, minutes + 1):
            begun = time.monotonic()
            rate, *_ = read_wrk(start_wrk(server, script, 32, 60))
            requests += rate * (time.monotonic() - begun)
            print(f"| {minute} | {server.memory_mib():.1f} | {requests:,.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--models", required=True, nargs="+", type=Path)
    parser.add_argument("--clients", default="1,32,256")
    parser.add_argument("--seconds", default=20, type=int)
    parser.add_argument("--minutes", default=0, type=int)
    parser.add_argument("--only", default="clients,processes,memory", help="which tables")
    args = parser.parse_args()
    if not shutil.which("wrk"):
        raise SystemExit("wrk is not installed; Debian's package is `wrk`")
    tables = args.only.split(",")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        if "clients" in tables:
            counts = [int(count) for count in args.clients.split(",")]
            measure_clients(args.program, args.models, counts, args.seconds, folder)
        if "processes" in tables:
            measure_processes(args.program, args.models, args.seconds, folder)
        if "memory" in tables and args.minutes:
            measure_memory(args.program, args.models, args.minutes, folder)


if __name__ == "__main__":
    sys.exit(main())
