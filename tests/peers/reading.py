"""Reading speed of the usual Python tools: `conllu` for parsing, a fast tokenizer for alignment.

The peer of `frostline bench read`. Parsing is the package `conllu` over a treebank's train file;
alignment is what the study did: the tokenizer called once per sentence, its `word_ids` walked in
Python. Each is repeated and the best counts. The last line of standard output is one JSON object.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path


def best_s(repeats, work):
    """The least time of some repeats, in seconds."""
    least = float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        least = min(least, time.perf_counter() - began)
    return least


def align(tokenizer, sentences):
    """For each sentence, its ids and the word each position speaks for, or None."""
    aligned = []
    for words in sentences:
        encoded = tokenizer(words, is_split_into_words=True, truncation=True, max_length=128)
        spoken_for, speaks = set(), []
        for word in encoded.word_ids():
            speaks.append(None if word is None or word in spoken_for else word)
            spoken_for.add(word)
        aligned.append((encoded["input_ids"], speaks))
    return aligned


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--model", required=True, type=Path, help="encoder folder in the Hugging Face layout")
    parser.add_argument("--treebank", required=True, type=Path, help="folder with *-ud-train.conllu")
    parser.add_argument("--repeats", type=int, default=3, help="the best of so many counts")
    given = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import conllu
    import transformers

    transformers.logging.set_verbosity_error()
    found = sorted(given.treebank.glob("*-ud-train.conllu"))
    if not found:
        sys.exit(f"{given.treebank}: no file *-ud-train.conllu; give a treebank folder of Universal Dependencies")
    text = found[0].read_text(encoding="utf-8")
    parsed = conllu.parse(text)
    sentences = [[row["form"].lower() for row in rows if isinstance(row["id"], int)] for rows in parsed]
    tokenizer = transformers.AutoTokenizer.from_pretrained(given.model)
    align(tokenizer, sentences[:100])

    parse_s = best_s(given.repeats, lambda: conllu.parse(text))
    align_s = best_s(given.repeats, lambda: align(tokenizer, sentences))
    print(
        json.dumps(
            {
                "parse_mb_per_s": round(len(text.encode()) / 1e6 / parse_s, 3),
                "parse_sentences_per_s": round(len(sentences) / parse_s, 1),
                "align_sentences_per_s": round(len(sentences) / align_s, 1),
                "conllu": getattr(conllu, "__version__", None) or installed("conllu"),
                "transformers": transformers.__version__,
                "tokenizers": installed("tokenizers"),
            }
        )
    )


def installed(name):
    from importlib.metadata import version

    return version(name)


if __name__ == "__main__":
    main()
