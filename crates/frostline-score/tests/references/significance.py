#!/usr/bin/env python3
"""Makes significance.json: what established packages say on seeded data.

    pip install scipy==1.17.1 statsmodels==0.15.0 scikit-learn==1.9.1 seqeval==1.2.2 deepsig==1.2.8
    python3 significance.py > significance.json    # some minutes, nearly all for deepsig

Deterministic results stand as they are. Results of resampling stand as [mean, standard deviation]
over RUNS runs, so that one run of another program can be held against their spread.
"""
import json
import math
import random
import warnings

import numpy as np
from deepsig.aso import aso, compute_violation_ratio
from scipy import stats
from seqeval import metrics as seqeval
from seqeval.scheme import IOB2
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

warnings.filterwarnings("ignore")
rng = random.Random(20261120)
RUNS = 12


def spread(values):
    values = np.array(values, dtype=float)
    return [float(values.mean()), float(values.std(ddof=1))]


def wilson():
    cases = [(0, 1), (1, 1), (0, 50), (50, 50), (1, 3), (24000, 25147), (3, 1000000)]
    cases += [(rng.randint(0, n), n) for n in (rng.randint(1, 30000) for _ in range(20))]
    for part, whole in cases:
        for confidence in (0.8, 0.95, 0.999):
            low, high = proportion_confint(part, whole, alpha=1 - confidence, method="wilson")
            yield {"part": part, "whole": whole, "confidence": confidence, "low": low, "high": high}


def mcnemars():
    pairs = [(0, 1), (1, 0), (3, 3), (10, 2), (5, 25), (400, 380), (1200, 1000), (60000, 59000), (0, 40), (7, 8)]
    pairs += [(rng.randint(0, 300), rng.randint(1, 300)) for _ in range(20)]
    for a, b in pairs:
        table = [[10, a], [b, 10]]
        exact, corrected = mcnemar(table, exact=True), mcnemar(table, exact=False, correction=True)
        at = stats.binom.pmf(min(a, b), a + b, 0.5)
        mid = 1 - at / 2 if a == b else 2 * stats.binom.cdf(min(a, b), a + b, 0.5) - at
        yield {"only_a": a, "only_b": b, "exact_p": exact.pvalue, "mid_p": mid,
               "corrected_statistic": corrected.statistic, "corrected_p": corrected.pvalue}


def holms():
    for n in (1, 2, 3, 7, 30):
        values = [round(rng.random() ** 4, 3) for _ in range(n)]
        yield {"p": values, "adjusted": multipletests(values, method="holm")[1].tolist()}


def summaries():
    for n in (2, 3, 5, 40):
        values = [0.9 + rng.gauss(0, 1e-3) for _ in range(n)]
        yield {"values": values, "mean": float(np.mean(values)), "std": float(np.std(values, ddof=1))}


def tags():
    names = ["ADJ", "ADV", "NOUN", "PUNCT", "VERB", "X"]
    for words, share in ((1, 0.0), (30, 0.5), (500, 0.8), (2000, 0.95)):
        gold = [rng.choice(names[:5]) for _ in range(words)]
        predicted = [g if rng.random() < share else rng.choice(names) for g in gold]
        labels = sorted(set(gold) | set(predicted))
        score = lambda average: [float(x) for x in precision_recall_fscore_support(gold, predicted, average=average, zero_division=0)[:3]]
        each = precision_recall_fscore_support(gold, predicted, labels=labels, zero_division=0)
        yield {"gold": gold, "predicted": predicted, "labels": labels, "matrix": confusion_matrix(gold, predicted, labels=labels).tolist(),
               "per_tag": [[float(column[i]) for column in each] for i in range(len(labels))],
               "macro": score("macro"), "weighted": score("weighted"), "micro": score("micro")}


def entities():
    alphabet = ["O", "O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-A-B", "I-A-B"]
    for sentences in (1, 5, 40):
        gold = [[rng.choice(alphabet) for _ in range(rng.randint(1, 20))] for _ in range(sentences)]
        predicted = [[t if rng.random() < 0.8 else rng.choice(alphabet) for t in s] for s in gold]
        case = {"gold": gold, "predicted": predicted}
        for name, options in (("lenient", {}), ("strict", {"mode": "strict", "scheme": IOB2})):
            case[name] = [float(score(gold, predicted, zero_division=0, **options))
                          for score in (seqeval.precision_score, seqeval.recall_score, seqeval.f1_score)]
        yield case


def shares(n, accuracy, lengths):
    whole = [rng.randint(*lengths) for _ in range(n)]
    return [[sum(rng.random() < accuracy for _ in range(w)), w] for w in whole]


