"""The scores of `frostline score-blocks`, computed with PyTorch from their definitions.

    python block_scores.py --model CELL_FOLDER/model --train TRAIN.conllu --scores block_scores.json

`--model` is the model that the scores start from, saved by a cell whose learning rate changes nothing. `--scores` is the file that
`frostline score-blocks --out` wrote, with one entry. Prints one JSON line: for each score the values, and how far the file's are
from them at most, as a share of the value (of the accuracies of probes: the difference).
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any, Dict, List, Tuple

import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer

BLOCK = re.compile(r"(?:^|\.)layers?\.(\d+)\.")


def read_conllu(path: Path) -> List[Tuple[List[str], List[str]]]:
    """Forms and UPOS of the words of each sentence."""
    sentences = []
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if line and not line.startswith("#")]
        words = [row for row in rows if row[0].isdigit()]
        if words:
            sentences.append(([row[1] for row in words], [row[3] for row in words]))
    return sentences


class Scorer:
    """A model with the sentences that it is scored on."""

    def __init__(self, folder: Path, sentences: List[Tuple[List[str], List[str]]]) -> None:
        self.model = AutoModelForTokenClassification.from_pretrained(folder, attn_implementation="eager").eval()
        self.labels: Dict[str, int] = self.model.config.label2id
        tokenizer = AutoTokenizer.from_pretrained(folder)
        longest = self.model.config.max_position_embeddings
        self.examples = []
        self.words: List[int] = []
        for words, tags in sentences:
            encoding = tokenizer(words, is_split_into_words=True, truncation=True, max_length=longest)
            first: Dict[int, int] = {}
            for place, word in enumerate(encoding.word_ids()):
                if word is not None:
                    first.setdefault(word, place)
            gold = [self.labels.get(tags[word], -100) if tags[word] != "_" else -100 for word in first]
            self.examples.append((encoding["input_ids"], list(first.values()), gold))
            self.words.append(len(words))
        self.blocks: Dict[int, List[torch.nn.Parameter]] = {}
        for name, parameter in self.model.named_parameters():
            found = BLOCK.search(name)
            parameter.requires_grad_(found is not None)
            if found:
                self.blocks.setdefault(int(found.group(1)), []).append(parameter)

    def gradient(self, numbers: List[int]) -> List[torch.Tensor]:
        """The gradient of the mean loss of all labels of these sentences, for each block as one vector of 64-bit numbers."""
        self.model.zero_grad()
        rows, gold = [], []
        for number in numbers:
            ids, places, labels = self.examples[number]
            rows.append(self.model(input_ids=torch.tensor([ids])).logits[0, places])
            gold += labels
        torch.nn.functional.cross_entropy(torch.cat(rows), torch.tensor(gold)).backward()
        return [torch.cat([p.grad.flatten() for p in self.blocks[block]]).double() for block in sorted(self.blocks)]

    def gradient_scores(self, order: List[int], batch: int) -> Dict[str, List[float]]:
        norms = [torch.cat([p.detach().flatten() for p in self.blocks[b]]).double().norm() for b in sorted(self.blocks)]
        relative = []
        for start in range(0, len(order), batch):
            relative.append([float(g.norm() / n) for g, n in zip(self.gradient(order[start : start + batch]), norms)])
        total = [torch.zeros(len(torch.cat([p.flatten() for p in self.blocks[b]])), dtype=torch.float64) for b in sorted(self.blocks)]
        squares = [torch.zeros_like(values) for values in total]
        for number in order:
            for block, gradient in enumerate(self.gradient([number])):
                total[block] += gradient
                squares[block] += gradient**2
        count = len(order)
        fisher, ratio = [], []
        for sums, square in zip(total, squares):
            mean = sums / count
            variance = (square - count * mean**2) / (count - 1)
            known = variance > 0
            fisher.append(float((square / count).mean()))
            ratio.append(float(torch.where(known, mean**2 / torch.where(known, variance, 1), 0.0).mean()))
        return {
            "fisher": fisher,
            "relative_gradient": [sum(column) / len(column) for column in zip(*relative)],
            "signal_to_noise": ratio,
        }

    @torch.no_grad()
    def layers(self, numbers: List[int]) -> Tuple[List[torch.Tensor], torch.Tensor]:
        """The outputs of the embeddings and of each block at the first subwords of words, and the labels."""
        rows: List[List[torch.Tensor]] = []
        gold: List[int] = []
        for number in numbers:
            ids, places, labels = self.examples[number]
            states = self.model(input_ids=torch.tensor([ids]), output_hidden_states=True).hidden_states
            rows.append([layer[0, places] for layer in states])
            gold += labels
        return [torch.cat(layer).double() for layer in zip(*rows)], torch.tensor(gold)

    def probe_accuracies(self, order: List[int]) -> List[float]:
        cut = len(order) * 2 // 3
        fitted, gold = self.layers(order[:cut])
        scored, scored_gold = self.layers(order[cut:])
        # Words that were cut off count as wrong.
        words = sum(self.words[number] for number in order[cut:])
        right = [probe(x, gold, other, scored_gold, len(self.labels)) for x, other in zip(fitted, scored)]
        return [count / words for count in right]


def probe(x: torch.Tensor, gold: torch.Tensor, other: torch.Tensor, other_gold: torch.Tensor, classes: int) -> int:
    """How many words a logistic regression on standardised features labels right; half the squared weights are its penalty."""
    mean, deviation = x.mean(0), x.std(0, unbiased=False)
    factor = torch.where(deviation > 1e-12, 1 / deviation, 0.0)
    x, other = (x - mean) * factor, (other - mean) * factor
    weights = torch.zeros(classes, x.shape[1], dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(classes, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights, bias], max_iter=300, tolerance_grad=1e-6, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        total = torch.nn.functional.cross_entropy(x @ weights.T + bias, gold, reduction="sum") + 0.5 * (weights**2).sum()
        total = total / len(gold)
        total.backward()
        return total

    optimizer.step(loss)
    with torch.no_grad():
        return int(((other @ weights.T + bias).argmax(1) == other_gold).sum())


def apart(ours: List[float], theirs: List[float], relative: bool) -> float:
    assert len(ours) == len(theirs), "another number of blocks"
    return max(abs(a - b) / (abs(b) if relative else 1.0) for a, b in zip(ours, theirs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--scores", type=Path, required=True)
    options = parser.parse_args()
    (scores,) = json.loads(options.scores.read_text())
    scorer = Scorer(options.model, read_conllu(options.train))
    found: Dict[str, Any] = scorer.gradient_scores(scores["sentences"], scores["batch"])
    found["probe_accuracy"] = scorer.probe_accuracies(scores["probed"])
    far = {name: apart(scores[name], values, name != "probe_accuracy") for name, values in found.items()}
    print(json.dumps({"apart": far, **found}))


if __name__ == "__main__":
    main()
