"""Tagging speed of Hugging Face transformers with a trained tagger: the peer of `frostline bench tag`.

By default the token-classification pipeline, as a user calls it: sentences whose words are joined by
spaces, one tag for each word read off its first subword. `--plain` leaves the pipeline out: padded
batches sorted by length, a forward pass, and the best label of each word's first subword. Either is
timed over a treebank's test file with each batch size, after a warm-up; the fastest counts. Loading is
not timed. The last line of standard output is one JSON object.
"""

import argparse
import json
import os
import resource
import sys
import time
from pathlib import Path

BATCHES = [8, 16, 32]


def sentences(path):
    """Each sentence's words and their universal parts of speech."""
    import conllu

    rows = conllu.parse(path.read_text(encoding="utf-8"))
    words = [[row for row in sentence if isinstance(row["id"], int)] for sentence in rows]
    return [([row["form"] for row in sentence], [row["upos"] for row in sentence]) for sentence in words]


def with_pipeline(model, tokenizer, device):
    """A function from sentences and a batch size to one tag per word."""
    import transformers

    pipe = transformers.pipeline(
        "token-classification",
        model=model,
        tokenizer=tokenizer,
        aggregation_strategy="none",
        ignore_labels=[],
        device=device,
    )

    def tag(sentences, batch):
        tagged = []
        # As a generator, the way to many inputs that the pipeline's own guide shows.
        for words, found in zip(sentences, pipe((" ".join(words) for words in sentences), batch_size=batch)):
            first = {}
            for entity in found:
                first.setdefault(entity["start"], entity["entity"])
            tags, start = [], 0
            for word in words:
                tags.append(first.get(start, "_"))
                start += len(word) + 1
            tagged.append(tags)
        return tagged

    return tag


def plainly(model, tokenizer, device):
    """The same without the pipeline."""
    import torch

    names = model.config.id2label

    def tag(sentences, batch):
        encoded = tokenizer(sentences, is_split_into_words=True, truncation=True)
        order = sorted(range(len(sentences)), key=lambda at: len(encoded["input_ids"][at]))
        tagged = [None] * len(sentences)
        for start in range(0, len(order), batch):
            chosen = order[start : start + batch]
            features = [{"input_ids": encoded["input_ids"][at]} for at in chosen]
            padded = tokenizer.pad(features, return_tensors="pt").to(device)
            with torch.inference_mode():
                best = model(**padded).logits.argmax(-1).tolist()
            for row, at in zip(best, chosen):
                tags = ["_"] * len(sentences[at])
                # From the end, so that a word's first subword has the last say.
                for label, word in reversed(list(zip(row, encoded.word_ids(at)))):
                    if word is not None:
                        tags[word] = names[label]
                tagged[at] = tags
        return tagged

    return tag


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--model", required=True, type=Path, help="folder of a trained tagger")
    parser.add_argument("--treebank", required=True, type=Path, help="folder with *-ud-test.conllu")
    parser.add_argument("--plain", action="store_true", help="sorted batches without the pipeline")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads of torch")
    parser.add_argument("--device", choices=["cpu", "cuda", "mps"], default="cpu")
    given = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    torch.set_num_threads(given.threads)
    # f32 is f32: no operand is rounded to TF32.
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    found = sorted(given.treebank.glob("*-ud-test.conllu"))
    if not found:
        sys.exit(f"{given.treebank}: no file *-ud-test.conllu; give a treebank folder of Universal Dependencies")
    notes = given.model / "frostline.json"
    lowercase = notes.exists() and json.loads(notes.read_text(encoding="utf-8"))["lowercase"]
    gold = sentences(found[0])
    words = [[word.lower() if lowercase else word for word in words] for words, _ in gold]
    tokenizer = transformers.AutoTokenizer.from_pretrained(given.model)
    model = transformers.AutoModelForTokenClassification.from_pretrained(given.model).eval().to(given.device)
    tag = (plainly if given.plain else with_pipeline)(model, tokenizer, given.device)

    tag(words[:64], BATCHES[0])
    best_s, best_batch, tagged = float("inf"), None, None
    for batch in BATCHES:
        began = time.perf_counter()
        tagged = tag(words, batch)
        took = time.perf_counter() - began
        print(f"batch {batch}: {len(words) / took:.1f} sentences/s", file=sys.stderr)
        if took < best_s:
            best_s, best_batch = took, batch
    pairs = [(a, b) for tags, (_, upos) in zip(tagged, gold) for a, b in zip(tags, upos) if b != "_"]
    # Linux counts in KiB, macOS in bytes.
    unit = 2**20 if sys.platform == "darwin" else 2**10
    print(
        json.dumps(
            {
                "tag_sentences_per_s": round(len(words) / best_s, 2),
                "tag_words_per_s": round(sum(map(len, words)) / best_s, 1),
                "batch": best_batch,
                "sentences": len(words),
                "words": sum(map(len, words)),
                "test_accuracy": round(sum(a == b for a, b in pairs) / max(len(pairs), 1), 6),
                "peak_rss_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1),
                "torch": torch.__version__,
                "transformers": transformers.__version__,
            }
        )
    )


if __name__ == "__main__":
    main()
