"""The study's protocol on Hugging Face Trainer (PyTorch): what `cargo xtask bench` measures against.

One call trains one tagger: an encoder folder, a treebank folder, a policy, a seed. With --steps it
times that many training steps after some uncounted ones and scores nothing; with --epochs it is a
whole run that scores dev after each epoch; with --start it is such a run up to its first step. The
last line of standard output is one JSON object; everything else goes to standard error.

It follows docs/protocol.md and uses Trainer's defaults for all that is not said there: a peer that
was tuned by us would show what we can do with PyTorch, not what the study's setting costs.
"""

import time

STARTED = time.perf_counter()  # Before the heavy imports: a whole run pays for them.

import argparse
import dataclasses
import json
import os
import random
import resource
import sys
import tempfile
import warnings
from pathlib import Path

IGNORED = -100  # The label that PyTorch's cross-entropy and Trainer leave out.
LONGEST = 128  # Subwords per sentence, specials included.


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--model", required=True, type=Path, help="encoder folder in the Hugging Face layout")
    parser.add_argument("--treebank", required=True, type=Path, help="folder with *-ud-train.conllu and *-ud-dev.conllu")
    parser.add_argument("--policy", default="none", help="none, all, first-K, last-K, alternating, head-only; each also +embeddings")
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--steps", type=int, help="time this many steps; no evaluation")
    length.add_argument("--epochs", type=int, help="a whole run, dev scored after each epoch")
    length.add_argument("--start", action="store_true", help="time until the first step; no evaluation")
    parser.add_argument("--warmup", type=int, default=5, help="steps before the first one that is timed (with --steps)")
    parser.add_argument("--batch", type=int, default=16, help="sentences per step")
    parser.add_argument("--first", type=int, default=0, help="learn from the first N train sentences; 0 means all")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--bf16", action="store_true", help="Trainer's mixed precision")
    parser.add_argument("--group-by-length", action="store_true", help="batches of sentences of similar length")
    parser.add_argument("--random-init", action="store_true", help="draw the encoder from its config")
    parser.add_argument("--threads", type=int, default=0, help="PyTorch's threads; 0 leaves its default")
    parser.add_argument("--device", choices=["cpu", "cuda", "mps"], default="cpu")
    given = parser.parse_args()
    if given.steps is not None and (given.steps < 1 or given.warmup < 1):
        parser.error("--steps and --warmup are at least 1: a step is timed from the end of the one before")
    return given


def read_split(folder, split):
    """Words (lowercased) and tags of each sentence; rows without an integer id are no words."""
    found = sorted(folder.glob(f"*-ud-{split}.conllu"))
    if not found:
        sys.exit(f"{folder}: no file *-ud-{split}.conllu; give a treebank folder of Universal Dependencies")
    sentences, rows = [], []
    with found[0].open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                fields = line.split("\t")
                if fields[0].isdecimal():
                    rows.append((fields[1].lower(), fields[3]))
            elif rows:
                sentences.append(tuple(zip(*rows)))
                rows = []
    if rows:
        sentences.append(tuple(zip(*rows)))
    return sentences


def aligned(sentences, tokenizer, number_of):
    """Examples for Trainer: only the first subword of a word carries its tag."""
    examples = []
    for words, tags in sentences:
        encoded = tokenizer(list(words), is_split_into_words=True, truncation=True, max_length=LONGEST)
        spoken_for, labels = set(), []
        for word in encoded.word_ids():
            fresh = word is not None and word not in spoken_for
            labels.append(number_of.get(tags[word], IGNORED) if fresh else IGNORED)
            spoken_for.add(word)
        examples.append({**encoded, "labels": labels})
    return examples


