"""`sweep`: runs a study through the program `frostline sweep`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Callable, List, Mapping, Optional, Sequence, Union

from . import _program
from ._records import Records, load_records

if TYPE_CHECKING:
    import subprocess


def sweep(
    plan: Union[str, "os.PathLike[str]"],
    out: Union[str, "os.PathLike[str]"],
    *,
    policies: Sequence[str] = (),
    seeds: Sequence[int] = (),
    languages: Sequence[str] = (),
    settings: Optional[Mapping[str, object]] = None,
    options: Sequence[str] = (),
    progress: Optional[Callable[[str], None]] = None,
) -> Records:
    """Runs the cells of a plan (a TOML file, or the name of a built-in plan) into the folder `out`, and loads their records.

    Workers are processes of the program, never of Python. `progress` is called with each line of the program's progress;
    by default lines are printed. Ctrl-C, or "interrupt" in a notebook, stops the workers after their current step and keeps
    their records; the same call continues later. `options` are further options of `frostline sweep`.
    """
    import threading

    arguments = ["sweep", "--plan", os.fspath(plan), "--out", os.fspath(out)]
    for option, values in (("--policies", policies), ("--seeds", [str(seed) for seed in seeds]), ("--lang", languages)):
        if values:
            arguments += [option, ",".join(values)]
    for key, value in (settings or {}).items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        arguments += ["--set", f"{key}={text}"]
    arguments += options
    # The signal is passed on once, so that the program does not take it for an impatient second one.
    process = _program.start(arguments, own_session=os.name != "nt")
    lines: List[bytes] = []
    reader = threading.Thread(target=_follow, args=(process, lines, progress or _print), daemon=True)
    reader.start()
    assert process.stdout is not None
    try:
        process.stdout.read()
        process.wait()
    except BaseException:
        _interrupt(process)
        raise
    finally:
        reader.join(timeout=10)
    if process.returncode not in (0, 1):
        raise _program.failed(arguments, process.returncode, b"\n".join(lines))
    # With code 1 some cells failed: their rows contain the errors.
    return load_records(Path(out))


def _interrupt(process: "subprocess.Popen[bytes]") -> None:
    """Asks the program to stop, as Ctrl-C in a terminal does, and waits for its workers."""
    import signal
    import subprocess

    if process.poll() is None:
        process.send_signal(signal.SIGINT if os.name != "nt" else signal.SIGTERM)
    try:
        process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _follow(process: "subprocess.Popen[bytes]", lines: List[bytes], progress: Callable[[str], None]) -> None:
    assert process.stderr is not None
    show: Optional[Callable[[str], None]] = progress
    for line in process.stderr:
        lines.append(line.rstrip())
        try:
            if show:
                show(line.decode(errors="replace").rstrip())
        except Exception as error:
            # The program must not wait for somebody to read on.
            print(f"progress is not shown any more: {error!r}", file=sys.stderr)
            show = None


def _print(line: str) -> None:
    print(line, file=sys.stderr)
