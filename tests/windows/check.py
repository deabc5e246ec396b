"""Runs the program for Windows as a user would: a study, its report, tagging, two processes on one folder, Ctrl-C.

    python3 tests/windows/check.py --program target/dist/x86_64-pc-windows-gnu/frostline.exe [--same-as FILE]

On Linux the program runs under Wine, with a new WINEPREFIX; on Windows, by itself. --same-as is a program of
another platform: its records must have the same results, bit for bit, and its tags must be the same. Exit code 77: Wine is not
installed.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import wine

SKIPPED = 77
HERE = Path(__file__).resolve().parent
# A folder with a space and with a letter outside of ASCII, as a user's name may have.
STUDIES = "Studies of Zoë"
SWEEP = ["sweep", "--lang", "en", "--seeds", "42", "--no-timing", "--set", "data.first=40"]
SHORT = [*SWEEP, "--policies", "first-2", "--set", "train.epochs=1", "--set", "save.model=true"]
WORDS = "1\tThe\t_\t_\t_\t_\t_\t_\t_\t_\n2\tna\u00efve\t_\t_\t_\t_\t_\t_\t_\t_\n3\tsleeps\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
LIMIT_S = 300


class Failed(Exception):
    """A check that does not hold."""


def check(holds, what, found=""):
    print(f"{'ok  ' if holds else 'FAIL'} {what} {'' if holds else found}".rstrip(), flush=True)
    if not holds:
        raise Failed(what)


class Desk:
    """A program, what starts it, and the folder in which it runs."""

    def __init__(self, program, runner, folder, environment):
        self.command = [*runner, str(program.resolve())]
        self.folder = folder
        self.environment = environment

    def start(self, *arguments, **settings):
        settings = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | settings
        return subprocess.Popen([*self.command, *arguments], cwd=self.folder, env=self.environment, **settings)

    def run(self, *arguments, code=0):
        """What a command prints, without the ends of lines of Windows."""
        process = self.start(*arguments)
        out, error = process.communicate(timeout=LIMIT_S)
        text = (out + error).decode("utf-8", "replace").replace("\r\n", "\n")
        check(process.returncode == code, " ".join(arguments[:1]) + f" ends with code {code}", f"{process.returncode}\n{text}")
        return out.decode("utf-8").replace("\r\n", "\n")


def records(folder):
    return [json.loads(file.read_text("utf-8")) for file in sorted((folder / "cells").glob("*/record.json"))]


def results(folder):
    """The part of the records that is the same on every machine."""
    return [record["result"] for record in records(folder)]


def the_model(folder):
    (cell,) = (folder / "cells").iterdir()
    return cell


def study(desk, other):
    """One cell from plan to report, with the results of another platform."""
    out = Path(STUDIES) / "small"
    desk.run(*SHORT, "--out", str(out))
    folder = desk.folder / out
    (record,) = records(folder)
    check(record["result"] is not None, "the cell has a result")
    page = (folder / "report" / "index.html").read_bytes()
    check(len(page) > 10_000, "the report has a page", len(page))
    (folder / "report" / "index.html").unlink()
    desk.run("report", str(out))
    check((folder / "report" / "index.html").read_bytes() == page, "`report` writes the same page again")
    desk.run("audit", str(the_model(folder).relative_to(desk.folder)))
    if other is not None:
        other.run(*SHORT, "--out", "other")
        check(results(other.folder / "other") == results(folder), "the results have the same bits as on the other platform")
    return folder


def tag(desk, other, folder):
    words = desk.folder / "words.conllu"
    words.write_text(WORDS, "utf-8", newline="\n")
    cell = the_model(folder).relative_to(desk.folder)
    tagged = desk.run("tag", "--run", str(cell), "--input", "words.conllu")
    tags = [line.split("\t")[3] for line in tagged.splitlines() if line and not line.startswith("#")]
    check(len(tags) == 3 and "_" not in tags, "`tag` gives each word a tag", tagged)
    check("na\u00efve" in tagged, "letters outside of ASCII are kept", tagged)
    if other is not None:
        same = other.run("tag", "--run", str(the_model(other.folder / "other")), "--input", str(words))
        check(same == tagged, "the other platform gives the same output", same)


def two_at_once(desk):
    """Two processes share the cells of a folder: each is run once, and both end well."""
    command = [*SWEEP, "--policies", "first-2,head-only,none", "--set", "train.epochs=1", "--out", "shared"]
    processes = [desk.start(*command) for _ in range(2)]
    ends = [process.communicate(timeout=LIMIT_S) for process in processes]
    text = b"\n".join(part for end in ends for part in end).decode("utf-8", "replace")
    check([process.returncode for process in processes] == [0, 0], "two sweeps into one folder end well", text)
    folder = desk.folder / "shared"
    check(len(records(folder)) == 3 and all(results(folder)), "every cell is recorded", records(folder))
    left = [str(path) for path in folder.rglob("*") if path.name.endswith((".part", ".stale"))]
    check(not left, "no unfinished file is left", left)


def started_cells(folder):
    return list((folder / "cells").glob("*/metrics.jsonl")) if (folder / "cells").is_dir() else []


def stop_and_resume(desk, on_windows):
    """Ctrl-C keeps what was done, and the same command goes on from there with the same result."""
    long = [*SWEEP, "--policies", "none", "--set", "train.epochs=8", "--out"]
    process, press = start_in_terminal(desk, [*long, "stopped"], on_windows)
    deadline = time.monotonic() + LIMIT_S
    while not any(file.stat().st_size for file in started_cells(desk.folder / "stopped")):
        if process.poll() is not None or time.monotonic() > deadline:
            check(False, "the sweep runs until Ctrl-C", process.poll())
        time.sleep(0.1)
    press()
    code = process.wait(timeout=60)
    check(code == 130, "Ctrl-C ends a sweep with code 130", code)
    check(not records(desk.folder / "stopped"), "the cell is not recorded yet")
    check(any((desk.folder / "stopped").rglob("checkpoint.safetensors")), "it has a checkpoint")
    desk.run(*long, "stopped")
    desk.run(*long, "whole")
    check(results(desk.folder / "stopped") == results(desk.folder / "whole"), "a resumed cell has the same bits as one in a go")


def start_in_terminal(desk, arguments, on_windows):
    """A process in a console of its own, and what presses Ctrl-C there."""
    if on_windows:
        import signal

        process = desk.start(*arguments, creationflags=subprocess.CREATE_NEW_PROCESS_GROUP, stdout=None, stderr=None)
        return process, lambda: process.send_signal(signal.CTRL_BREAK_EVENT)
    import pty

    # Wine makes a console for a process in a terminal, but does not pass on its Ctrl-C.
    helper, flag = desk.folder / "press_ctrl_c.exe", desk.folder / "press"
    subprocess.run([wine.COMPILER, "-municode", "-O1", "-o", helper, HERE / "press_ctrl_c.c"], check=True)
    console = Desk(helper, desk.command[:-1], desk.folder, desk.environment)
    ours, theirs = pty.openpty()
    words = [str(flag), desk.command[-1], *arguments]
    process = console.start(*words, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    threading.Thread(target=drain, args=[ours], daemon=True).start()
    return process, flag.touch


def drain(terminal):
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:
        pass  # The last process has closed it.


def run_all(given, folder):
    on_windows = sys.platform == "win32"
    (folder / "desk" / STUDIES).mkdir(parents=True)
    (folder / "other").mkdir()
    program, runner, environment = given.program, [], dict(os.environ)
    if not on_windows and program.suffix == ".exe":
        runner, environment = ["wine"], wine.environment(folder / "wine")
        wine.prepare(environment)
    desk = Desk(program, runner, folder / "desk", environment)
    other = given.same_as and Desk(given.same_as, [], folder / "other", dict(os.environ))
    begun = time.monotonic()
    print(desk.run("--version").strip(), f"({time.monotonic() - begun:.0f} s for the first start)")
    desk.run("doctor")
    parts = given.only.split(",")
    if "study" in parts:
        tag(desk, other, study(desk, other))
    if "two-sweeps" in parts:
        two_at_once(desk)
    if "ctrl-c" in parts:
        stop_and_resume(desk, on_windows)
    print(f"{time.monotonic() - begun:.0f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True, type=Path)
    parser.add_argument("--same-as", type=Path)
    parser.add_argument("--keep", type=Path, help="a new folder for everything, which is not removed")
    parser.add_argument("--only", default="study,two-sweeps,ctrl-c", help="which parts")
    given = parser.parse_args()
    if sys.platform != "win32" and shutil.which("wine") is None:
        print("Wine is not installed; Debian's packages are `wine` and `wine64`")
        sys.exit(SKIPPED)
    if given.keep is not None:
        given.keep.mkdir(parents=True)
        run_all(given, given.keep.resolve())
        return
    with tempfile.TemporaryDirectory(prefix="frostline-windows-", ignore_cleanup_errors=True) as folder:
        run_all(given, Path(folder))


if __name__ == "__main__":
    try:
        main()
    except Failed as failed:
        sys.exit(f"failed: {failed}")