def freeze(model, policy):
    """Freezes what the policy names: its blocks, and with `+embeddings` all below them."""
    import torch

    encoder = getattr(model, model.base_model_prefix)
    depth = encoder.config.num_hidden_layers
    stacks = [module for module in encoder.modules() if isinstance(module, torch.nn.ModuleList) and len(module) == depth]
    if not stacks:
        sys.exit(f"this peer finds no list of {depth} blocks in {type(encoder).__name__}")
    blocks = list(stacks[0])
    named, plus, rest = policy.partition("+")
    embeddings = named == "head-only" or rest == "embeddings"
    if plus and rest != "embeddings":
        sys.exit(f"`{policy}` is no policy: only +embeddings can follow a `+`")
    kind, _, count = named.partition("-")
    if named == "none":
        chosen = []
    elif named in ("all", "head-only"):
        chosen = blocks
    elif named == "alternating":
        chosen = blocks[::2]
    elif kind in ("first", "last") and count.isdecimal() and 1 <= int(count) <= len(blocks):
        chosen = blocks[: int(count)] if kind == "first" else blocks[-int(count) :]
    else:
        sys.exit(f"`{policy}` is no policy of this peer for {len(blocks)} blocks; see --help")
    frozen = [parameter for block in chosen for parameter in block.parameters()]
    if embeddings:
        # All that is no block, as a table of relative positions, but a norm after the last block.
        in_blocks = {parameter for block in blocks for parameter in block.parameters()}
        others = [(name, parameter) for name, parameter in encoder.named_parameters() if parameter not in in_blocks]
        frozen += [parameter for name, parameter in others if name.split(".")[0] not in ("final_norm", "norm", "pooler")]
    for parameter in frozen:
        parameter.requires_grad = False


def quiet_start(given):
    """No chatter, nothing fetched, and this call's threads and seed."""
    warnings.filterwarnings("ignore")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # Everything is in the folders given.
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    if given.threads:
        torch.set_num_threads(given.threads)
    transformers.set_seed(given.seed)
    # f32 is f32: no operand is rounded to TF32.
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False


def wait(device):
    """Until the device has done what was asked of it: a GPU's work is only queued, and a step ends when it is done."""
    import torch

    if device == "cuda":
        torch.cuda.synchronize()
    elif device == "mps":
        torch.mps.synchronize()


def tagging(given, scored):
    """The tokenizer, the config for train's tags, and examples of train and of the splits scored."""
    from transformers import AutoConfig, AutoTokenizer

    train = read_split(given.treebank, "train")[: given.first or None]
    tags = sorted({tag for _, tags in train for tag in tags})
    if given.steps and not given.group_by_length:
        # As many sentences as the steps need, so that no others have to be tokenized. (Grouping sorts many at a time.)
        needed = min(len(train), (given.warmup + given.steps) * given.batch)
        train = random.Random(given.seed).sample(train, needed)
    number_of = {tag: number for number, tag in enumerate(tags)}
    tokenizer = AutoTokenizer.from_pretrained(given.model)
    splits = [train, *(read_split(given.treebank, split) for split in scored)]
    config = AutoConfig.from_pretrained(
        given.model, num_labels=len(tags), id2label=dict(enumerate(tags)), label2id=number_of
    )
    return tokenizer, config, [aligned(split, tokenizer, number_of) for split in splits]


def study_accuracy(scored):
    """Over speaking positions."""
    asked = scored.label_ids != IGNORED
    right = scored.predictions.argmax(-1) == scored.label_ids
    return {"accuracy": float(right[asked].mean())}


def summary(gaps, warmup):
    """Mean, median and least of the counted steps, in milliseconds."""
    counted = sorted(1e3 * gap for step, gap in gaps if step > warmup)
    if not counted:
        return {"steps": 0, "step_ms_mean": None, "step_ms_median": None, "step_ms_min": None}
    middle = len(counted) // 2
    median = counted[middle] if len(counted) % 2 else (counted[middle - 1] + counted[middle]) / 2
    return {
        "steps": len(counted),
        "step_ms_mean": round(sum(counted) / len(counted), 3),
        "step_ms_median": round(median, 3),
        "step_ms_min": round(counted[0], 3),
    }


