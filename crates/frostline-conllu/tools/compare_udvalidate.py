"""Compares `examples/check` with udvalidate of the PyPI package udtools, on inputs made here.

    python -m venv /tmp/ud && /tmp/ud/bin/pip install udtools==0.2.9
    cargo build --release --example check -p frostline-conllu
    /tmp/ud/bin/python compare_udvalidate.py --check target/release/examples/check [--typed]
    /tmp/ud/bin/python compare_udvalidate.py --check target/release/examples/check --typed --files TREEBANK/*.conllu

Every input is made by this file from a seed; nothing of udtools is copied. Compared are the
verdicts (accepted or rejected): at level 1, or with --typed at level 2; normal form C is checked at
both. Exit code 1 where any differ. README.md lists the differences that are intended; the inputs
have none of them.
"""

import argparse
import collections
import io
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor

REST = "f\tl\tX\tx\t_\t0\troot\t_\t_"
SPACES = [" ", "\u00a0", "\u3000", "\u2028", "\u2003", "\u1680", "\u0085", "\x0b", "\x0c", "\x1c", "\x1f",
          "\u200b", "\u180e", "\ufeff", "\u2060", "  ", " \u00a0", "\r", "\x00", "\x7f"]
LETTERS = ["a", "é", "e\u0301", "ß", "日本", "\u1100\u1161", "Å", "\u212b", "ﬁ", "😀", "\u0958", "א\u05bc",
           "q\u0323\u0307", "q\u0307\u0323", "_", "-", ".", "#", "\u0344", "\ufffd"]


def sentence(ids, comments=("# sent_id = s", "# text = f")):
    lines = list(comments) + [f"{i}\t{REST}" for i in ids]
    return "\n".join(lines) + "\n\n"


