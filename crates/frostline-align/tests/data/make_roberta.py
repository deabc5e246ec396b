#!/usr/bin/env python3
"""Makes the committed references for the tokenizers of RoBERTa and XLM-R.

    python3 -m venv venv && venv/bin/pip install transformers==5.23.0 tokenizers==0.23.3
    venv/bin/python make_roberta.py

Writes beside itself: roberta.json (byte-level BPE, add_prefix_space false, as RoBERTa is released),
xlm-roberta.json (a character map, then Unigram over WhitespaceSplit and Metaspace, written in the older
way, as XLM-R is released) and roberta-cases.jsonl (words, settings, and what comes out: for RoBERTa of
AutoTokenizer with add_prefix_space=True, for XLM-R of `tokenizers` itself; where AutoTokenizer differs
from that, this script fails).

The vocabularies come from the made-up English of frostline-assets/demo, all else from the seed below.
"""
import base64, collections, json, math, os, pathlib, struct, tempfile, unicodedata

os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer

import make_reference
from make_reference import SCRIPTS, windows, word

HERE = pathlib.Path(__file__).parent
DEMO = HERE / "../../../frostline-assets/demo/en/train.conllu"
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
MASK = AddedToken("<mask>", lstrip=True, special=True)
rng = make_reference.rng
rng.seed(20251)


def demo():
    rows = (line.split("\t") for line in DEMO.read_text(encoding="utf-8").splitlines())
    return [row[1] for row in rows if len(row) == 10]


def tagged(forms):
    """A form as it is, or as text has it."""
    form = rng.choice(forms)
    kind = rng.random()
    if kind < 0.2:
        return form.capitalize() if kind < 0.1 else form.upper()
    if kind < 0.3:
        return form + rng.choice(["'s", "n't", "-", ".", "…", " ", "<mask>", rng.choice(forms)])
    if kind < 0.4:
        return rng.choice([" ", "  ", "<mask>", "#", "\u00a0", "'", "▁", "Ġ", "ﬁ", "\u200b"]) + form
    return form


def drawn(forms):
    if rng.random() < 0.5:
        return tagged(forms)
    return rng.choice(SPECIAL + ["<mask>", "▁", "▁▁", "Ġ", " <mask> "]) if rng.random() < 0.15 else word()


def roberta(forms):
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=420, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False)
    bpe.train_from_iterator(forms, trainer)
    bpe.add_special_tokens([MASK])
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    file = json.loads(bpe.to_str())
    file["model"] |= {"continuing_subword_prefix": "", "end_of_word_suffix": ""}
    return file


def double_array(entries):
    """Entries, bytes to number, as the double array that SentencePiece's character maps hold: a unit
    has a label, whether an entry ends here, and the way to its children, who lie at (place ^ way ^
    byte); an entry's number lies where byte 0 would."""
    root = {}
    for key, value in entries.items():
        node = root
        for byte in key:
            node = node.setdefault(byte, {})
        node[0] = value
    units, waiting = {0: 0}, [(0, root)]
    while waiting:
        place, node = waiting.pop(0)
        way = next(w for w in range(1 << 21) if all(place ^ w ^ byte not in units for byte in node))
        units[place] |= way << 10 | (0 in node) << 8
        for byte, child in node.items():
            at = place ^ way ^ byte
            units[at] = byte if byte else child | 1 << 31  # else a number could pass for a label
            if byte:
                waiting.append((at, child))
    size = (max(units) | 255) + 1
    return struct.pack(f"<{size}I", *(units.get(place, 0) for place in range(size)))


def character_map():
    """NFKC for a few characters, blanks to spaces, and what takes no room to nothing."""
    rules = {c: unicodedata.normalize("NFKC", c) for c in "ﬁﬂ…½ⅣＡＢａｂ１２ªǆｶ①™Ωꟲ"}
    rules |= {c: " " for c in "\u00a0\u3000\t\n\u2028"} | {c: "" for c in "\u200b\ufeff\u00ad\u0001\u0007"}
    rules |= {unicodedata.normalize("NFD", c): c for c in "éñåüôÅがẹ"}
    text, entries = b"", {}
    for source, target in rules.items():
        entries[source.encode()] = len(text)
        text += target.encode() + b"\0"
    trie = double_array(entries)
    return struct.pack("<I", len(trie)) + trie + text


def xlm_roberta(forms):
    """Pieces are frequent beginnings, middles and whole words; scores their log share."""
    counts = collections.Counter()
    for form, count in collections.Counter(forms).items():
        marked = "▁" + form
        for i in range(len(marked)):
            for j in range(i + 1, len(marked) + 1):
                counts[marked[i:j]] += count
    pieces = {c: 3 for script in SCRIPTS for c in script if rng.random() < 0.3} | {c: 5 for c in "▁.,!?'-é…"}
    pieces |= {piece: n for piece, n in counts.items() if len(piece) == 1}
    long = sorted((p for p in counts if len(p) > 1), key=lambda p: (-counts[p] * (len(p) - 1), p))
    pieces |= {piece: counts[piece] for piece in long[:260]}
    total = sum(pieces.values())
    scored = [(piece, round(math.log(n / total), 4)) for piece, n in sorted(pieces.items())]
    normalizer = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(character_map()).decode()}
    unigram = Tokenizer(models.Unigram([(s, 0.0) for s in SPECIAL] + scored + [("<mask>", 0.0)], unk_id=3, byte_fallback=False))
    unigram.add_special_tokens([*SPECIAL, MASK])
    around = [("<s>", 0), ("</s>", 2)]
    unigram.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=around)
    unigram.decoder = decoders.Metaspace()
    file = json.loads(unigram.to_str())
    space = {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True}
    split = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, space]}
    return file | {"normalizer": normalizer, "pre_tokenizer": split}


def auto(kind, file, **kwargs):
    """What `transformers` makes of the file as part of a model's folder."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "tokenizer.json").write_text(json.dumps(file))
        (pathlib.Path(folder) / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind}))
        return AutoTokenizer.from_pretrained(folder, **kwargs)


def main():
    forms = demo()
    files = {"roberta": roberta(forms), "xlm-roberta": xlm_roberta(forms)}
    for name, file in files.items():
        text = json.dumps(file, ensure_ascii=False, separators=(",", ":"))
        (HERE / f"{name}.json").write_text(text + "\n", encoding="utf-8", newline="\n")
    spaced = auto("RobertaTokenizer", files["roberta"], add_prefix_space=True)
    bare = auto("RobertaTokenizer", files["roberta"])
    unigram = Tokenizer.from_str(json.dumps(files["xlm-roberta"]))
    theirs = auto("XLMRobertaTokenizer", files["xlm-roberta"])
    differ = 0
    with open(HERE / "roberta-cases.jsonl", "w", encoding="utf-8", newline="\n") as out:
        for case in range(96):
            words = [drawn(forms) for _ in range(rng.choice([0, 1, 2, 5, 12, 20]))]
            max_length, stride = rng.choice([8, 16, 32, 128]), rng.choice([None, 0, 1, 4])
            name, tokenizer = [("roberta", spaced), ("xlm-roberta", unigram)][case % 2]
            line = {"tokenizer": name, "config": None, "words": words, "max_length": max_length, "stride": stride}
            line["windows"] = windows(tokenizer, words, max_length, stride)
            if name == "xlm-roberta":
                assert line["windows"] == windows(theirs, words, max_length, stride), words
            else:
                differ += line["windows"] != windows(bare, words, max_length, stride)
            out.write(json.dumps(line, ensure_ascii=True, separators=(",", ":")) + "\n")
    assert differ > 30, "without the space before words nothing would be tested"


main()