def main():
    given = arguments()
    quiet_start(given)
    import torch
    import transformers
    from transformers import (
        AutoModelForTokenClassification,
        DataCollatorForTokenClassification,
        Trainer,
        TrainerCallback,
        TrainingArguments,
    )

    tokenizer, config, (train, *dev) = tagging(given, [] if given.steps else ["dev"])
    if given.random_init:
        model = AutoModelForTokenClassification.from_config(config)
    else:
        # A saved tagger may know fewer tags.
        model = AutoModelForTokenClassification.from_pretrained(
            given.model, config=config, ignore_mismatched_sizes=True
        )
    freeze(model, given.policy)

    gaps, started = [], []

    class Clock(TrainerCallback):
        """From the end of one step to the end of the next, so that fetching a batch counts too."""

        last = None

        def on_epoch_begin(self, *_, **__):
            # A gap over a dev evaluation is no step; with --steps there is none.
            if given.epochs:
                self.last = None

        def on_step_begin(self, _arguments, _state, control, *_, **__):
            started.append(time.perf_counter() - STARTED)
            control.should_training_stop = given.start

        def on_step_end(self, _arguments, state, *_, **__):
            wait(given.device)
            now = time.perf_counter()
            if self.last is not None:
                gaps.append((state.global_step, now - self.last))
            self.last = now

    known = {field.name for field in dataclasses.fields(TrainingArguments)}
    grouped = {}
    if given.group_by_length:  # Renamed in transformers 5.
        new_name = "train_sampling_strategy" in known
        grouped = {"train_sampling_strategy": "group_by_length"} if new_name else {"group_by_length": True}
    with tempfile.TemporaryDirectory() as scratch:
        trainer = Trainer(
            model=model,
            args=TrainingArguments(
                output_dir=scratch,
                max_steps=given.warmup + given.steps if given.steps else -1,
                num_train_epochs=given.epochs or 1,
                eval_strategy="epoch" if given.epochs else "no",
                per_device_train_batch_size=given.batch,
                learning_rate=5e-5,
                weight_decay=0.01,
                bf16=given.bf16,
                seed=given.seed,
                save_strategy="no",
                logging_strategy="epoch",
                report_to="none",
                disable_tqdm=True,
                use_cpu=given.device == "cpu",
                dataloader_pin_memory=given.device == "cuda",
                **grouped,
            ),
            train_dataset=train,
            eval_dataset=dev[0] if dev else None,
            data_collator=DataCollatorForTokenClassification(tokenizer),
            compute_metrics=study_accuracy,
            callbacks=[Clock()],
        )
        trainer.remove_callback(transformers.trainer_callback.PrinterCallback)
        began = time.perf_counter()
        trainer.train()
        wait(given.device)
        fitted = time.perf_counter() - began
    scored = [row for row in trainer.state.log_history if "eval_accuracy" in row]
    eval_s = sum(row["eval_runtime"] for row in scored)
    # Linux counts in KiB, macOS in bytes.
    unit = 2**20 if sys.platform == "darwin" else 2**10
    sizes = [(parameter.numel(), parameter.requires_grad) for parameter in model.parameters()]
    print(
        json.dumps(
            {
                **summary(gaps, given.warmup if given.steps else 0),
                "start_s": round(started[0], 3),
                "peak_rss_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1),
                "wall_s": round(time.perf_counter() - STARTED, 3),
                "train_s": round(fitted - eval_s, 3),
                "eval_s": round(eval_s, 3),
                "total_params": sum(size for size, _ in sizes),
                "trainable_params": sum(size for size, learns in sizes if learns),
                "accuracy": scored[-1]["eval_accuracy"] if scored else None,
                "torch": torch.__version__,
                "transformers": transformers.__version__,
            }
        )
    )


if __name__ == "__main__":
    main()