def by_hand():
    """Inputs thought of one by one."""
    row = "1\t" + REST
    yield from ["", "\n", "\n\n", " \n", "\t\n", "#\n", "#\n\n", "# a\n\n# b\n\n", "x", "x\n", "x\n\n", "1\n\n"]
    yield from [row, row + "\n", row + "\n\n", row + "\n\n\n", "\n" + row + "\n\n", row + "\n \n", row + "\n\t\n"]
    yield from [row + "\r\n\r\n", row + "\n\r\n", row + "\r\n\n", "# a\r\n" + row + "\n\n", row + "\r\r\n\n"]
    yield from ["\ufeff" + row + "\n\n", "\ufeff# a\n" + row + "\n\n", row + "\n\n\ufeff" + row + "\n\n", "\ufeff"]
    yield from ["# a\n" + row + "\n# b\n\n", row + "\n# b\n2\t" + REST + "\n\n", "#a\n#\n##\n" + row + "\n\n"]
    yield from [" # a\n" + row + "\n\n", "\u00a0\n" + row + "\n\n", row + "\n\u3000\n", row + "\n\n\u2028\n"]
    yield from ["# \n" + row + "\n\n", "# a \n" + row + "\n\n", "#\ta\tb\n" + row + "\n\n", "# a\x0cb\x1c\x85\u2028\n" + row + "\n\n"]
    yield from [row + "\t\n\n", row + "\t_\n\n", row[:-2] + "\n\n", "\t" + row + "\n\n", row.replace("\t", " ") + "\n\n"]
    yield from [row.replace("\t", "\t\t", 1) + "\n\n", row + " \n\n", row + "\n\n" + row + "\n", row + "\n\n# a\n"]
    for k in range(10):
        cols = row.split("\t")
        yield "\t".join(cols[:k] + [""] + cols[k + 1:]) + "\n\n"
        yield "\t".join(cols[:k] + cols[k + 1:]) + "\n\n"
    for ident in ["0", "01", "1.1", "1.0", "0.1", "0.0", "00.1", "0.01", "1-1", "1-2", "0-1", "01-1", "1-01", "2-1", "+1", "-1",
                  "1-", "1.", "1.1.1", "1-1-1", "1-1.1", "1a", "a1", "１", "١", "²", "1e0", "1,2", "1_2", "#1", "1 ", "1:2",
                  "18446744073709551617", "1-18446744073709551617", "4294967296.1", "0.4294967297", "4294967297"]:
        yield sentence([ident])
        yield sentence(["1", ident])
        yield sentence([ident, "1"])
        yield sentence([ident, "1", "2"])
        yield sentence(["1", ident, "2", "3"])
    for text in [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"]:
        yield b"1\ta" + text + row[3:].encode() + b"\n\n"
        yield b"# " + text + b"\n" + row.encode() + b"\n\n"
        yield row.encode() + b"\n\n" + text
        yield row.encode() + b"\n\n" + text + b"\n\n"


def id_lists(draw):
    """Plausible sequences of IDs, sometimes shuffled, doubled, cut or with one number changed."""
    words = draw.randint(1, 6)
    ids, word = [], 1
    until = 0
    if draw.random() < 0.3:
        ids += [f"0.{k + 1}" for k in range(draw.randint(1, 2))]
    while word <= words:
        if word > until and draw.random() < 0.4:
            until = min(words, word + draw.randint(0, 2))
            ids.append(f"{word}-{until}")
        ids.append(str(word))
        if draw.random() < 0.3:
            ids += [f"{word}.{k + 1}" for k in range(draw.randint(1, 2))]
        word += 1
    for _ in range(draw.choice([0, 1, 1, 1, 2, 3])):
        at, other = draw.randrange(len(ids)), draw.randrange(len(ids))
        what = draw.randrange(5)
        if what == 0:
            ids.insert(other, ids.pop(at))
        elif what == 1:
            ids.insert(other, ids[at])
        elif what == 2 and len(ids) > 1:
            ids.pop(at)
        elif what == 3:
            ids.insert(at, draw.choice([f"{draw.randint(1, 7)}-{draw.randint(1, 7)}", f"{draw.randint(0, 6)}.{draw.randint(1, 3)}"]))
        else:
            ids[at] = re.sub(r"\d+", lambda m: str(draw.randint(0, 7)), ids[at], count=1)
    return ids


def mutated(draw):
    """A good file with a few characters put in, taken out or exchanged."""
    text = "".join(sentence(["1-2", "1", "2", "2.1", "3"][: draw.randint(1, 5)] if draw.random() < 0.5 else ["1", "2"])
                   for _ in range(draw.randint(1, 3)))
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        at = draw.randrange(len(text))
        what = draw.randrange(6)
        if what == 0:
            text = text[:at] + draw.choice(SPACES) + text[at:]
        elif what == 1:
            text = text[:at] + draw.choice(LETTERS) + text[at:]
        elif what == 2:
            text = text[:at] + text[at + 1:]
        elif what == 3:
            text = text[:at] + draw.choice(["\t", "\n", "\t_", "\n\n"]) + text[at:]
        elif what == 4:
            inner = draw.choice([m.start() for m in re.finditer("[fl]\t", text)] or [at])
            text = text[:inner + 1] + draw.choice(SPACES) + draw.choice(LETTERS) + text[inner + 1:]
        else:
            inner = draw.choice([m.start() for m in re.finditer("\t_", text)] or [at])
            text = text[:inner + 1] + draw.choice(LETTERS) + draw.choice(SPACES) + text[inner + 2:]
    return text


def spaced(draw):
    """White space at some place of some column, or on a line of its own."""
    if draw.random() < 0.1:
        return sentence(["1"]) + draw.choice(["", "# a\n"]) + draw.choice(SPACES) * draw.randint(1, 2) + "\n" + sentence(["1"])
    ids = ["0.1", "1-2", "1", "2"]
    lines = sentence(ids).split("\n")
    at = draw.randrange(2, 6)
    columns = lines[at].split("\t")
    column = draw.choice([0, 1, 1, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9])
    value, blank = columns[column], draw.choice(SPACES)
    columns[column] = draw.choice([blank + value, value + blank, value + blank + "x", value + blank + draw.choice(SPACES) + "x", blank])
    lines[at] = "\t".join(columns)
    return "\n".join(lines)


def cases(count, seed, level_2):
    draw = random.Random(seed)
    if level_2:
        return [typed(draw).encode() for _ in range(count)]
    made = list(by_hand())
    while len(made) < count:
        made.append(draw.choice([lambda d: sentence(id_lists(d)), mutated, spaced])(draw))
    return [case if isinstance(case, bytes) else case.encode() for case in made]


NAMES = ["Case", "CASE", "Number", "Number[psor]", "Abbr", "Typo", "A1", "A", "case", "X[1]", "X[A]", "É"]
VALUES = ["Yes", "Nom", "NOM", "Acc,Nom", "Nom,Acc", "1", "2,10", "10,2", "No,No", "x", "", "A_B", "A,"]
DEPRELS = ["dep:x", "nsubj:pass", "foo", "foo:x", "_", "Dep", "dep:", "dep:X", "dep:x:y", "dep:é", "dep1", "dobj"]
COMMENTS = ["# sent_id = t", "#sent_id=s", "# sent_id = a b", "# sent_id = a/b/c", "# sent_id_x = a", "# text = f", "#text=f f",
            "# newpar", "# newpar", "# newdoc x", "# newdoc id = x", "# parallel_id = a/b", "# parallel_id = a/b/alt1",
            "# parallel_id = a/b/alt2part1", "# parallel_id = A/b", "# note = \u00a0 \ufffd", "# note"]
KEYS = ["SpaceAfter", "NoSpaceAfter", "Gloss", "Lang", "Ref", "LId", "LDeriv", "Translit", "LTranslit", "Entity", "spaceafter", "A b", ""]
RELATIONS = ["root", "dep", "nsubj:pass", "conj:and", "conj:a_b", "obl:é", "obl:日本:x", "nmod:é:é", "dep:", "Dep", "dep:A",
             "dep:a1", "foo", "foo:and", "ref", "dep:a__b", "dep:ʰ", "dep:\u0323", "dep:ǅ", "dep:x:y:z", "dep:x:é:z", "dep:é:y:z", "é", "1", ""]


def typed(draw):
    """One to three well-formed sentences whose values and comments are good, odd or bad."""
    count, enhanced = draw.choice([1, 1, 2, 3]), draw.random() < 0.6
    other = draw.random() < 0.1
    return "".join(one(draw, number, enhanced ^ (other and number > 0)) for number in range(count))


def one(draw, number, enhanced):
    """A sentence, with or without enhanced dependencies."""
    ids, words = ["0.1"] if draw.random() < 0.2 else [], draw.randint(1, 5)
    spans = {}
    for word in range(1, words + 1):
        if draw.random() < 0.15:
            spans[str(word)] = f"{word}-{word}"
        ids.append(str(word))
        if draw.random() < 0.2:
            ids += [f"{word}.1"] + ([f"{word}.2"] if draw.random() < 0.3 else [])
    ids = ids if enhanced else [ident for ident in ids if "." not in ident]
    nodes = list(ids)
    odd = draw.choice([0, 0.02, 0.05])
    text = " ".join("f" for _ in range(words))
    if draw.random() < odd:
        text = draw.choice([text + " ", text + "f", text[1:], text.replace(" ", "", 1), text.replace(" ", "\u3000"), "", "F" + text[1:]])
    lines = [f"# sent_id = s{number if draw.random() > odd else 0}", "# text = " + text]
    for _ in range(draw.choice([0, 0, 1, 2])):
        if draw.random() < 3 * odd:
            lines.insert(draw.randrange(len(lines) + 1), draw.choice(COMMENTS))
    if draw.random() < odd:
        lines.pop(0)
    for ident in ids:
        is_word = "." not in ident
        if ident in spans:
            values = {"feats": draw.choice(["_", "_", "Typo=Yes"]), "misc": draw.choice(["_", "Gloss=x", "A"])}
            if draw.random() < 2 * odd:
                column = draw.choice(["lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"])
                values[column] = draw.choice(["X", "Case=Nom", "0", "dep", "0:root", "SpaceAfter=Yes"])
            get = lambda key: values.get(key, "_")
            lines.append("\t".join([spans[ident], "f", get("lemma"), get("upos"), get("xpos"), get("feats"), get("head"), get("deprel"),
                                    get("deps"), get("misc")]))
        upos = draw.choice(["NOUN", "X", "SCONJ", "PUNCT"]) if is_word or draw.random() < 0.5 else "_"
        if draw.random() < odd:
            upos = draw.choice(["noun", "_", "XX", "Noun", "-"])
        feats = sorted(f"{n}={v}" for n, v in [("Case", "Nom"), ("Number", "Sing"), ("Number[psor]", "Dual,Sing")] if draw.random() < 0.3)
        if draw.random() < 3 * odd:
            feats += [f"{draw.choice(NAMES)}={draw.choice(VALUES)}" for _ in range(draw.randint(1, 2))]
            if draw.random() < 0.7:
                feats.sort(key=str.lower)
        feats = "|".join(feats) or "_"
        if draw.random() < odd:
            feats = draw.choice([feats + "|", "|" + feats, feats + "|_", "A", "=", "A=B=C", feats + "||A=B"])
        head = str(draw.randint(0, int(ident) - 1)) if is_word and ident != "1" else "0" if is_word else "_"
        head = "1" if is_word and head == "0" and ident != "1" else head
        if not is_word and draw.random() < odd:
            head = "1"
        if is_word and draw.random() < 2 * odd:
            head = draw.choice([ident, str(words), str(words + 1), "0", "1", "2", "01", "-1", "_", "1.1", "x", "99999999999"])
        deps = "_"
        if enhanced:
            deps = f"{'0:root' if ident == '1' else '1:dep'}"
            if draw.random() < 0.3:
                more = [f"{draw.choice([n for n in nodes if n != ident] or ['0'])}:{draw.choice(RELATIONS[:6])}" for _ in range(2)]
                deps = "|".join(sorted(set([deps] + more), key=lambda d: (float(d.split(":")[0]), d.split(":", 1)[1])))
        if draw.random() < 2 * odd:
            heads = nodes + ["0", "9", "9.1", "1.9", "01", "0.0", "x", "", "_", "1-2"]
            deps = "|".join(f"{draw.choice(heads)}:{draw.choice(RELATIONS)}" for _ in range(draw.randint(1, 3)))
            deps = draw.choice([deps] * 8 + [deps + "|", deps.replace(":", ""), "1", ":"])
        misc = [draw.choice(["Gloss=a b", "Ref=1", "Lang=en", "A", "Entity=(x)"]) for _ in range(draw.choice([0, 0, 1]))]
        if draw.random() < 3 * odd:
            misc += [draw.choice(KEYS) + draw.choice(["", "=", "=No", "=Yes", "=x=y", "= No"]) for _ in range(draw.randint(1, 3))]
        misc = "|".join(misc).strip() or "_"
        misc = misc.replace("  ", " ")
        deprel = "dep" if is_word else "_"
        if draw.random() < odd:
            deprel = draw.choice(DEPRELS)
        lines.append("\t".join([ident, "f", "l", upos, "x", feats, head, deprel, deps, misc]))
    return "\n".join(lines) + "\n\n"


def capture():
    """In a worker: all that udvalidate says goes into one buffer (its log keeps the first it saw)."""
    sys.stdout = sys.stderr = io.StringIO()


def official_typed(path):
    """The same at level 2."""
    return official(path, 2)


def official(path, level=1, more=("--max-err", "0")):
    """Whether udvalidate accepts the file, and what it says."""
    from udtools import cli

    sys.argv = ["udvalidate", "--level", str(level), "--lang", "ud", *more, path]
    sys.stdout.seek(0)
    sys.stdout.truncate()
    try:
        code = cli.main()
    except SystemExit as end:
        code = end.code
    except Exception as error:  # it dies on bytes that are not UTF-8, and on some others
        return False, f"{type(error).__name__}: {error}"
    return code in (0, None), sys.stdout.getvalue()


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--check", required=True, help="the built examples/check")
    args.add_argument("--cases", type=int, default=1200)
    args.add_argument("--typed", action="store_true", help="compare at level 2")
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--jobs", type=int, default=2)
    args.add_argument("--files", nargs="+", help="compare these files instead; names end in .conllu")
    args = args.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = args.files or []
        for number, case in enumerate([] if paths else cases(args.cases, args.seed, args.typed)):
            path = pathlib.Path(folder) / f"{number:05}.conllu"
            path.write_bytes(case)
            paths.append(str(path))
        with ProcessPoolExecutor(args.jobs, initializer=capture) as pool:
            theirs = list(pool.map(official_typed if args.typed else official, paths, chunksize=20))
        done = subprocess.run([args.check, "--nfc", *(["--typed", "--metadata"] if args.typed else []), *paths], stdout=subprocess.PIPE, text=True, check=False)
        ours = collections.defaultdict(list)
        for line in done.stdout.split("\n"):
            if line:
                ours[line.split(".conllu:")[0] + ".conllu"].append(line.split(".conllu:")[1])
        tally, differ = collections.Counter(), 0
        for path, (accepted, said) in zip(paths, theirs):
            mine = path not in ours
            tally[(accepted, mine)] += 1
            if accepted != mine:
                differ += 1
                print(f"--- udvalidate {'accepts' if accepted else 'rejects'}, ours {'accepts' if mine else 'rejects'}")
                print(path if args.files else repr(open(path, "rb").read()))
                print(said.strip() if mine else "\n".join(ours[path]))
    print(f"{len(paths)} inputs: both accept {tally[True, True]}, both reject {tally[False, False]}, differ {differ}")
    os._exit(1 if differ else 0)


if __name__ == "__main__":
    main()