def bootstraps():
    ratio = lambda part, whole, axis=-1: part.sum(axis) / whole.sum(axis)
    for data in (shares(12, 0.7, (5, 9)), shares(60, 0.93, (1, 40)), shares(400, 0.6, (1, 30))):
        part, whole = np.array(data).T
        case = {"shares": data, "value": float(ratio(part, whole))}
        for method in ("percentile", "BCa"):
            runs = [stats.bootstrap((part, whole), ratio, paired=True, vectorized=True, n_resamples=9999, batch=500,
                                    confidence_level=0.9, method=method, rng=np.random.default_rng(seed)).confidence_interval
                    for seed in range(RUNS)]
            case[method] = {"low": spread([r.low for r in runs]), "high": spread([r.high for r in runs])}
        yield case


def pairs():
    difference = lambda a, b, whole, axis=-1: a.sum(axis) / whole.sum(axis) - b.sum(axis) / whole.sum(axis)
    for n, better in ((12, 0.1), (14, 0.0), (300, 0.03), (200, 0.0)):
        data = []
        for _ in range(n):
            whole = rng.randint(3, 25)
            b = sum(rng.random() < 0.8 for _ in range(whole))
            a = min(whole, max(0, b + sum(rng.random() < 0.1 + better for _ in range(whole)) - sum(rng.random() < 0.1 for _ in range(whole))))
            data.append([a, b, whole])
        a, b, whole = np.array(data).T
        value = float(difference(a, b, whole))
        p_values, ahead, lows, highs = [], [], [], []
        for seed in range(RUNS):
            draw = np.random.default_rng(seed)
            picks = draw.integers(0, n, (9999, n))
            drawn = difference(a[picks], b[picks], whole[picks])
            p_values.append((np.sum(np.abs(drawn - value) >= abs(value) - 1e-12) + 1) / 10000)
            ahead.append(np.mean(drawn > 0) + 0.5 * np.mean(drawn == 0))
            found = stats.bootstrap((a, b, whole), difference, paired=True, vectorized=True, n_resamples=9999, batch=500,
                                    confidence_level=0.95, method="percentile", rng=draw).confidence_interval
            lows.append(found.low)
            highs.append(found.high)
        # Lengths are the same on both sides, so that swapping is a change of sign; exact where n is small.
        p = [stats.permutation_test(((a - b).astype(float),), lambda x, axis=-1: x.sum(axis), permutation_type="samples", vectorized=True,
                                    n_resamples=math.inf if n < 15 else 9999, batch=500, rng=np.random.default_rng(seed)).pvalue
             for seed in range(1 if n < 15 else RUNS)]
        yield {"triples": data, "value": value, "p_value": spread(p_values), "a_ahead": spread(ahead), "low": spread(lows), "high": spread(highs),
               "permutation_p": [float(p[0]), math.sqrt(p[0] * (1 - min(p[0], 1)) / 9999)] if n < 15 else spread(p)}


def orders():
    draw = lambda n, mean, deviation: [round(rng.gauss(mean, deviation), 5) for _ in range(n)]
    cases = [(draw(5, 0.95, 0.004), draw(5, 0.948, 0.004)), (draw(10, 0.9, 0.01), draw(7, 0.9, 0.01)), (draw(20, 0.9, 0.01), draw(20, 0.893, 0.02)),
             (draw(8, 0.8, 0.02), draw(40, 0.81, 0.01)), (draw(5, 0.96, 0.001), draw(5, 0.93, 0.001)), (draw(30, 0.7, 0.03), draw(30, 0.72, 0.01)),
             ([0.9, 0.9, 0.91], [0.9, 0.91, 0.9])]
    for a, b in cases:
        run = lambda seed: aso(a, b, confidence_level=0.95, show_progress=False, seed=1000000 * seed, num_bootstrap_iterations=1000)
        yield {"a": a, "b": b, "violation": float(compute_violation_ratio(np.array(a), np.array(b), dt=1e-5)),
               "bound": spread([run(seed) for seed in range(RUNS)])}


def main():
    parts = {"wilson": wilson, "mcnemar": mcnemars, "holm": holms, "mean_std": summaries, "tags": tags, "entities": entities,
             "bootstrap": bootstraps, "pairs": pairs, "order": orders}
    text = ",\n".join(f'"{name}": [\n' + ",\n".join(json.dumps(case) for case in make()) + "\n]" for name, make in parts.items())
    print("{\n" + text + "\n}")


if __name__ == "__main__":
    main()
