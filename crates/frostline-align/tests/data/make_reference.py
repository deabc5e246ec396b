#!/usr/bin/env python3
"""Makes the committed references of frostline-align from Hugging Face and from Python itself.

    python3 -m venv venv && venv/bin/pip install transformers==5.17.0 tokenizers==0.23.3
    venv/bin/python make_reference.py

Writes beside itself: vocab.txt (a vocabulary of our own), bpe.json, unigram.json, wordlevel.json,
cases.jsonl (words, settings, and what Hugging Face makes of them), lower.json (str.lower()).
All of it is drawn from the seed below; nothing comes from any corpus.
"""
import json, pathlib, random, tempfile
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import BertTokenizer

HERE = pathlib.Path(__file__).parent
rng = random.Random(20250)
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SCRIPTS = [
    "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "àéîõüçñåøßæœÀÉÎÕÜÇÑÅØẞÆŒıİǅ",
    "αβγδεζηθικλμνξοπρσςτυφχψωάέΑΒΓΔΕΣΩ", "абвгдежзийклмнопрстуфхцчшщъыьэюяАБВЁЄЇ",
    "אבגדהוזחטיכלמנסעפצקרשת\u05b8\u05c1", "ابتثجحخدذرزسشصضطظعغفقكلمنهوي\u064b\u0651",
    "अआइईउऊएऐओऔकखगघचछजझ\u094d\u093f\u0941", "กขคงจฉชซ\u0e31\u0e35\u0e49", "ابپچژگٹڈےۓ",
    "中文字日本語一二三豈\u3400\U00020000", "ひらがなカタカナー", "한국어가나다\u1100\u1161", "አማርኛ", "ẹọṣńàḿ\u0323\u0301\u0300",
    "😀👨👩👧❤\ufe0f\U0001f3fd", "0123456789٠١२३", "𝐀𝐁𐍈𐐀𐐨",
]
ODD = ["\u200b", "\u200d", "\u00ad", "\ufeff", "\u0000", "\u0001", "\ufffd", " ", "\u00a0", "\u3000", "\t", "\n",
       "\u2028", "\ue000", "\u0301", "\u0345"]
PUNCT = list(".,!?'\"-()[]{}<>/\\$#@&*_~^`|+=;:%") + ["’", "“", "…", "¿", "،", "।", "。", "—"]


def letters(n):
    return "".join(rng.choice(rng.choice(SCRIPTS)) for _ in range(n))


def word():
    kind = rng.random()
    if kind < 0.55:
        script = rng.choice(SCRIPTS)
        return "".join(rng.choice(script) for _ in range(rng.randint(1, 9)))
    if kind < 0.70:
        return rng.choice(PUNCT) * rng.randint(1, 3)
    if kind < 0.80:
        return "".join(rng.choice(rng.choice(SCRIPTS + [PUNCT, ODD])) for _ in range(rng.randint(1, 8)))
    if kind < 0.88:
        return "".join(rng.choice(ODD) for _ in range(rng.randint(0, 2)))
    if kind < 0.93:
        return rng.choice(SPECIAL + ["[cls]", "[Mask]", "x[SEP]y", "<s>", "</s>", "<mask>"])
    if kind < 0.96:
        return letters(2) + " " + letters(2)
    return rng.choice("aZé中.") * rng.choice([99, 100, 101, 130])


def vocabulary():
    pieces = list(SPECIAL)
    chars = sorted({c for s in SCRIPTS for c in s if rng.random() < 0.9} | set(PUNCT))
    pieces += chars + ["##" + c for c in chars]
    seen = set(pieces)
    while len(pieces) < 1800:
        script = rng.choice(SCRIPTS)
        piece = rng.choice(["", "##"]) + "".join(rng.choice(script) for _ in range(rng.randint(2, 3)))
        if piece not in seen:
            seen.add(piece)
            pieces.append(piece)
    return pieces


def text(n):
    return [" ".join(letters(rng.randint(1, 5)) for _ in range(8)) for _ in range(n)]


