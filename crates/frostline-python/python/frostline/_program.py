"""Where the program `frostline` is, which trains and tags. It is a process of its own, never a part of Python."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, List, Union

from ._errors import ProgramError

if TYPE_CHECKING:
    import subprocess

VARIABLE = "FROSTLINE_PROGRAM"


def find_program() -> Path:
    """The program: `FROSTLINE_PROGRAM`, else one that is installed next to this Python, else one on the search path."""
    import shutil
    import sysconfig

    name = "frostline.exe" if os.name == "nt" else "frostline"
    named = os.environ.get(VARIABLE)
    if named:
        path = Path(named)
        if path.is_file():
            return path
        raise ProgramError(f"{VARIABLE} is {named!r}, which is no file", "give the path of the program `frostline`")
    folders = [sysconfig.get_path("scripts"), str(Path(sys.executable).parent)]
    for folder in folders:
        if folder and (Path(folder) / name).is_file():
            return Path(folder) / name
    found = shutil.which("frostline")
    if found:
        return Path(found)
    raise ProgramError(
        "the program `frostline` is not installed",
        f"run `pip install frostline-cli`, or name the program in {VARIABLE}",
    )


def start(
    arguments: List[str],
    *,
    own_session: bool = False,
    takes_input: bool = False,
    errors: Union[IO[bytes], None] = None,
) -> "subprocess.Popen[bytes]":
    """Starts the program with pipes for its output, or with a file for its errors, and with a pipe for its input if it takes any.

    In a session of its own, Ctrl-C in a terminal does not reach it.
    """
    import subprocess

    command = [str(find_program()), *arguments]
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE if takes_input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors if errors is not None else subprocess.PIPE,
            start_new_session=own_session,
        )
    except OSError as error:
        raise ProgramError(f"{command[0]} cannot be started: {error}", "reinstall the program") from error


def failed(arguments: List[str], code: int, printed: bytes) -> ProgramError:
    """The error of a program that ended with this code."""
    lines = [line for line in printed.decode(errors="replace").splitlines() if line.strip()]
    reason = "\n".join(lines[-12:]) or "it printed nothing"
    return ProgramError(f"`frostline {' '.join(arguments[:1])}` ended with code {code}: {reason}")
