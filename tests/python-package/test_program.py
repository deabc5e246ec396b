"""What needs the program: it is started as a process."""

from __future__ import annotations

import os
import pickle
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import List

import pytest

import frostline

NO_PROGRAM = "build: FROSTLINE_PROGRAM names no program, so nothing is tagged or swept"
has_program = pytest.mark.skipif(not os.environ.get("FROSTLINE_PROGRAM"), reason=NO_PROGRAM)


def fake(folder: Path, code: str) -> Path:
    """A program that does what a test needs."""
    path = folder / "frostline"
    path.write_text(f"#!{sys.executable}\nimport sys\n{code}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_missing_program_is_an_error_with_advice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FROSTLINE_PROGRAM", str(tmp_path / "nothing"))
    with pytest.raises(frostline.ProgramError, match="which is no file") as found:
        frostline.find_program()
    assert "give the path" in found.value.advice
    monkeypatch.delenv("FROSTLINE_PROGRAM")
    # The program may be installed next to this Python.
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path / name))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(frostline.ProgramError, match="is not installed"):
        frostline.Tagger.load(tmp_path)
    on_path = fake(tmp_path, "")
    assert frostline.find_program() == on_path


def test_a_program_that_fails_is_an_error_with_its_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FROSTLINE_PROGRAM", str(fake(tmp_path, "sys.exit('error: no such model')")))
    with pytest.raises(frostline.ProgramError, match="`frostline tag` ended with code 1: error: no such model"):
        frostline.Tagger.load(tmp_path).tag([["Ice"]])
    monkeypatch.setenv("FROSTLINE_PROGRAM", str(fake(tmp_path, "print('error: no plan', file=sys.stderr); sys.exit(2)")))
    lines: List[str] = []
    with pytest.raises(frostline.ProgramError, match="`frostline sweep` ended with code 2: error: no plan"):
        frostline.sweep("nothing", tmp_path / "out", progress=lines.append)
    assert lines == ["error: no plan"]


def test_words_are_checked_before_they_are_tagged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FROSTLINE_PROGRAM", str(fake(tmp_path, "")))
    tagger = frostline.Tagger.load(tmp_path)
    for words, text in (([["a\tb"]], "without tabs"), ([[]], "has no words"), (["ice"], "expected a list of words"), ([[" "]], "word 1")):
        with pytest.raises(frostline.SettingError, match=text):
            tagger.tag(words)
    with pytest.raises(frostline.SettingError, match="there is no such folder"):
        frostline.Tagger.load(tmp_path / "nothing")


@pytest.mark.skipif(os.name == "nt", reason="platform: Windows has no SIGINT for another process")
def test_an_interrupt_stops_the_program_and_waits_for_it(tmp_path: Path) -> None:
    code = """
import signal, time, pathlib
def stop(*_):
    pathlib.Path("stopped").write_text("after its step")
    sys.exit(130)
signal.signal(signal.SIGINT, stop)
print("working", file=sys.stderr, flush=True)
time.sleep(60)
"""
    program = fake(tmp_path, code)
    script = "import frostline; frostline.sweep('demo', 'out', progress=lambda line: print(line, flush=True))"
    environment = {**os.environ, "FROSTLINE_PROGRAM": str(program)}
    # A session of its own: only Python gets the signal, as in a notebook.
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stdout.readline() == b"working\n"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode != 0 and (tmp_path / "stopped").read_text() == "after its step"


def check_that_it_stays(tagger: frostline.Tagger, sentences: List[List[str]], tags: List[List[str]]) -> None:
    """One process answers many calls, of any size and from several threads, and another one comes after an error."""
    process = tagger._running["conllu"]._process
    many = sentences * 2000
    assert tagger.tag(many) == tags * 2000
    assert tagger.tag([]) == [] and tagger.tag("") == [] and tagger.tag(" \n\n") == []
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(tagger.tag, [sentences] * 8)) == [tags] * 8
    assert tagger._running["conllu"]._process is process and process.poll() is None
    assert pickle.loads(pickle.dumps(tagger)).tag(sentences) == tags
    process.kill()
    with pytest.raises(frostline.ProgramError, match="ended with code"):
        tagger.tag(sentences)
    with tagger:
        assert tagger.tag(sentences) == tags
        process = tagger._running["conllu"]._process
    assert process.poll() is not None and not tagger._running
    assert tagger.tag(sentences) == tags
    tagger.close()


@has_program
def test_a_sweep_and_its_tagger(tmp_path: Path) -> None:
    lines: List[str] = []
    records = frostline.sweep(
        "demo", tmp_path / "study", policies=["none", "first-2"], seeds=[42], languages=["en"],
        settings={"train.epochs": 1, "save.model": True}, options=["--no-timing"], progress=lines.append,
    )
    assert len(records) == 2 and lines
    cells = sorted((tmp_path / "study" / "cells").iterdir())
    tagger = frostline.Tagger.load(cells[0])
    sentences = [["The", "ice", "melts", "."], ["Snow", "falls", "."]]
    tags = tagger.tag(sentences)
    assert [len(sentence) for sentence in tags] == [4, 3] and all(tag.isupper() for sentence in tags for tag in sentence)
    text = tagger.tag("The ice melts.")
    assert [word for word, _ in text[0]] == ["The", "ice", "melts", "."]
    assert [tag for _, tag in text[0]] == tags[0]
    check_that_it_stays(tagger, sentences, tags)
    with pytest.raises(frostline.ProgramError, match="ended with code"):
        frostline.sweep("no-such-plan", tmp_path / "other", progress=lines.append)
