"""Opens what a LoRA cell saved: `peft/` on its encoder in Python's `peft`, beside `model/` with LoRA merged.

Both tag a treebank's dev file. The last line of standard output is one JSON object: how many words they
tag differently, how far their logits are apart at most, and how many both have right; everything else goes
to standard error.

    python peft_opens.py --encoder DIR --cell CELL_FOLDER --treebank DIR
"""

import argparse
import json
import os
import sys
import warnings
from pathlib import Path

from hf_trainer import IGNORED, aligned, read_split


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--encoder", required=True, type=Path, help="the encoder's folder in the Hugging Face layout")
    parser.add_argument("--cell", required=True, type=Path, help="a cell's folder with model/ and peft/")
    parser.add_argument("--treebank", required=True, type=Path, help="folder with *-ud-dev.conllu")
    given = parser.parse_args()
    if missing := [name for name in ("model", "peft") if not (given.cell / name).is_dir()]:
        parser.error(f"{given.cell} has no {missing[0]}/; run a policy such as none+lora with --set save.model=true")
    return given


def main():
    given = arguments()
    warnings.filterwarnings("ignore")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # Everything is in the folders given.
    import torch
    import transformers
    from peft import PeftModel
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    transformers.logging.set_verbosity_error()
    merged = AutoModelForTokenClassification.from_pretrained(given.cell / "model").eval()
    labels = merged.config.id2label
    base = AutoModelForTokenClassification.from_pretrained(given.encoder, num_labels=len(labels))
    added = PeftModel.from_pretrained(base, given.cell / "peft").eval()
    tokenizer = AutoTokenizer.from_pretrained(given.encoder)
    number_of = {tag: int(number) for number, tag in labels.items()}
    words = differ = right = 0
    farthest = 0.0
    with torch.no_grad():
        for example in aligned(read_split(given.treebank, "dev"), tokenizer, number_of):
            gold = torch.tensor(example.pop("labels"))
            inputs = {name: torch.tensor([values]) for name, values in example.items()}
            a, b = (model(**inputs).logits[0][gold != IGNORED] for model in (merged, added))
            tags = a.argmax(-1)
            words += len(tags)
            differ += int((tags != b.argmax(-1)).sum())
            right += int((tags == gold[gold != IGNORED]).sum())
            farthest = max(farthest, float((a - b).abs().max())) if len(tags) else farthest
    print(json.dumps({"words": words, "differ": differ, "right": right, "farthest_logits": farthest}))


if __name__ == "__main__":
    sys.exit(main())
