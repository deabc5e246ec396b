"""Aligning and scoring: equal to Hugging Face, to the official script, to the definition of entities."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import List, Literal, Set, Tuple

import pytest

import frostline
from conftest import GOLD, TAGGED, shared, treebank


def test_an_alignment(world: Path) -> None:
    aligner = frostline.Aligner.from_pretrained(world / "tokenizer", max_length=6)
    aligned = aligner.align(["The", "frostline", "\u200b", "thaws", "slowly"])
    assert aligner.tokens(aligned.ids) == ["[CLS]", "the", "frost", "##line", "thaws", "[SEP]"]
    assert aligned.word_ids == [None, 0, 1, 1, 3, None]
    assert (aligned.vanished, aligned.truncated) == ([2], [4])
    assert aligned.labels([5, 6, 7, 8, 9]) == [-100, 5, 6, -100, 8, -100]
    with pytest.raises(IndexError, match="give one label for each word"):
        aligned.labels([1])
    windows = frostline.Aligner.from_pretrained(world / "tokenizer", max_length=4, stride=1).windows(["ice"] * 5)
    assert [len(window) for window in windows] == [4, 4, 4, 4]
    with pytest.raises(frostline.SettingError, match="neither tokenizer.json nor vocab.txt") as found:
        frostline.Aligner.from_pretrained(world)
    assert found.value.advice == "give the folder of a pretrained encoder"
    with pytest.raises(frostline.SettingError, match="first, last or all"):
        frostline.Aligner.from_pretrained(world / "tokenizer", labels="middle")
    with pytest.raises(TypeError):
        aligner.align("ice")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "distilbert-base-multilingual-cased"])
def test_word_ids_equal_hugging_face(name: str) -> None:
    transformers = pytest.importorskip("transformers", reason="NO TRANSFORMERS: alignments are not compared")
    folder = shared("models", name)
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder))
    aligner = frostline.Aligner.from_pretrained(folder, max_length=64)
    sentences = [sentence.forms for sentence in frostline.read_conllu(treebank("dev"))]
    theirs = tokenizer(sentences, is_split_into_words=True, truncation=True, max_length=64)
    ours = aligner.align_batch(sentences)
    assert len(ours) == 2001
    for place, aligned in enumerate(ours):
        assert aligned.ids == theirs["input_ids"][place], sentences[place]
        assert aligned.word_ids == theirs.word_ids(place), sentences[place]
    pytest.importorskip("numpy", reason="NO NUMPY: padding is not compared")
    some = slice(0, 64)
    padded = tokenizer(sentences[some], is_split_into_words=True, truncation=True, max_length=64, padding=True, return_tensors="np")
    batch = frostline.numpy_batch(ours[some], tokenizer.pad_token_id)
    assert (batch["input_ids"] == padded["input_ids"]).all()
    assert (batch["attention_mask"] == padded["attention_mask"]).all()


def test_scores_equal_the_official_script(tmp_path: Path) -> None:
    udeval = pytest.importorskip("udtools.udeval", reason="NO UDTOOLS: scores are not compared")
    gold = tmp_path / "gold.conllu"
    system = tmp_path / "system.conllu"
    text = treebank("dev").read_text(encoding="utf-8")
    gold.write_text(text, encoding="utf-8")
    # Other tags, heads and lemmas, and sentences that are joined.
    lines = text.split("\n")
    for at in range(0, len(lines), 7):
        lines[at] = lines[at].replace("\tNOUN\t", "\tPROPN\t").replace("\tobj\t", "\tobl\t").replace("\tbe\tAUX", "\tBE\tAUX")
    system.write_text("\n".join(lines), encoding="utf-8")
    ours = frostline.score(gold, system, resamples=200)
    theirs = udeval.evaluate(udeval.load_conllu_file(str(gold)), udeval.load_conllu_file(str(system)))
    assert len(ours) == 13
    for name, metric in ours.items():
        assert metric.f1 == pytest.approx(theirs[name].f1, abs=1e-12), name
        assert metric.correct == theirs[name].correct, name
        assert metric.low <= metric.f1 <= metric.high
    assert ours["UPOS"].low < ours["UPOS"].high


def test_a_comparison(world: Path, tmp_path: Path) -> None:
    gold = frostline.read_conllu(world / "gold.conllu")
    found = frostline.compare(gold, gold, world / "tagged.conllu")
    assert (found["a"], found["b"], found["units"], found["seeds"]) == (1.0, pytest.approx(0.9), 4, 1)
    assert found["verdict"] == "undecided" and found["p"] > 0.05
    many = [GOLD.replace("sent_id = ", f"sent_id = {part}.") for part in range(50)]
    worse = [TAGGED.replace("sent_id = ", f"sent_id = {part}.") if part % 2 else text for part, text in enumerate(many)]
    large, other = tmp_path / "large.conllu", tmp_path / "other.conllu"
    large.write_text("".join(many))
    other.write_text("".join(worse))
    assert frostline.compare(large, large, other)["verdict"] == "better"
    assert frostline.compare(large, other, large)["verdict"] == "worse"
    assert frostline.compare(large, other, large, metric="Words")["difference"] == 0
    seeds = frostline.compare(large, [large, large, large], [other, other, other])
    assert seeds["verdict"] == "better" and seeds["seeds"] == 3 and seeds["low"] > 0
    with pytest.raises(frostline.DataError, match="give one of these names"):
        frostline.compare(gold, gold, gold, metric="upos")
    with pytest.raises(frostline.SettingError, match="the same number"):
        frostline.compare(gold, [gold, gold], [gold])
    with pytest.raises(frostline.DataError, match="different texts"):
        frostline.score(gold, io.StringIO(GOLD.replace("spring", "winter")))


def test_params_of_a_model() -> None:
    found = frostline.params(shared("models", "all-MiniLM-L6-v2"), "first-4+embeddings")
    parts = {part.part: part for part in found.parts}
    assert parts["block 3"].trainable == 0 and parts["block 4"].trainable == parts["block 4"].total == 1_774_464
    assert parts["embeddings"].total == 11_919_104 and found.total == 22_713_728
    with pytest.raises(frostline.PolicyError, match="the encoder has 6 blocks"):
        frostline.params(shared("models", "all-MiniLM-L6-v2"), "first-9")


def test_records_of_a_sweep(world: Path) -> None:
    records = frostline.load_records(world / "study")
    assert len(records) > 10 and "dev_accuracy" in records.columns
    pytest.importorskip("pandas", reason="NO PANDAS: no frame is made")
    pytest.importorskip("pyarrow", reason="NO PYARROW: no frame is made")
    frame = records.pandas()
    assert set(frame["status"]) == {"done"} and frame["dev_accuracy"].between(0.1, 1).all()
    means = frame.groupby("policy")["dev_accuracy"].mean()
    assert means["none"] > means["all+embeddings"]
    with pytest.raises(frostline.DataError, match="holds no sweep"):
        frostline.load_records(world)


def test_the_examples_are_typed(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="NO MYPY: types are not checked")
    examples = Path(__file__).parent / "typed.py"
    cache = ["--cache-dir", str(tmp_path)]
    run = subprocess.run([sys.executable, "-m", "mypy", "--strict", *cache, str(examples)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    wrong = tmp_path / "wrong.py"
    wrong.write_text('import frostline\nx: int = frostline.read_conllu("a")[0].words[0].form\n')
    run = subprocess.run([sys.executable, "-m", "mypy", "--strict", *cache, str(wrong)], capture_output=True, text=True)
    assert "Incompatible types" in run.stdout, "the package has types"


def spans(tags: List[str], strict: bool) -> Set[Tuple[int, int, str]]:
    """The entities of a sentence, found by the definition: a start is extended while the same type continues."""
    found = set()
    for start, tag in enumerate(tags):
        before = tags[start - 1] if start else "O"
        continues = tag.startswith("I-") and before[:2] in ("B-", "I-") and before[2:] == tag[2:]
        if tag == "O" or (continues and not strict) or (strict and not tag.startswith("B-")):
            continue
        end = start + 1
        while end < len(tags) and tags[end] == "I-" + tag[2:]:
            end += 1
        found.add((start, end, tag[2:]))
    return found


@pytest.mark.parametrize("scheme", ["lenient", "strict"])
def test_entities_are_scored_by_their_spans(scheme: Literal["lenient", "strict"]) -> None:
    random = Random(0)
    tags = ["O", "O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
    gold = [[random.choice(tags) for _ in range(random.randint(1, 9))] for _ in range(200)]
    predicted = [[tag if random.random() < 0.8 else random.choice(tags) for tag in sentence] for sentence in gold]
    scores = frostline.score_entities(gold, predicted, scheme=scheme, resamples=200)
    assert list(scores) == ["LOC", "PER", "all"]
    for kind, metric in scores.items():
        ours = [{one for one in spans(tags, scheme == "strict") if kind in ("all", one[2])} for tags in gold]
        theirs = [{one for one in spans(tags, scheme == "strict") if kind in ("all", one[2])} for tags in predicted]
        counts = [sum(map(len, ours)), sum(map(len, theirs)), sum(len(a & b) for a, b in zip(ours, theirs))]
        assert [metric.gold, metric.system, metric.correct] == counts
        assert metric.f1 == pytest.approx(2 * counts[2] / (counts[0] + counts[1]))
        assert metric.low < metric.f1 < metric.high


def test_entities_that_cannot_be_scored_are_named() -> None:
    with pytest.raises(frostline.DataError, match="found 2 sentences of gold and 1 of predictions"):
        frostline.score_entities([["O"], ["O"]], [["O"]])
    with pytest.raises(frostline.DataError, match="sentence 1: "):
        frostline.score_entities([["O"], ["O", "O"]], [["O"], ["O"]])
    with pytest.raises(frostline.SettingError, match="scheme is 'IOB2'|scheme is \"IOB2\""):
        frostline.score_entities([["O"]], [["O"]], scheme="IOB2")  # type: ignore[arg-type]
    assert frostline.score_entities([["O"]], [["O"]])["all"].gold == 0