def others():
    """Tokenizers of other families; padding and truncation are set to be cleared on load."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    from tokenizers import trainers
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    bpe.train_from_iterator(text(60), trainers.BpeTrainer(vocab_size=420, special_tokens=specials, initial_alphabet=sorted(alphabet), show_progress=False))
    bpe.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    bpe.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=True)
    bpe.decoder = decoders.ByteLevel()
    bpe.enable_padding(length=40)
    bpe.enable_truncation(5)

    chars = sorted({c for s in SCRIPTS for c in s})
    pieces = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0), ("<mask>", 0.0), ("▁", -2.0)]
    pieces += [(c, -4.0 - rng.random()) for c in chars if rng.random() < 0.8]
    seen = {p for p, _ in pieces}
    for _ in range(300):
        piece = rng.choice(["", "▁"]) + "".join(rng.choice(rng.choice(SCRIPTS[:4])) for _ in range(2))
        if piece not in seen:
            seen.add(piece)
            pieces.append((piece, -5.0 - rng.random()))
    unigram = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=False))
    unigram.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace("  ", " ")])
    unigram.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    unigram.add_special_tokens(["<s>", "</s>", AddedToken("<mask>", lstrip=True, special=True)])
    unigram.post_processor = processors.TemplateProcessing(single="<s> $A </s> </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    unigram.enable_truncation(7, stride=2)

    level = Tokenizer(models.WordLevel({"[UNK]": 0, **{c: i + 1 for i, c in enumerate(chars)}}, unk_token="[UNK]"))
    level.normalizer = normalizers.Lowercase()
    level.pre_tokenizer = pre_tokenizers.Whitespace()
    return {"bpe": bpe, "unigram": unigram, "wordlevel": level}


def bert(name, vocab_file, **kwargs):
    with tempfile.TemporaryDirectory() as d:
        (pathlib.Path(d) / "vocab.txt").write_bytes(vocab_file.read_bytes())
        (pathlib.Path(d) / "tokenizer_config.json").write_text(json.dumps(kwargs))
        return name, kwargs, BertTokenizer.from_pretrained(d)


def windows(tokenizer, words, max_length, stride):
    if isinstance(tokenizer, Tokenizer):
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_length, stride=stride or 0)
        enc = tokenizer.encode(words, is_pretokenized=True)
        every = [enc] + (enc.overflowing if stride is not None else [])
        return [{"ids": e.ids, "word_ids": e.word_ids} for e in every]
    enc = tokenizer(words, is_split_into_words=True, truncation=True, max_length=max_length, padding=False,
                    return_overflowing_tokens=stride is not None, stride=stride or 0)
    if stride is None:
        return [{"ids": enc["input_ids"], "word_ids": enc.word_ids()}]
    return [{"ids": ids, "word_ids": enc.word_ids(i)} for i, ids in enumerate(enc["input_ids"])]


def main():
    vocab_file = HERE / "vocab.txt"
    vocab_file.write_text("\n".join(vocabulary()) + "\n", encoding="utf-8", newline="\n")
    tokenizers = [
        bert("uncased", vocab_file),
        bert("cased", vocab_file, do_lower_case=False),
        bert("cased-stripped", vocab_file, do_lower_case=False, strip_accents=True),
        bert("accents", vocab_file, do_lower_case=True, strip_accents=False),
        bert("whole-chinese", vocab_file, tokenize_chinese_chars=False),
    ]
    for name, tokenizer in others().items():
        path = HERE / f"{name}.json"
        tokenizer.save(str(path), pretty=False)
        tokenizers.append((name, None, tokenizer))
    with open(HERE / "cases.jsonl", "w", encoding="utf-8", newline="\n") as out:
        for name, config, tokenizer in tokenizers:
            for case in range(24):
                words = [word() for _ in range(rng.choice([0, 1, 2, 5, 12, 20]))]
                max_length = rng.choice([8, 16, 32, 128])
                stride = rng.choice([None, 0, 1, 4])
                line = {"tokenizer": name, "config": config, "words": words, "max_length": max_length,
                        "stride": stride, "windows": windows(tokenizer, words, max_length, stride)}
                out.write(json.dumps(line, ensure_ascii=True, separators=(",", ":")) + "\n")
    single = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000 and chr(c).lower() != chr(c))
    pool = list("ΣΣΣσaAbİǅªʰ'.:·\u0301\u00ad\u200b\u0345 1-Ωé中") + ["𝐀", "𐐀", "ᏸ", "Ა"]
    strings = ["".join(rng.choice(pool) for _ in range(rng.randint(1, 7))) for _ in range(400)]
    lower = {"single": single, "single_lower": [c.lower() for c in single], "strings": [[s, s.lower()] for s in strings]}
    (HERE / "lower.json").write_text(json.dumps(lower, ensure_ascii=True, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
