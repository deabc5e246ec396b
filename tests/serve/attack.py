"""Attacks `frostline serve` from this machine, and prints what each attack cost and whether others were still answered.

    python3 tests/serve/attack.py --program target/release/frostline [--folder SWEEP] [--only slow-heads,resets]

Each attack has a server of its own, which may open 1,024 files. Memory is read from /proc, so this runs on Linux only.
`during` is the longest time for which an ordinary reader waited while the attack went on, `-` if it was not answered.
The exit code is 1 if a server ended, or if a reader was not answered during or after an attack.
"""

import argparse
import json
import multiprocessing
import re
import resource
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

PATIENCE_S = 10
FILES = 1024


class Server:
    """A server of a folder, with what an ordinary reader needs to ask it."""

    def __init__(self, program, folder):
        self.process = subprocess.Popen(
            [program, "serve", folder, "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES)),
        )
        line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/(?:\?token=(\w+))?", line)
        if not found:
            raise SystemExit(f"the server did not print its address: {line!r}")
        self.port = int(found[1])
        self.token = f"Authorization: Bearer {found[2]}\r\n" if found[2] else ""

    def connect(self, timeout=PATIENCE_S):
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def head(self, path="/status.json", more=""):
        return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{self.token}{more}\r\n".encode()

    def get(self, path="/status.json"):
        """The body of an answer with the status 200, as an ordinary reader gets it."""
        with self.connect() as stream:
            stream.sendall(self.head(path, "Connection: close\r\n"))
            answer = b""
            while part := stream.recv(1 << 16):
                answer += part
        if not answer.startswith(b"HTTP/1.1 200"):
            raise OSError(answer[:80])
        return answer.split(b"\r\n\r\n", 1)[1]

    def wait_s(self):
        """How long a reader waits; None if there is no answer."""
        begun = time.monotonic()
        try:
            self.get()
        except OSError:
            return None
        return time.monotonic() - begun

    def memory(self, name):
        """MiB."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
        return int(found[1]) / 1024 if found else None

    def is_alive(self):
        return self.process.poll() is None

    def end(self):
        self.process.kill()
        self.process.wait()


def several(count, what, server):
    """Results of `what(server)` for so many connections; one that the server refuses is left out."""
    kept = []
    for _ in range(count):
        try:
            kept.append(what(server))
        except OSError:
            pass
    return kept


def opened(text):
    def connection(server):
        stream = server.connect(2)
        stream.sendall(text(server))
        return stream
    return connection


def drip(streams, byte, for_s, pause_s=1.0):
    """Sends a byte on each stream every now and then."""
    end = time.monotonic() + for_s
    while time.monotonic() < end:
        for stream in streams:
            try:
                stream.send(byte)
            except OSError:
                pass
        time.sleep(pause_s)


def idle(server):
    """1,000 connections that send nothing."""
    streams = several(1000, lambda server: server.connect(2), server)
    time.sleep(15)
    return streams


def slow_heads(server):
    """200 heads of which a byte comes each second."""
    streams = several(200, opened(lambda server: b"GET / HTTP/1.1\r\nX: "), server)
    drip(streams, b"x", 20)
    return streams


def slow_bodies(server):
    """50 requests whose bodies come byte by byte."""
    body = lambda server: server.head(more="Content-Length: 100000\r\n")
    streams = several(50, opened(body), server)
    drip(streams, b"x", 20)
    return streams


def slow_readers(server):
    """50 readers that ask for the report 20 times each, with small windows, and take nothing."""
    def reader(server):
        stream = socket.socket()
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stream.settimeout(2)
        stream.connect(("127.0.0.1", server.port))
        stream.sendall(server.head("/report/index.html") * 20)
        return stream
    streams = several(50, reader, server)
    time.sleep(20)
    return streams


def huge_length(server):
    """A Content-Length of 2^64-1, then of 2^62, 2^40 and 2^36, ten times each, and the connection is closed."""
    for length in [2**64 - 1, 2**62, 2**40, 2**36]:
        for stream in several(10, opened(lambda server: server.head(more=f"Content-Length: {length}\r\n")), server):
            stream.close()
    time.sleep(1)


def send_until_closed(stream, first, piece, times):
    """Sends bytes until all are sent or the server closes the connection."""
    try:
        stream.sendall(first)
        for _ in range(times):
            stream.sendall(piece)
    except OSError:
        pass


def huge_head(server):
    """A head of 300 MB."""
    stream = server.connect()
    line = b"X-Filler: " + b"x" * 65_000 + b"\r\n"
    send_until_closed(stream, b"GET / HTTP/1.1\r\n", line, 300 * 1_000_000 // len(line))
    time.sleep(1)
    return [stream]


def pipelined(server):
    """200,000 requests on one connection, of which no answer is read."""
    stream = server.connect(5)
    send_until_closed(stream, b"", server.head() * 1000, 200)
    time.sleep(2)
    return [stream]


def resets(server):
    """3,000 connections that are reset while they are answered."""
    def reset(server):
        stream = server.connect(2)
        stream.sendall(server.head("/report/index.html"))
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        stream.close()
    several(3000, reset, server)


def ask_quickly(port, head, for_s, done):
    """Asks in batches on connections that stay, and counts the answers."""
    batch, count, end = 50, 0, time.monotonic() + for_s
    stream = None
    while time.monotonic() < end:
        try:
            if stream is None:
                stream = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
                stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stream.sendall(head * batch)
            left = batch
            while left > 0:
                part = stream.recv(1 << 18)
                if not part:
                    raise OSError
                left -= part.count(b"HTTP/1.1 200")
            count += batch
        except OSError:
            stream = None
    done.put(count)


def rush(server, clients=2):
    """As many requests as two processes can send, for a minute unless asked otherwise."""
    done, for_s = multiprocessing.Queue(), server.rush_s
    arguments = (server.port, server.head(), for_s, done)
    processes = [multiprocessing.Process(target=ask_quickly, args=arguments) for _ in range(clients)]
    for process in processes:
        process.start()
    count = sum(done.get() for _ in processes)
    for process in processes:
        process.join()
    return f"{count / for_s:,.0f} requests a second"


def changes(server):
    """A record goes, comes back, and is replaced by text that is no record."""
    record = next(Path(server.folder).glob("cells/*/record.json"))
    text = record.read_text()

    def counts():
        # A look at the folder serves for a second.
        time.sleep(1.3)
        found = json.loads(server.get())["counts"]
        return found["done"], found["failed"], found["waiting"]

    states = [counts()]
    record.unlink()
    states.append(counts())
    record.write_text(text)
    states.append(counts())
    record.write_text("no record")
    states.append(counts())
    record.write_text(text)
    first, gone, back, damaged = states
    # Of a cell that is not done, the claim decides whether it waits or was left.
    right = back == first and all(state[0] == first[0] - 1 for state in [gone, damaged])
    return "shown as they are" if right else f"done, failed, waiting: {states}"


ATTACKS = {
    "idle": idle, "slow-heads": slow_heads, "slow-bodies": slow_bodies, "slow-readers": slow_readers,
    "huge-length": huge_length, "huge-head": huge_head, "pipelined": pipelined, "resets": resets, "rush": rush,
    "changes": changes,
}


def attacked(program, folder, attack, rush_s):
    """One row of the table, and whether all was well."""
    server = Server(program, folder)
    server.folder, server.rush_s = folder, rush_s
    try:
        server.get("/report/index.html")
        before = server.memory("VmRSS")
        waits, over = [], threading.Event()

        def read_on():
            while not over.is_set():
                waits.append(server.wait_s())
                over.wait(0.5)

        reader = threading.Thread(target=read_on)
        reader.start()
        try:
            found = attack(server)
        except OSError as error:
            found = f"the attack ended: {error!r}"
        over.set()
        reader.join()
        note = found if isinstance(found, str) else ""
        alive = server.is_alive()
        peak = server.memory("VmHWM") if alive else None
        for stream in found if isinstance(found, list) else []:
            stream.close()
        after_s = server.wait_s() if alive else None
        after = server.memory("VmRSS") if server.is_alive() else None
    finally:
        server.end()
    during = None if None in waits or not waits else max(waits)
    shown = lambda value, unit: "-" if value is None else f"{value:.1f} {unit}"
    if not alive:
        note = f"the server ended with {server.process.returncode}"
    row = [shown(before, "MiB"), shown(peak, "MiB"), shown(after, "MiB"), shown(during, "s"), shown(after_s, "s"), note]
    is_wrong = note.startswith("done,") or note.startswith("the attack ended")
    return row, during is not None and after_s is not None and not is_wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True, type=Path)
    parser.add_argument("--folder", type=Path, help="a sweep's folder with records; copied first. Otherwise one is made")
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(ATTACKS))
    parser.add_argument("--rush-s", type=float, default=60, help="seconds of the attack `rush`")
    given = parser.parse_args()
    if unknown := [name for name in given.only if name not in ATTACKS]:
        parser.error(f"no such attack: {', '.join(unknown)}; there are {', '.join(ATTACKS)}")
    program = given.program.resolve()
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    with tempfile.TemporaryDirectory(prefix="frostline-serve-") as temporary:
        folder = Path(temporary) / "sweep"
        if given.folder:
            shutil.copytree(given.folder, folder)
        else:
            sweep = ["--lang", "en", "--policies", "none,first-4", "--seeds", "42", "--set", "train.epochs=1"]
            subprocess.run([program, "sweep", *sweep, "--no-timing", "--quiet", "--out", folder], check=True)
        print("| attack | before | peak | after | during | afterwards | |\n|---|---|---|---|---|---|---|")
        failed = 0
        for name in given.only:
            row, well = attacked(program, folder, ATTACKS[name], given.rush_s)
            failed += not well
            print(f"| {name} | {' | '.join(row)} |", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
