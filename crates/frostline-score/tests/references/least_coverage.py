#!/usr/bin/env python3
"""How much 95 % intervals from few seeds must cover somewhere if they cover enough everywhere.

    pip install numpy==2.4.6 scipy==1.17.1
    python3 least_coverage.py

Sentences contribute a variance of 1 to the mean over seeds, of which `interaction` is what a seed does on single sentences;
both are known. What seeds contribute beyond that is not, but for its estimate, with seeds - 1 degrees of freedom. A rule gives a
half width for every estimate, perhaps at random, but never less than that of the sentences alone. A linear programme finds
the rule whose greatest coverage is least, among those that cover at least a given share whatever seeds contribute.
"""
import numpy as np
from scipy import optimize, sparse, stats

ALONE = stats.norm.isf(0.025)
OF_SEEDS = np.r_[0, np.geomspace(0.05, 60, 30)]
WIDTHS = np.geomspace(ALONE, 2500, 70)
EDGES = np.r_[0, np.geomspace(0.003, 3000, 160)]


def greatest(seeds, interaction, least):
    freedom, places = seeds - 1, len(EDGES) - 1
    covers = 2 * stats.norm.cdf(WIDTHS / np.sqrt(1 + OF_SEEDS)[:, None]) - 1
    found = np.diff(stats.chi2.cdf(EDGES * freedom / (OF_SEEDS + interaction)[:, None], freedom))
    coverage = np.einsum("at,aw->atw", found, covers).reshape(len(OF_SEEDS), -1)
    # Estimates beyond the last edge are always covered.
    beyond = 1 - found.sum(1)
    bounds = np.vstack([np.c_[-coverage, np.zeros(len(OF_SEEDS))], np.c_[coverage, -np.ones(len(OF_SEEDS))]])
    one_width = sparse.hstack([sparse.kron(sparse.eye(places), np.ones((1, len(WIDTHS)))), sparse.csr_matrix((places, 1))])
    cost = np.r_[np.zeros(coverage.shape[1]), 1]
    limits = np.r_[beyond - least, np.zeros(len(OF_SEEDS))]
    return optimize.linprog(cost, A_ub=bounds, b_ub=limits, A_eq=one_width, b_eq=np.ones(places), method="highs").fun


print("| seeds | interaction | at least 94 % everywhere | at least 95 % everywhere |\n|---|---|---|---|")
for seeds in (2, 3, 5):
    for interaction in (0.3, 0.6, 0.9):
        shown = [f"{100 * greatest(seeds, interaction, least):.1f} %" for least in (0.94, 0.95)]
        print(f"| {seeds} | {100 * interaction:.0f} % | {shown[0]} | {shown[1]} |")
