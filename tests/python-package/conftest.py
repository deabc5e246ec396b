"""Files that the tests and the examples of docs/python.md read, and the count of what was skipped."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path
from typing import Any, List

import pytest

ROOT = Path(__file__).resolve().parents[2]
SKIPS = "FROSTLINE_SKIPS"

GOLD = """\
# sent_id = 1
# text = The ice melts in spring .
1\tThe\tthe\tDET\tDT\tDefinite=Def|PronType=Art\t2\tdet\t2:det\t_
2\tice\tice\tNOUN\tNN\tNumber=Sing\t3\tnsubj\t3:nsubj\t_
3\tmelts\tmelt\tVERB\tVBZ\tNumber=Sing|Tense=Pres\t0\troot\t0:root\t_
4\tin\tin\tADP\tIN\t_\t5\tcase\t5:case\t_
5\tspring\tspring\tNOUN\tNN\tNumber=Sing\t3\tobl\t3:obl:in\t_
6\t.\t.\tPUNCT\t.\t_\t3\tpunct\t3:punct\t_

# sent_id = 2
# text = It melts slowly .
1\tIt\tit\tPRON\tPRP\tNumber=Sing\t2\tnsubj\t2:nsubj\t_
2\tmelts\tmelt\tVERB\tVBZ\tNumber=Sing|Tense=Pres\t0\troot\t0:root\t_
3\tslowly\tslowly\tADV\tRB\t_\t2\tadvmod\t2:advmod\t_
4\t.\t.\tPUNCT\t.\t_\t2\tpunct\t2:punct\t_

# sent_id = 3
# text = Snow doesn't .
1\tSnow\tsnow\tNOUN\tNN\tNumber=Sing\t2\tnsubj\t2:nsubj\t_
2-3\tdoesn't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdoes\tdo\tVERB\tVBZ\tNumber=Sing\t0\troot\t0:root\t_
3\tn't\tnot\tPART\tRB\t_\t2\tadvmod\t2:advmod\t_
4\t.\t.\tPUNCT\t.\t_\t2\tpunct\t2:punct\t_

# sent_id = 4
# text = The frostline thaws the ice .
1\tThe\tthe\tDET\tDT\tDefinite=Def|PronType=Art\t2\tdet\t2:det\t_
2\tfrostline\tfrostline\tNOUN\tNN\tNumber=Sing\t3\tnsubj\t3:nsubj\t_
3\tthaws\tthaw\tVERB\tVBZ\tNumber=Sing|Tense=Pres\t0\troot\t0:root\t_
4\tthe\tthe\tDET\tDT\tDefinite=Def|PronType=Art\t5\tdet\t5:det\t_
5\tice\tice\tNOUN\tNN\tNumber=Sing\t3\tobj\t3:obj\t_
6\t.\t.\tPUNCT\t.\t_\t3\tpunct\t3:punct\t_

"""
TAGGED = GOLD.replace("slowly\tADV", "slowly\tADJ").replace("spring\tspring\tNOUN", "spring\tspring\tVERB")
ENTITIES = """\
# sent_id = 1
1\tNuuk\tB-LOC\t_\t_
2\tis\tO\t_\t_
3\tin\tO\t_\t_
4\tWest\tB-LOC\t_\t_
5\tGreenland\tI-LOC\t_\t_

"""
VOCABULARY = "[PAD] [UNK] [CLS] [SEP] [MASK] the ice melts in spring . it slowly snow does n ' t frost ##line thaws doesn"


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with small files, a tokenizer, and the records of a sweep."""
    folder = tmp_path_factory.mktemp("world")
    (folder / "gold.conllu").write_text(GOLD)
    (folder / "tagged.conllu").write_text(TAGGED)
    (folder / "broken.conllu").write_text("1\tIce\n\n")
    (folder / "entities.iob2").write_text(ENTITIES)
    (folder / "labelled.tsv").write_text("sentence\tlabel\nice is good\t1\nice is cold\t0\n")
    (folder / "tokenizer").mkdir()
    (folder / "tokenizer" / "vocab.txt").write_text("\n".join(VOCABULARY.split()) + "\n")
    (folder / "tokenizer" / "tokenizer_config.json").write_text(
        '{"tokenizer_class": "BertTokenizerFast", "do_lower_case": true}'
    )
    with tarfile.open(ROOT / "docs" / "study" / "table-minilm.tar.xz") as archive:
        archive.extractall(folder, filter="data") if hasattr(tarfile, "data_filter") else archive.extractall(folder)
    (folder / "table-minilm").rename(folder / "study")
    return folder


def shared(*parts: str) -> Path:
    """A file of the data that are not in the repository; without it the test is skipped and counted."""
    named = os.environ.get("FROSTLINE_SHARED")
    path = Path(named or ROOT.parent / "shared", *parts)
    if not path.exists():
        pytest.skip(f"data: there is no {'/'.join(parts)} in FROSTLINE_SHARED")
    return path


def treebank(split: str) -> Path:
    return shared("data", "ud", "UD_English-EWT", f"en_ewt-ud-{split}.conllu")


def pytest_runtest_logreport(report: Any) -> None:
    """Adds each skipped test to the file of skips of `cargo xtask ci`."""
    file = os.environ.get(SKIPS)
    if file and report.skipped and isinstance(report.longrepr, tuple):
        _count(file, report.nodeid, str(report.longrepr[2]))


def pytest_collectreport(report: Any) -> None:
    file = os.environ.get(SKIPS)
    if file and report.skipped:
        longrepr = report.longrepr
        _count(file, report.nodeid, str(longrepr[2] if isinstance(longrepr, tuple) else longrepr))


def _count(file: str, place: str, reason: str) -> None:
    text = reason.replace("Skipped: ", "").replace("\t", " ").replace("\n", " ")
    lack = text.split(":")[0] if text.startswith(("data:", "platform:", "python:", "build:")) else "python"
    with open(file, "a") as stream:
        stream.write(f"{lack}\ttests/python-package/{place.split('::')[0]}\t{place.split('::')[-1]}\t{text}\n")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    skipped: List[Any] = terminalreporter.stats.get("skipped", [])
    if skipped:
        terminalreporter.write_line(f"SKIPPED {len(skipped)} tests: see the reasons with -rs")
