"""The examples of docs/python.md, section by section, run as doctests."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest

from conftest import ROOT

PAGE = ROOT / "docs" / "python.md"
NEEDS = {"Reading": ["pyarrow"], "Aligning": ["numpy"], "Freezing": ["torch", "transformers"],
         "Auditing a training": ["torch", "transformers"], "Reading a sweep into pandas": ["pandas", "pyarrow"]}


def sections() -> List[Tuple[str, str]]:
    parts = re.split(r"^## (.*)$", PAGE.read_text(), flags=re.M)
    return list(zip(parts[1::2], parts[2::2]))


def test_the_page_has_its_sections() -> None:
    names = [name for name, _ in sections()]
    assert names == ["Reading", "Aligning", "Scoring", "Freezing", "Auditing a training", "Reading a sweep into pandas"]


def test_the_examples_print_what_the_page_shows(world: Path) -> None:
    known: Dict[str, Any] = {}
    before, lacking = os.getcwd(), []
    os.chdir(world)
    try:
        for name, text in sections():
            lacks = [package for package in NEEDS.get(name, []) if importlib.util.find_spec(package) is None]
            if lacks:
                lacking.append(f"{name} needs {' and '.join(lacks)}")
                continue
            # The end of a block ends the output of its last example.
            code = "\n".join(re.findall(r"^```pycon\n(.*?)^```", text, flags=re.M | re.S))
            example = doctest.DocTestParser().get_doctest(code, known, name, str(PAGE), 0)
            assert example.examples, name
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            printed: List[str] = []
            runner.run(example, out=printed.append, clear_globs=False)
            known = {**known, **example.globs}
            assert not printed, "".join(printed)
    finally:
        os.chdir(before)
    if lacking:
        pytest.skip("python: " + "; ".join(lacking))
