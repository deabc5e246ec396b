"""Starts a program for Windows under Wine, quietly and without a display: `python3 wine.py PROGRAM ARGUMENT...`.

Without a program it only prepares the folder that Wine keeps its files in, WINEPREFIX or else target/windows/wine.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PREFIX = HERE.parents[1] / "target" / "windows" / "wine"
COMPILER = "x86_64-w64-mingw32-gcc"


def environment(prefix=None):
    """The variables of a Wine without windows and messages, which offers to install nothing."""
    prefix = prefix or os.environ.get("WINEPREFIX") or PREFIX
    mine = {"WINEPREFIX": str(prefix), "WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree,mshtml=", "DISPLAY": ""}
    return os.environ | mine


def prepare(variables):
    """Makes the folder, and adds the library with the system's random numbers, which Wine before 9 lacks."""
    prefix = Path(variables["WINEPREFIX"])
    system = prefix / "drive_c" / "windows" / "system32"
    library = system / "bcryptprimitives.dll"
    if library.is_file():
        return
    prefix.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["wine", "wineboot", "--init"], env=variables, check=True, capture_output=True)
    if library.is_file():
        return
    if shutil.which(COMPILER) is None:
        sys.exit(f"{COMPILER} is not here (Debian: gcc-mingw-w64-x86-64); without it Wine before 9 starts no program of Rust")
    new = system / f"bcryptprimitives.{os.getpid()}"
    subprocess.run([COMPILER, "-shared", "-O1", "-o", new, HERE / "process_prng.c", "-ladvapi32"], check=True)
    new.rename(library)


def main():
    variables = environment()
    prepare(variables)
    if sys.argv[1:]:
        os.execvpe("wine", ["wine", *sys.argv[1:]], variables)


if __name__ == "__main__":
    main()
