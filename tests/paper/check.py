"""Runs a small sweep, and uses its report as the author of a paper would: with pandas, pdfLaTeX and figures in PDF.

    python check.py --program FILE [--no-latex] [--no-poppler]

Needs the packages of requirements.txt, and unless told otherwise pdflatex and poppler's pdffonts. `cargo xtask ci --only paper` runs this; each
check prints a line, and the first that fails ends it with code 1.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas
import pyarrow.parquet

SWEEP = ["sweep", "--lang", "en,pcm", "--policies", "none,first-2", "--seeds", "42,43", "--set", "train.epochs=2", "--no-timing"]
TEXT = Path(__file__).with_name("main.tex")


class Failed(Exception):
    """A check that does not hold."""


def check(holds, what, found=""):
    print(f"{'ok  ' if holds else 'FAIL'} {what} {'' if holds else found}".rstrip(), flush=True)
    if not holds:
        raise Failed(what)


def tables(report, records):
    """What pandas reads from both files is equal, and is what the records say."""
    parquet = pandas.read_parquet(report / "results.parquet", dtype_backend="numpy_nullable")
    # As docs/records.md says; the types are those of Parquet, since a column may be empty here.
    csv = pandas.read_csv(
        report / "results.csv", keep_default_na=False, na_values=[""], float_precision="round_trip", dtype=parquet.dtypes.to_dict()
    )
    pandas.testing.assert_frame_equal(parquet, csv, check_exact=True)
    check(True, f"pandas reads {len(csv)} equal rows of {len(csv.columns)} columns from CSV and Parquet")
    plain = pandas.read_csv(report / "results.csv")
    for name, kind in [("epoch", "int64"), ("dev_accuracy", "float64"), ("selected", "bool"), ("policy", "object")]:
        check(str(plain[name].dtype) == kind, f"{name} is {kind} without being told", str(plain[name].dtype))
    kinds = {str(field.type) for field in pyarrow.parquet.read_schema(report / "results.parquet")}
    check(kinds == {"string", "int64", "double", "bool"}, f"Parquet has the types {', '.join(sorted(kinds))}", str(kinds))
    check(not csv.duplicated(["cell_id", "epoch", "task"]).any(), "cell, epoch and task name a row")
    expected = {}
    for record in records:
        for row in record["result"]["epochs"]:
            expected[record["cell"]["id"], row["epoch"]] = (row["step"], row["dev"]["correct"] / row["dev"]["words"], row["train_loss_nats"])
    found = {
        (row.cell_id, row.epoch): (row.step, row.dev_accuracy, row.train_loss_nats) for row in parquet.itertuples()
    }
    check(found == expected, f"steps, accuracies and losses are those of {len(records)} records", f"{found} {expected}")
    means = parquet[parquet.selected].groupby(["language", "policy"]).dev_accuracy.mean()
    check(len(means) == 4, f"a mean per language and policy in one line: {means.round(4).to_dict()}")
    return means


def compiled(folder, report, text):
    (folder / "text.tex").write_text(text)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"\\def\\report{{{report}}}\\input{{text}}"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")


def latex(folder, report, means):
    """The text compiles, names that are not there are errors, and what is printed is what pandas computes."""
    text = TEXT.read_text()
    shutil.copytree(report, folder / "report")
    ran = compiled(folder, "report", text)
    check(ran.returncode == 0, "pdflatex compiles tables and numbers", ran.stdout[-2000:])
    log = (folder / "text.log").read_text(errors="replace")
    check("Missing character" not in log, "every letter has a glyph")
    body = r"\typeout{MEAN \FrostlineResult{en}{none}{dev-accuracy-mean}}"
    ran = compiled(folder, "report", text.replace(r"\begin{document}", r"\begin{document}" + body))
    mean = f"{100 * means['en', 'none']:.2f}"
    check(f"MEAN \\ensuremath {{{mean}}}" in ran.stdout, f"a number in the text is {mean}, as pandas computes it", ran.stdout[-2000:])
    defined = re.findall(r"^\\FrostlineDefine((?:\{[^{}]*\}){3})", (report / "results.tex").read_text(), re.M)
    check(len(set(defined)) == len(defined) > 200, f"{len(defined)} numbers, each with a name of its own")
    kinds = [r"{dev-f1-NOUN}", r"{dev-known}", r"{dev-accuracy-mean}", r"{time-saved-predicted}"]
    missing = [kind for kind in kinds if not any(name.endswith(kind) for name in defined)]
    check(not missing, "tags, familiarity, costs and accuracies have names", str(missing))
    body = "\n".join(rf"\FrostlineResult{name}\par" for name in defined)
    ran = compiled(folder, "report", text.replace(r"\end{document}", body + "\n" + r"\end{document}"))
    check(ran.returncode == 0, "pdflatex prints every number by its name", ran.stdout[-2000:])
    for wrong, said in [
        (r"\FrostlineResult{en}{first-9}{dev-accuracy}", "There is no result `dev-accuracy' of `first-9' in `en'"),
        (r"\FrostlineTable{result}", "There is no table `result'"),
    ]:
        ran = compiled(folder, "report", text.replace(r"\end{document}", wrong + r"\end{document}"))
        check(ran.returncode != 0 and said in ran.stdout.replace("\n", ""), f"an error: {said}", ran.stdout[-2000:])
    other = folder / "report" / "results.tex"
    other.write_text(other.read_text().replace(r"\def\FrostlineResultsDigest{", r"\def\FrostlineResultsDigest{0"))
    ran = compiled(folder, "report", text)
    said = "results.tex and tables.tex are of different reports"
    check(ran.returncode != 0 and said in ran.stdout.replace("\n", ""), f"an error: {said}", ran.stdout[-2000:])


def figures(report):
    """Every figure is a PDF whose fonts are embedded, as poppler reads it."""
    drawn = sorted(report.glob("figures/*.svg"))
    pdfs = [figure.with_suffix(".pdf") for figure in drawn]
    check(drawn and all(pdf.exists() for pdf in pdfs), f"{len(drawn)} figures, each as PDF too")
    fonts = set()
    for pdf in pdfs:
        ran = subprocess.run(["pdffonts", str(pdf)], capture_output=True, text=True)
        rows = [line.split() for line in ran.stdout.splitlines()[2:]]
        # The last five columns: emb, sub, uni, and the object's two numbers.
        check(ran.returncode == 0 and rows and all(row[-5] == "yes" for row in rows), f"{pdf.name}: {len(rows)} fonts, embedded", ran.stdout)
        fonts.update(row[0].split("+")[1] for row in rows)
    check(fonts == {"DejaVuSansCondensed", "DejaVuSansCondensed-Bold"}, f"they are {', '.join(sorted(fonts))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True, type=Path)
    parser.add_argument("--no-latex", action="store_true")
    parser.add_argument("--no-poppler", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="frostline-paper-") as name:
        folder = Path(name)
        command = [str(arguments.program.resolve()), *SWEEP, "--out", str(folder / "sweep")]
        ran = subprocess.run(command, capture_output=True, text=True)
        check(ran.returncode == 0, "a sweep", ran.stderr)
        last = ran.stdout.rstrip().splitlines()[-1]
        check("report/index.html" in last, f"its last line names the page: {last.split(folder.name)[-1]}", last)
        report = folder / "sweep" / "report"
        records = [json.loads(file.read_text()) for file in sorted(folder.glob("sweep/cells/*/record.json"))]
        means = tables(report, records)
        if not arguments.no_poppler:
            figures(report)
        if not arguments.no_latex:
            latex(folder, report, means)


if __name__ == "__main__":
    try:
        main()
    except Failed:
        sys.exit(1)
