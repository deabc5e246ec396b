#!/usr/bin/env python3
"""Makes crossed.json: what numpy, scipy and rliable say of differences over seeds and sentences.

    pip install numpy==2.4.6 scipy==1.17.1 rliable==1.2.0 pandas==2.3.3
    python3 crossed.py > crossed.json

Results of resampling stand as [mean, standard deviation] over RUNS runs. `student` has one seed and one word per
sentence, where the interval is nearly that of scipy's one-sample t-test. `strata` has several of those, and the interval of
rliable's stratified bootstrap, with sentences for its runs and strata for its tasks.
"""
import json

import numpy as np
from rliable import library, metrics
from scipy import stats

rng = np.random.default_rng(20261122)
RUNS, RESAMPLES = 12, 2000


def spread(values):
    return [float(np.mean(values)), float(np.std(values, ddof=1))]


def data(seeds, sentences, seed_effect):
    words = np.clip(np.exp(rng.normal(2.4, 0.7, sentences)).astype(int), 1, 60)
    hard = rng.gamma(1.0, 1.0, sentences)
    own = 1 + seed_effect * rng.normal(size=(seeds, 1))
    gains = rng.binomial(words, np.clip(0.03 * hard * own, 0, 1), (seeds, sentences)) - rng.binomial(words, 0.015, (seeds, sentences))
    return words, gains


def bootstrap(words, gains, draw):
    """The variances of the mean over seeds and, on average, of a seed; resampling sentences."""
    n = len(words)
    picks = draw.integers(0, n, (RESAMPLES, n))
    by_seed = gains[:, picks].sum(-1) / words[picks].sum(-1)
    centre = gains.sum(-1, keepdims=True) / words.sum()
    scale = n / (n - 1)
    return scale * np.mean((by_seed.mean(0) - centre.mean()) ** 2), scale * np.mean((by_seed - centre) ** 2)


def crossed():
    for seeds, sentences, effect in ((2, 80, 0.2), (3, 120, 0.0), (5, 150, 0.4)):
        words, gains = data(seeds, sentences, effect)
        by_seed = gains.sum(1) / words.sum()
        runs = [bootstrap(words, gains, np.random.default_rng(seed)) for seed in range(RUNS)]
        of_mean, of_seed = np.array(runs).T
        shared = (of_seed - of_mean) / (seeds - 1)
        between = float(by_seed.var(ddof=1) / seeds)
        yield {"words": words.tolist(), "gains": gains.tolist(), "value": float(by_seed.mean()), "seeds": between, "sentences": spread(of_mean),
               "interaction": spread(shared)}


def student():
    for sentences, share in ((60, 0.3), (400, 0.1)):
        gains = rng.choice([-1, 0, 1], sentences, p=[share / 2, 1 - 1.3 * share, 0.8 * share])
        low, high = stats.ttest_1samp(gains, 0).confidence_interval(0.95)
        yield {"gains": gains.tolist(), "low": float(low), "high": float(high), "p": float(stats.ttest_1samp(gains, 0).pvalue)}


def strata():
    mean = lambda scores: np.array([metrics.aggregate_mean(scores)])
    for sentences, shares in ((100, (0.3, 0.1)), (250, (0.05, 0.2, 0.4))):
        parts = [rng.choice([-1, 0, 1], sentences, p=[share / 2, 1 - 1.3 * share, 0.8 * share]) for share in shares]
        scores = {"gains": np.stack(parts, axis=1).astype(float)}
        intervals = [library.get_interval_estimates(scores, mean, reps=RESAMPLES, random_state=np.random.RandomState(seed))[1]["gains"][:, 0] for seed in range(RUNS)]
        low, high = np.array(intervals).T
        yield {"gains": [part.tolist() for part in parts], "low": spread(low), "high": spread(high)}


def main():
    parts = {"crossed": crossed, "student": student, "strata": strata}
    text = ",\n".join(f'"{name}": [\n' + ",\n".join(json.dumps(case) for case in make()) + "\n]" for name, make in parts.items())
    print("{\n" + text + "\n}")


if __name__ == "__main__":
    main()
