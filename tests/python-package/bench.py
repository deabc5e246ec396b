"""Times in turns of reading, aligning, scoring and tagging against other libraries: the smallest of several rounds.

    python bench.py TREEBANK.conllu TOKENIZER_FOLDER [--tagger MODEL_FOLDER] [--rounds 5]

Times are of processors, all threads together; tagging, which another process does, is timed by the clock.

Prints a table with the ratios; a library that is not installed is left out, and said to be. For reading, columns and objects in
Python count, and not the bare parse: the Arrow table of all tokens, and plain objects with form and UPOS of each word.
"""

from __future__ import annotations

import argparse
import importlib
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List

import frostline

Job = Callable[[], object]


def reading(path: Path) -> Dict[str, Job]:
    """Ways to read a treebank."""

    def table() -> object:
        bank = frostline.read_conllu(path)
        return bank.tokens

    def objects() -> object:
        return [[(token.form, token.upos) for token in sentence.words] for sentence in frostline.read_conllu(path)]

    jobs: Dict[str, Job] = {"frostline, Arrow table": table, "frostline, objects": objects}
    conllu = library("conllu")
    if conllu:
        text = path.read_text(encoding="utf-8")

        def theirs() -> object:
            return [[(token["form"], token["upos"]) for token in sentence] for sentence in conllu.parse(text)]

        jobs["conllu.parse"] = theirs
    pyconll = library("pyconll")
    if pyconll:

        def others() -> object:
            return [[(token.form, token.upos) for token in sentence] for sentence in pyconll.load_from_file(str(path))]

        jobs["pyconll.load_from_file"] = others
    return jobs


def aligning(path: Path, folder: Path) -> Dict[str, Job]:
    """Ways to align 4,000 sentences."""
    sentences: List[List[str]] = [sentence.forms for sentence in frostline.read_conllu(path)][:4000]
    aligner = frostline.Aligner.from_pretrained(folder, max_length=128)
    jobs: Dict[str, Job] = {
        "frostline, batch": lambda: [(one.ids, one.word_ids) for one in aligner.align_batch(sentences)],
        "frostline, one by one": lambda: [(one.ids, one.word_ids) for one in map(aligner.align, sentences)],
    }
    transformers = library("transformers")
    if transformers:
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder))
        settings = dict(is_split_into_words=True, truncation=True, max_length=128)

        def single() -> object:
            found = (tokenizer(words, **settings) for words in sentences)
            return [(one["input_ids"], one.word_ids()) for one in found]

        def batch() -> object:
            found = tokenizer(sentences, **settings)
            return [(found["input_ids"][place], found.word_ids(place)) for place in range(len(sentences))]

        assert jobs["frostline, batch"]() == batch(), "both give the same"
        jobs.update({"transformers, batch": batch, "transformers, one by one": single})
    return jobs


def scoring(path: Path, folder: Path) -> Dict[str, Job]:
    """Ways to compute all metrics of the CoNLL 2018 shared task, without intervals where others have none."""
    system = folder / "system.conllu"
    system.write_text(path.read_text(encoding="utf-8").replace("\tNOUN\t", "\tPROPN\t", 1000), encoding="utf-8")
    jobs: Dict[str, Job] = {
        "frostline, one resample": lambda: frostline.score(path, system, resamples=1),
        "frostline, with intervals": lambda: frostline.score(path, system),
    }
    udeval = library("udtools.udeval")
    if udeval:
        jobs["udtools.udeval"] = lambda: udeval.evaluate(udeval.load_conllu_file(str(path)), udeval.load_conllu_file(str(system)))
    return jobs


def scoring_entities() -> Dict[str, Job]:
    """Ways to score the entities of 20,000 sentences of 20 words."""
    pattern = ["O", "B-PER", "I-PER", "O", "O", "B-LOC", "O", "B-ORG", "I-ORG", "I-ORG"] * 2
    gold = [pattern[place % 7 :] + pattern[: place % 7] for place in range(20_000)]
    predicted = [["O" if place % 5 == 0 else tag for place, tag in enumerate(tags)] for tags in gold]
    jobs: Dict[str, Job] = {
        "frostline, one resample": lambda: frostline.score_entities(gold, predicted, resamples=1),
        "frostline, with intervals": lambda: frostline.score_entities(gold, predicted),
    }
    seqeval = library("seqeval.metrics")
    if seqeval:
        jobs["seqeval"] = lambda: seqeval.classification_report(gold, predicted, output_dict=True)
    return jobs


def tagging(path: Path, folder: Path) -> Dict[str, Job]:
    """Ways to tag 500 sentences with a token classifier that transformers opens too."""
    sentences: List[List[str]] = [sentence.forms for sentence in frostline.read_conllu(path)][:500]
    tagger = frostline.Tagger.load(folder)
    jobs: Dict[str, Job] = {"frostline": lambda: tagger.tag(sentences)}
    transformers = library("transformers")
    if transformers:
        texts = [" ".join(words) for words in sentences]
        for size in (1, 32):
            pipeline = transformers.pipeline("token-classification", str(folder), batch_size=size)
            jobs[f"transformers pipeline, {size}"] = lambda pipeline=pipeline: pipeline(texts)
    return jobs


def library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"left out: {name} is not installed")
        return None


def in_turns(title: str, jobs: Dict[str, Job], rounds: int, clock: Callable[[], float] = time.process_time) -> None:
    """Times every job once a round, so that all see the same machine."""
    times: Dict[str, List[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            start = clock()
            job()
            times[name].append(1000 * (clock() - start))
    first = min(times[next(iter(jobs))])
    print(f"\n{title}, the smallest of {rounds} rounds\n{'':<28}{'ms':>10}{'ratio':>9}")
    for name, values in times.items():
        print(f"{name:<28}{min(values):>10.1f}{min(values) / first:>9.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("treebank", type=Path)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("--tagger", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    in_turns("Reading", reading(options.treebank), options.rounds)
    in_turns("Aligning", aligning(options.treebank, options.tokenizer), options.rounds)
    with tempfile.TemporaryDirectory() as folder:
        in_turns("Scoring", scoring(options.treebank, Path(folder)), options.rounds)
    in_turns("Scoring entities", scoring_entities(), options.rounds)
    if options.tagger:
        in_turns("Tagging", tagging(options.treebank, options.tagger), options.rounds, time.perf_counter)


if __name__ == "__main__":
    main()
