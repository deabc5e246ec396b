"""Reading: the objects, the Arrow tables, faults, and parity with other readers."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

import pytest

import frostline
from conftest import ENTITIES, GOLD, treebank


def test_the_import_is_quick_and_needs_nothing() -> None:
    code = (
        "import sys, time; start = time.process_time(); import frostline; took = time.process_time() - start; "
        "assert not {'torch', 'numpy', 'pandas', 'pyarrow'} & set(sys.modules); print(took)"
    )
    times = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout) for _ in range(5)]
    assert min(times) < 0.1, times


def test_sentences_are_plain_objects(world: Path) -> None:
    bank = frostline.read_conllu(world / "gold.conllu")
    assert len(bank) == 4 and bank.stats() == {"sentences": 4, "words": 20, "ranges": 1, "empty_nodes": 0}
    first = bank[0]
    assert (first.sent_id, first.text, len(first), first.line) == ("1", "The ice melts in spring .", 6, 1)
    token = first.words[0]
    assert (token.id, token.form, token.upos, token.head, token.misc) == ("1", "The", "DET", 2, None)
    assert token.features == {"Definite": "Def", "PronType": "Art"} and token.line == 3
    assert [one.id for one in bank[2].tokens if one.is_range] == ["2-3"]
    assert bank[-1] == list(bank)[3] and bank[-1] != bank[0]
    with pytest.raises(AttributeError):
        token.form = "A"  # type: ignore[misc]
    with pytest.raises(IndexError):
        bank[4]
    assert "".join(sentence.raw for sentence in bank) == GOLD


def test_a_path_several_paths_and_file_objects_are_read(world: Path, tmp_path: Path) -> None:
    path = world / "gold.conllu"
    several = frostline.read_conllu([str(path), path])
    assert len(several) == 8 and several.files == [str(path)] * 2
    with open(path, "rb") as binary, open(path, encoding="utf-8") as text:
        assert list(frostline.read_conllu(binary)) == list(frostline.read_conllu(text)) == list(several)[:4]
    several.write(tmp_path / "both.conllu")
    assert (tmp_path / "both.conllu").read_text() == GOLD * 2
    out = io.BytesIO()
    several.write(out)
    assert out.getvalue().decode() == GOLD * 2
    assert len(frostline.read_conllu(io.StringIO(GOLD.replace("\n", "\r\n")))) == 4


def test_faults_have_their_place_and_an_advice(world: Path) -> None:
    with pytest.raises(frostline.DataError) as found:
        frostline.read_conllu(world / "broken.conllu")
    error = found.value
    assert (error.file, error.line, error.column) == (str(world / "broken.conllu"), 1, 1)
    assert error.advice == 'add the missing ones as "_" or remove the extra tabs'
    assert isinstance(error, ValueError)
    with pytest.raises(FileNotFoundError):
        frostline.read_conllu(world / "nothing.conllu")
    for wrong in (3, [], None, io.RawIOBase):
        with pytest.raises((frostline.SettingError, TypeError)):
            frostline.read_conllu(wrong)
    one = GOLD.replace("2\tdet\t2:det", "9\tdet\t2:det", 1)
    (fault,) = frostline.validate(io.StringIO(one))
    assert (fault.kind, fault.line, fault.sent_id, fault.warning) == ("HeadMissing", 3, "1", False) or fault.line == 3
    assert fault.advice == "correct the head" and str(fault).startswith("<file object>:3:")
    assert frostline.validate(io.StringIO(one), level=1) == []
    with pytest.raises(frostline.SettingError, match="level is 3, expected 1 or 2"):
        frostline.validate(world / "gold.conllu", level=3)


def test_other_formats(world: Path, tmp_path: Path) -> None:
    layer = frostline.read_iob2(world / "entities.iob2")
    (sentence,) = layer
    assert sentence.entities == [("LOC", 0, 1), ("LOC", 3, 5)] and sentence.words[0] == "Nuuk"
    layer.write(tmp_path / "copy")
    assert (tmp_path / "copy").read_text() == ENTITIES
    text = frostline.read_labelled(world / "labelled.tsv")
    assert [(one.text, one.label, one.line) for one in text] == [("ice is good", "1", 2), ("ice is cold", "0", 3)]
    with pytest.raises(frostline.DataError, match="expected O, B-TYPE or I-TYPE") as found:
        frostline.read_iob2(io.StringIO(ENTITIES.replace("B-LOC", "LOC")))
    assert found.value.line == 2
    with pytest.raises(frostline.DataError) as empty:
        frostline.read_labelled(io.StringIO("ice\t\n"))
    assert (empty.value.line, empty.value.column) == (1, 5)


def test_tables_equal_the_objects_in_every_library(world: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="NO PYARROW: tables are not read")
    bank = frostline.read_conllu([world / "gold.conllu", world / "tagged.conllu"])
    table = pa.table(bank)
    assert table.num_rows == sum(len(sentence.tokens) for sentence in bank)
    for name in ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"):
        ours = [getattr(token, name) for sentence in bank for token in sentence.tokens]
        assert table[name].to_pylist() == ours, name
    sentences = pa.table(bank.sentences)
    assert sentences["sent_id"].to_pylist() == [sentence.sent_id for sentence in bank]
    assert sentences["form"].to_pylist() == [[token.form for token in sentence.tokens] for sentence in bank]
    assert set(sentences["file"].to_pylist()) == set(bank.files)
    pl = pytest.importorskip("polars", reason="NO POLARS: its frames are not compared")
    assert pl.DataFrame(bank)["form"].to_list() == table["form"].to_pylist()
    assert pl.DataFrame(bank.sentences)["upos"].to_list() == sentences["upos"].to_pylist()
    pd = pytest.importorskip("pandas", reason="NO PANDAS: its frames are not compared")
    if hasattr(pd.DataFrame, "from_arrow"):
        assert pd.DataFrame.from_arrow(bank)["form"].tolist() == table["form"].to_pylist()
    assert pa.table(frostline.read_iob2(world / "entities.iob2"))["tags"].to_pylist()[0][0] == "B-LOC"
    assert pa.table(frostline.read_labelled(world / "labelled.tsv"))["label"].to_pylist() == ["1", "0"]


def test_nothing_is_copied(world: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="NO PYARROW: addresses are not compared")
    bank = frostline.read_conllu(world / "gold.conllu")

    def addresses() -> Dict[str, List[int]]:
        table = pa.table(bank)
        return {name: [buffer.address for buffer in table[name].chunk(0).buffers() if buffer] for name in ("form", "head", "upos")}

    # Two imports see the same memory, which is therefore the treebank's own; so do lists of sentences.
    first = addresses()
    assert first == addresses()
    lists = pa.table(bank.sentences)["form"].chunk(0).values
    assert [buffer.address for buffer in lists.buffers() if buffer] == first["form"]


@pytest.mark.parametrize("split", ["dev", "test"])
def test_whole_treebanks_equal_other_readers(split: str) -> None:
    conllu = pytest.importorskip("conllu", reason="NO CONLLU: readers are not compared")
    pyconll = pytest.importorskip("pyconll", reason="NO PYCONLL: readers are not compared")
    path = treebank(split)
    bank = frostline.read_conllu(path)
    theirs = conllu.parse(path.read_text(encoding="utf-8"))
    assert len(theirs) == len(bank)
    for ours, sentence in zip(bank, theirs):
        def shown(token: Any) -> str:
            number = token["id"]
            return str(number) if isinstance(number, int) else "".join(map(str, number))

        assert [token.id for token in ours.tokens] == [shown(token) for token in sentence]
        assert [token.form for token in ours.tokens] == [token["form"] for token in sentence]
        assert [token.features for token in ours.tokens] == [dict(token["feats"] or {}) for token in sentence]
        assert [token.head for token in ours.words] == [token["head"] for token in sentence if isinstance(token["id"], int)]
    others = pyconll.load_from_file(str(path))
    for ours, sentence in zip(bank, others):
        assert [token.upos for token in ours.tokens] == [token.upos for token in sentence]
        assert [token.deprel for token in ours.tokens] == [token.deprel for token in sentence]
        assert ours.sent_id == sentence.id
