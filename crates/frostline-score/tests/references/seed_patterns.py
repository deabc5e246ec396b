#!/usr/bin/env python3
"""Makes seed_patterns.json: how much seeds scatter in the tables of docs/study, as patterns for simulations.

    for name in docs/study/*.tar.xz; do tar -xJf $name -C FOLDER; done
    python3 seed_patterns.py FOLDER > seed_patterns.json
    python3 seed_patterns.py FOLDER --fit      (needs scipy: degrees of freedom of a prior for the variances, and for their ratios)

A table is a sweep's comparisons with `none` in one language. For each comparison: its policy, the standard deviation of a seed's
difference (points) that single sentences alone explain, and that between seeds, shrunk as in frostline_score::moderation because an
estimate from three to five seeds is itself rough. Comparisons whose seeds all agree with `none` to the last word are left out,
and sweeps whose seeds draw sentences of their own.
"""
import collections
import glob
import json
import sys

import numpy as np


def right(path):
    """Words and right words of every sentence."""
    found = collections.OrderedDict()
    for line in open(path, encoding="utf-8").read().split("\n")[1:]:
        if line:
            sentence, _, _, gold, predicted, *_ = line.split("\t")
            of = found.setdefault(sentence, [0, 0])
            of[0] += 1
            of[1] += gold == predicted
    return np.array(list(found.values()), float)


def rows(cells, lang):
    none = cells[lang, "none"]
    for (other, policy), runs in sorted(cells.items()):
        seeds = sorted(set(runs) & set(none))
        if other != lang or policy == "none" or len(seeds) < 3:
            continue
        if any(not np.array_equal(runs[seed][:, 0], runs[seeds[0]][:, 0]) for seed in seeds if runs[seed].shape == runs[seeds[0]].shape):
            continue
        if len({runs[seed].shape for seed in seeds}) > 1:
            continue
        words = runs[seeds[0]][:, 0]
        gains = np.array([runs[seed][:, 1] - none[seed][:, 1] for seed in seeds])
        by_seed = gains.sum(1) / words.sum()
        apart = (gains - by_seed[:, None] * words) / words.sum()
        count = len(seeds)
        of_seed, of_mean = (apart**2).sum(1).mean(), (apart.mean(0) ** 2).sum()
        interaction = max(count * (of_seed - of_mean) / (count - 1), 0)
        if by_seed.var() > 0 and interaction > 0:
            yield policy, count - 1, interaction, by_seed.var(ddof=1)


def fit(tables):
    """Degrees of freedom of a prior that fits: each comparison against the median of the others of its table."""
    from scipy import optimize, stats

    scales = {"variances": lambda row: 1.0, "ratios to what single sentences explain": lambda row: row[2]}
    for name, scale in scales.items():
        found, freedom = [], []
        for table in tables:
            for at, row in enumerate(table):
                others = [other[3] / scale(other) for place, other in enumerate(table) if place != at]
                found.append(row[3] / scale(row) / np.median(others))
                freedom.append(row[1])
        found, freedom = np.array(found), np.array(freedom)
        loss = lambda at: -(stats.f.logpdf(found / np.exp(at[1]), freedom, np.exp(at[0])) - at[1]).sum()
        print(f"{name}: {np.exp(optimize.minimize(loss, [0.5, 0.0], method='Nelder-Mead').x[0]):.1f} degrees of freedom")


def main():
    tables, rows_of_tables = [], []
    for sweep in sorted(glob.glob(sys.argv[1] + "/*/sweep.json")):
        folder, cells = sweep.rsplit("/", 1)[0], collections.defaultdict(dict)
        for path in sorted(glob.glob(folder + "/cells/*/record.json")):
            record = json.load(open(path, encoding="utf-8"))
            settings = record["cell"]["settings"]
            if not record["error"]:
                cells[settings["lang"], settings["policy"]][settings["seed"]] = right(path.replace("record.json", "dev.tsv"))
        for lang in sorted({lang for lang, _ in cells}):
            found = list(rows(cells, lang))
            if len(found) < 4:
                continue
            rows_of_tables.append(found)
            median = max(1, np.median([own / least for _, _, least, own in found]) / 0.75)
            table = [[policy, round(100 * least**0.5, 4), round(100 * max((3.5 * median * least + freedom * own) / (3.5 + freedom), least) ** 0.5, 4)]
                     for policy, freedom, least, own in found]
            tables.append({"sweep": folder.rsplit("/", 1)[1], "lang": lang, "rows": table})
    if "--fit" in sys.argv:
        return fit(rows_of_tables)
    print("[\n" + ",\n".join(json.dumps(table) for table in tables) + "\n]")


main()
