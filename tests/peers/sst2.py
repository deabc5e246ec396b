"""Sentence classification on Hugging Face Trainer (PyTorch): the peer of a plan with labelled sentences.

One call trains one classifier in two stages. Stage 1 learns the head alone, with the base model
frozen; stage 2 starts from stage 1's epoch of lowest dev loss and fine-tunes everything, with a fresh
optimiser and schedule. After each stage the model of lowest dev loss is scored on test. The last line
of standard output is one JSON object; everything else goes to standard error.

BERT's pooler counts as head, as DistilBERT's pre_classifier does.

The settings of both stages stand in STAGES and SHARED. All else is Trainer's default. A BERT whose
file has no pooler gets one drawn at random, as transformers does.
"""

import time

STARTED = time.perf_counter()  # Before the heavy imports: a whole run pays for them.

import argparse
import json
import math
import resource
import sys
import tempfile
from pathlib import Path

from hf_trainer import quiet_start

LONGEST = 128  # Subwords per sentence, specials included.
STAGES = (
    {"name": "head-only", "frozen": True, "learning_rate": 5e-4, "num_train_epochs": 2},
    {"name": "full", "frozen": False, "learning_rate": 2e-5, "num_train_epochs": 2},
)
SHARED = {
    "per_device_train_batch_size": 32,
    "per_device_eval_batch_size": 64,
    "lr_scheduler_type": "linear",
    "weight_decay": 0.01,
}
WARMUP = 0.06  # Of a stage's steps.


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--model", required=True, type=Path, help="encoder folder in the Hugging Face layout")
    parser.add_argument("--data", required=True, type=Path, help="folder with train.tsv, dev.tsv and test.tsv")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--first", type=int, default=0, help="only the first N sentences of each split; 0 means all")
    parser.add_argument("--threads", type=int, default=0, help="PyTorch's threads; 0 leaves its default")
    parser.add_argument("--device", choices=["cpu", "cuda", "mps"], default="cpu")
    return parser.parse_args()


def read_split(folder, split):
    """Sentences and labels of a split: `sentence TAB label`, perhaps after such a header."""
    path = folder / f"{split}.tsv"
    if not path.is_file():
        sys.exit(f"{folder}: no file {split}.tsv; give a folder of labelled sentences")
    rows = []
    with path.open(encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            line = line.removesuffix("\n")
            if number == 1 and line == "sentence\tlabel":
                continue
            columns = line.split("\t")
            if len(columns) != 2 or not all(column.strip() for column in columns):
                sys.exit(f"{path}:{number}: expected a sentence and its label with a tab between them")
            rows.append(tuple(columns))
    return rows


def examples(rows, tokenizer, number_of):
    """Examples for Trainer."""
    encoded = tokenizer([text for text, _ in rows], truncation=True, max_length=LONGEST)
    return [
        {**{key: encoded[key][i] for key in encoded}, "labels": number_of[label]}
        for i, (_, label) in enumerate(rows)
    ]


def scores(logits, gold, classes):
    """Accuracy, macro F1 and the confusion matrix (rows are gold) of a split."""
    matrix = [[0] * classes for _ in range(classes)]
    for guess, truth in zip(logits.argmax(-1), gold):
        matrix[int(truth)][int(guess)] += 1
    f1 = []
    for label in range(classes):
        hits = matrix[label][label]
        asked = sum(matrix[label]) + sum(row[label] for row in matrix)
        f1.append(2 * hits / asked if asked else 0.0)
    right = sum(matrix[label][label] for label in range(classes))
    return {"accuracy": right / len(gold), "macro_f1": sum(f1) / classes, "confusion": matrix}


def main():
    given = arguments()
    quiet_start(given)
    import torch
    import transformers
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
    )

    transformers.logging.disable_progress_bar()

    splits = {split: read_split(given.data, split)[: given.first or None] for split in ("train", "dev", "test")}
    labels = sorted({label for _, label in splits["train"]})
    number_of = {label: number for number, label in enumerate(labels)}
    for split in ("dev", "test"):
        strange = sorted({label for _, label in splits[split]} - number_of.keys())
        if strange:
            sys.exit(f"{given.data}: {split} has labels that train lacks: {', '.join(strange)}")
    tokenizer = AutoTokenizer.from_pretrained(given.model)
    data = {split: examples(rows, tokenizer, number_of) for split, rows in splits.items()}
    model = AutoModelForSequenceClassification.from_pretrained(
        given.model, num_labels=len(labels), id2label=dict(enumerate(labels)), label2id=number_of
    )

    stages = {}
    for stage in STAGES:
        for name, parameter in model.base_model.named_parameters():
            parameter.requires_grad = name.startswith("pooler.") or not stage["frozen"]
        steps = -(-len(data["train"]) // SHARED["per_device_train_batch_size"]) * stage["num_train_epochs"]
        with tempfile.TemporaryDirectory() as scratch:
            trainer = Trainer(
                model=model,
                args=TrainingArguments(
                    output_dir=scratch,
                    learning_rate=stage["learning_rate"],
                    num_train_epochs=stage["num_train_epochs"],
                    # In steps, rounded as Trainer rounds a ratio: the ratio has another name in transformers 4.
                    warmup_steps=math.ceil(steps * WARMUP),
                    eval_strategy="epoch",
                    save_strategy="epoch",
                    load_best_model_at_end=True,
                    metric_for_best_model="eval_loss",
                    greater_is_better=False,
                    seed=given.seed,
                    logging_strategy="epoch",
                    report_to="none",
                    disable_tqdm=True,
                    use_cpu=given.device == "cpu",
                    dataloader_pin_memory=given.device == "cuda",
                    **SHARED,
                ),
                train_dataset=data["train"],
                eval_dataset=data["dev"],
                data_collator=DataCollatorWithPadding(tokenizer),
            )
            trainer.remove_callback(transformers.trainer_callback.PrinterCallback)
            began = time.perf_counter()
            trainer.train()
            fitted = time.perf_counter() - began
            # The best epoch is loaded into `model` by now; the next stage's Trainer has its own optimiser.
            best = round(trainer.state.best_metric, 6)
            dev, test = (trainer.predict(data[split]) for split in ("dev", "test"))
        epochs = [row for row in trainer.state.log_history if "eval_loss" in row]
        stages[stage["name"]] = {
            "steps": trainer.state.global_step,
            "dev_loss": [round(row["eval_loss"], 6) for row in epochs],
            "best_dev_loss": best,
            "dev": scores(dev.predictions, dev.label_ids, len(labels)),
            "test": scores(test.predictions, test.label_ids, len(labels)),
            "train_s": round(fitted, 3),  # With the dev evaluations and checkpoints of each epoch.
            "eval_s": round(sum(row["eval_runtime"] for row in epochs), 3),
            "trainable_params": sum(p.numel() for p in model.parameters() if p.requires_grad),
        }
        print(f"{stage['name']}: test accuracy {stages[stage['name']]['test']['accuracy']:.4f}", file=sys.stderr)
    # Linux counts in KiB, macOS in bytes.
    unit = 2**20 if sys.platform == "darwin" else 2**10
    print(
        json.dumps(
            {
                "stages": stages,
                "labels": labels,
                "sentences": {split: len(rows) for split, rows in splits.items()},
                "seed": given.seed,
                "peak_rss_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1),
                "wall_s": round(time.perf_counter() - STARTED, 3),
                "total_params": sum(p.numel() for p in model.parameters()),
                "torch": torch.__version__,
                "transformers": transformers.__version__,
            }
        )
    )


if __name__ == "__main__":
    main()
