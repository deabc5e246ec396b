#!/usr/bin/env python3
"""Makes conll18.jsonl: seeded sentences, seeded damage to them, and the official scorer's counts.

    pip install udtools==0.2.9
    python3 conll18.py --fixed > conll18.jsonl      # the committed reference
    python3 conll18.py --cases 3000 --seed 7        # more, to compare once
    python3 conll18.py --gold FILE.conllu --cases 20  # damage to a treebank instead
    python3 conll18.py --gold FILE.conllu --system FILE.conllu  # a tagger's output

Every line holds gold and system as CoNLL-U and, per metric, [correct, gold, system, aligned].
The sentences are drawn from the word lists below and mean nothing.
"""
import argparse
import io
import json
import random

from udtools.udeval import evaluate, load_conllu

LEXICON = [
    # form, lemma, UPOS, XPOS, FEATS, DEPREL
    ("Frost", "frost", "NOUN", "NN", "Number=Sing", "nsubj"),
    ("lines", "line", "NOUN", "NNS", "Number=Plur", "obj"),
    ("melts", "melt", "VERB", "VBZ", "Mood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin", "advcl"),
    ("slowly", "slowly", "ADV", "RB", "_", "advmod"),
    ("the", "the", "DET", "DT", "Definite=Def|PronType=Art", "det"),
    ("an", "a", "DET", "DT", "Definite=Ind|PronType=Art", "det"),
    ("under", "under", "ADP", "IN", "_", "case"),
    ("and", "and", "CCONJ", "CC", "_", "cc"),
    ("that", "that", "SCONJ", "IN", "_", "mark"),
    ("was", "be", "AUX", "VBD", "Mood=Ind|Tense=Past|VerbForm=Fin", "aux:pass"),
    ("is", "be", "AUX", "VBZ", "Mood=Ind|Tense=Pres|Typo=Yes", "cop"),
    (".", ".", "PUNCT", ".", "_", "punct"),
    (",", ",", "PUNCT", ",", "_", "punct"),
    ("snow", "_", "NOUN", "_", "Case[psor]=Gen|Number=Sing|LangSpec=A", "nmod:poss"),
    ("ΟΔΟΣ", "οδός", "NOUN", "_", "Case=Nom|Gender=Fem", "obl"),
    ("İstanbul", "İstanbul", "PROPN", "NNP", "Case=Nom", "flat:name"),
    ("naïve", "naïve", "ADJ", "JJ", "Degree=Pos", "amod"),
    ("nai\u0308ve", "naïve", "ADJ", "JJ", "Degree=Pos", "amod"),
    ("10\u00a0000", "10000", "NUM", "CD", "NumForm=Digit|NumType=Card", "nummod"),
    ("20 000", "20000", "NUM", "CD", "NumType=Card", "nummod"),
    ("雪", "雪", "NOUN", "_", "_", "conj"),
    ("❄️", "❄️", "SYM", "_", "_", "discourse"),
    ("Straße", "Straße", "NOUN", "NN", "Case=Dat|Gender=Fem", "conj"),
    ("it", "it", "PRON", "PRP", "PronType=Prs|Person=3|Case=Nom", "expl"),
    ("aa", "a", "X", "_", "Foreign=Yes|Abbr=Yes", "dep"),
    ("aaa", "a", "X", "_", "_", "weird"),
]
MULTI = [
    ("don't", ["do", "n't"]), ("zum", ["zu", "dem"]), ("dámelo", ["dá", "me", "lo"]),
    ("ab", ["a", "b"]), ("aab", ["a", "a", "b"]), ("cannot", ["CAN", "not"]), ("x y", ["x", "y"]),
]
RELATIONS = sorted({w[5] for w in LEXICON} | {"nsubj:pass", "root", "case:loc", "cc:preconj", "clf", "list"})
TAGS = sorted({w[2] for w in LEXICON} | {"INTJ", "PART"})
FEATS = sorted({w[4] for w in LEXICON} | {"Tense=Past|Aspect=Perf", "Number=Plur|Case=Nom", "Poss=Yes|Reflex=Yes"})

# Places where a plain word and a multiword token overlap without covering each other.
# A token is its form, or form=word+word for a multiword token.
FIXED = [
    ("x abc=xa+bc", "xa bc"), ("xa bc", "x abc=xa+bc"),
    ("xy abc=y+abc", "x y abc"), ("x y abc", "xy abc=y+abc"), ("xyz abc=z+y+abc", "x y z abc"), ("x y z abc", "xyz abc=z+y+abc"),
    ("abc=a+b+c d", "ab cd=c+d"), ("abc=ab+c de=d+e", "a bcd=b+c+d e"), ("ab=a+b cd=c+d", "a bc d"),
    ("abc=a+b+c de", "ab cde"), ("ab cde=c+d+e fg", "abc=a+b+c d efg=e+f+g"), ("abc=c+b+a", "a b c"), ("abcab=a+b+a+b", "ab=a+b c ab=b+a"),
]
EVERY_FEATURE = [
    "Abbr", "Animacy", "Aspect", "Case", "Clusivity", "Definite", "Degree", "Deixis", "Evident", "ExtPos", "Foreign", "Gender", "Mood", "Number",
    "NumForm", "NumType", "Person", "Polarity", "Polite", "Poss", "PronType", "Reflex", "Style", "Tense", "Typo", "VerbForm", "Voice", "Gender[psor]",
]
EVERY_RELATION = [
    "acl", "advcl", "advmod", "amod", "appos", "aux", "case", "cc", "ccomp", "clf", "compound", "conj", "cop", "csubj", "dep", "det", "discourse",
    "dislocated", "expl", "fixed", "flat", "goeswith", "iobj", "list", "mark", "nmod", "nsubj", "nummod", "obj", "obl", "orphan", "parataxis",
    "punct", "reparandum", "vocative", "xcomp",
]


class Word:
    def __init__(self, form, lemma, upos, xpos, feats, deprel):
        self.form, self.lemma, self.upos, self.xpos, self.feats, self.deprel = form, lemma, upos, xpos, feats, deprel
        self.head = None  # a Word, or None for the root

    def copy(self):
        return Word(self.form, self.lemma, self.upos, self.xpos, self.feats, self.deprel)


class Token:
    """One token: its spelling and its words (one with the same form, or a multiword token's)."""

    def __init__(self, form, words, multi):
        self.form, self.words, self.multi = form, words, multi


def words_of(sentence):
    return [w for t in sentence for w in t.words]


def make_word(rng, form=None):
    entry = list(rng.choice(LEXICON))
    if form is not None:
        entry[0] = form
    return Word(*entry)


def make_sentence(rng):
    tokens = []
    for _ in range(rng.randint(1, 12)):
        if rng.random() < 0.2:
            form, parts = rng.choice(MULTI)
            tokens.append(Token(form, [make_word(rng, p) for p in parts], True))
        else:
            word = make_word(rng)
            tokens.append(Token(word.form, [word], False))
    make_tree(rng, tokens, words_of(tokens))
    return tokens


def make_tree(rng, sentence, free):
    """Gives every word of `free`, and every word whose head is gone, a head; one root, no cycle."""
    words = words_of(sentence)
    free = [w for w in words if w in free or (w.head is not None and w.head not in words)]
    roots = [w for w in words if w.head is None and w not in free]
    for extra in roots[1:]:
        free.append(extra)
    root = roots[0] if roots else rng.choice(free or words)
    root.head = None
    if root.deprel != "root" and rng.random() < 0.9:
        root.deprel = "root"
    for word in free:
        if word is root:
            continue
        below = {word}
        grown = True
        while grown:
            more = {w for w in words if w.head in below and w not in below and w not in free}
            grown = bool(more)
            below |= more
        word.head = None
        allowed = [w for w in words if w not in below and reaches(w, root, free)]
        word.head = rng.choice(allowed or [root])
        free = [w for w in free if w is not word]


def reaches(word, root, free):
    seen = set()
    while word is not root:
        if word in seen or word in free or word is None:
            return False
        seen.add(word)
        word = word.head
    return True


def duplicate(corpus):
    result = []
    for sentence in corpus:
        twin = {w: w.copy() for w in words_of(sentence)}
        for word, copy in twin.items():
            copy.head = twin.get(word.head)
        result.append([Token(t.form, [twin[w] for w in t.words], t.multi) for t in sentence])
    return result


def pieces(rng, form):
    plain = [i for i in range(1, len(form)) if form[i - 1] not in " \u00a0" and form[i] not in " \u00a0"]
    if not plain:
        return None
    cut = rng.choice(plain)
    return form[:cut], form[cut:]


def damage_token(rng, sentence, index, kind):
    token = sentence[index]
    if kind == "split" and not token.multi and (cut := pieces(rng, token.form)):
        sentence[index:index + 1] = [Token(p, [make_word(rng, p)], False) for p in cut]
        sentence[index].words[0] = token.words[0]
        token.words[0].form = cut[0]
    elif kind == "merge" and index + 1 < len(sentence) and not token.multi and not sentence[index + 1].multi:
        form = token.form + rng.choice(["", "", " "]) + sentence[index + 1].form
        token.words[0].form = form
        sentence[index:index + 2] = [Token(form, token.words, False)]
    elif kind == "fuse" and index + 1 < len(sentence):
        # A multiword token over two tokens and all their words.
        right = sentence[index + 1]
        sentence[index:index + 2] = [Token(token.form + right.form, token.words + right.words, True)]
    elif kind == "break" and token.multi and (cut := pieces(rng, token.form)):
        sentence[index:index + 1] = [Token(p, [make_word(rng, p)], False) for p in cut]
    elif kind == "expand" and not token.multi and (cut := pieces(rng, token.form)):
        parts = [cut[0].upper() if rng.random() < 0.3 else cut[0], cut[1]]
        if rng.random() < 0.3:
            parts.insert(rng.randint(0, 2), rng.choice(["a", "b", parts[0]]))
        sentence[index] = Token(token.form, [make_word(rng, p) for p in parts], True)
    elif kind == "inner" and token.multi:
        if rng.random() < 0.5 or len(token.words) == 1:
            token.words.insert(rng.randint(0, len(token.words)), make_word(rng, rng.choice(["a", "b", "do", "Zu", token.words[0].form])))
        else:
            token.words.pop(rng.randrange(len(token.words)))
    elif kind == "shift" and index + 1 < len(sentence) and not token.multi and (cut := pieces(rng, token.form)):
        # The boundary to the next token moves to the left.
        right = sentence[index + 1]
        token.form = token.words[0].form = cut[0]
        right.form = cut[1] + right.form
        if not right.multi:
            right.words[0].form = right.form
    make_tree(rng, sentence, [w for w in words_of(sentence) if w.head is None])


def damage(rng, gold, rate):
    corpus = duplicate(gold)
    for sentence in corpus:
        for word in words_of(sentence):
            if rng.random() < rate:
                word.upos = rng.choice(TAGS)
            if rng.random() < rate:
                word.xpos = rng.choice(["_", "NN", "VB"])
            if rng.random() < rate:
                word.feats = rng.choice(FEATS)
            if rng.random() < rate:
                word.lemma = rng.choice(["_", "a", word.form, word.lemma.upper()])
            if rng.random() < rate:
                word.deprel = rng.choice(RELATIONS)
        make_tree(rng, sentence, [w for w in words_of(sentence) if rng.random() < rate])
        for kind in ("split", "merge", "fuse", "break", "expand", "inner", "shift"):
            for index in reversed(range(len(sentence))):
                if index < len(sentence) and rng.random() < rate / 2:
                    damage_token(rng, sentence, index, kind)
    index = 0
    while index < len(corpus):  # sentence boundaries
        if rng.random() < rate / 2 and index + 1 < len(corpus):
            corpus[index] += corpus.pop(index + 1)
            make_tree(rng, corpus[index], [])
        elif rng.random() < rate / 2 and len(corpus[index]) > 1:
            at = rng.randint(1, len(corpus[index]) - 1)
            corpus.insert(index + 1, corpus[index][at:])
            del corpus[index][at:]
            for half in corpus[index:index + 2]:
                make_tree(rng, half, [])
        index += 1
    return corpus


def render(rng, corpus):
    lines = []
    for number, sentence in enumerate(corpus, 1):
        lines.append(f"# sent_id = {number}")
        position = {w: i for i, w in enumerate(words_of(sentence), 1)}
        for token in sentence:
            if token.multi and (len(token.words) > 1 or token.words[0].form != token.form):
                first, last = position[token.words[0]], position[token.words[-1]]
                lines.append(f"{first}-{last}\t{token.form}" + "\t_" * 8)
            for word in token.words:
                head = position[word.head] if word.head is not None else 0
                lines.append("\t".join([str(position[word]), word.form, word.lemma, word.upos, word.xpos, word.feats, str(head), word.deprel, "_", "_"]))
                if rng.random() < 0.03:
                    lines.append(f"{position[word]}.1\tghost\t_\tVERB\t_\t_\t_\t_\t0:root\t_")
        lines.append("")
    return "\n".join(lines) + "\n"


def fixed():
    """Gold and system of the cases that chance would seldom draw."""
    def read(text):
        sentence = []
        for token in text.split():
            form, _, parts = token.partition("=")
            words = [Word(part, part, "X", "_", "_", "dep") for part in (parts or form).split("+")]
            sentence.append(Token(form, words, bool(parts)))
        for word in words_of(sentence)[1:]:
            word.head = words_of(sentence)[0]
        return [sentence]

    def flat(columns):
        root = Word("r", "r", "X", "_", "_", "root")
        rest = [Word("w", "w", "X", "_", feats, deprel) for feats, deprel in columns]
        for word in rest:
            word.head = root
        return [[Token(w.form, [w], False) for w in [root] + rest]]

    for gold, system in FIXED:
        yield read(gold), read(system)
    for name in EVERY_FEATURE:  # one at a time, so that no two can cancel out
        yield flat([(name + "=A", "dep")]), flat([(name + "=B", "dep")])
    for name in EVERY_RELATION:
        yield flat([("_", name)]), flat([("_", "weird")])
        # A function word below a content word: it must agree for MLAS.
        gold, system = flat([("_", name)]), flat([("_", name)])
        words_of(system[0])[1].upos = "VERB"
        yield gold, system


def parse(text):
    """Sentences of a treebank, in the classes above; empty nodes left out."""
    corpus = []
    for block in text.split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n") if line and line[0] != "#"]
        words, ranges = {}, {}
        for row in rows:
            if row[0].isdigit():
                words[int(row[0])] = Word(row[1], row[2], row[3], row[4], row[5], row[7])
            elif "-" in row[0]:
                first, last = map(int, row[0].split("-"))
                ranges[first] = (last, row[1])
        for row in rows:
            if row[0].isdigit() and row[6] != "0":
                words[int(row[0])].head = words[int(row[6])]
        sentence, number = [], 1
        while number <= len(words):
            last, form = ranges.get(number, (number, words[number].form))
            sentence.append(Token(form, [words[i] for i in range(number, last + 1)], number in ranges))
            number = last + 1
        if sentence:
            corpus.append(sentence)
    return corpus


def counts(gold, system):
    options = {"multiple_roots_okay": True}
    scores = evaluate(*(load_conllu(io.StringIO(t), "", options) for t in (gold, system)))
    names = ["Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "AllTags", "Lemmas", "UAS", "LAS", "CLAS", "MLAS", "BLEX"]
    return {n: [scores[n].correct, scores[n].gold_total, scores[n].system_total, scores[n].aligned_total] for n in names}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--cases", type=int, default=60)
    options.add_argument("--seed", type=int, default=20181031)
    options.add_argument("--gold", help="damage this treebank instead of drawn sentences")
    options.add_argument("--system", help="score this file instead of damaging anything")
    options.add_argument("--fixed", action="store_true", help="put the cases first that are not left to chance")
    options = options.parse_args()
    if options.system:
        gold, system = (open(path, encoding="utf-8").read() for path in (options.gold, options.system))
        print(json.dumps({"gold": gold, "system": system, "counts": counts(gold, system)}, ensure_ascii=False))
        return
    treebank = open(options.gold, encoding="utf-8").read() if options.gold else None
    if options.fixed:
        rng = random.Random(0)
        for pair in fixed():
            gold, system = (render(rng, corpus) for corpus in pair)
            print(json.dumps({"gold": gold, "system": system, "counts": counts(gold, system)}, ensure_ascii=False))
    for case in range(options.cases):
        rng = random.Random(f"{options.seed} {case}")
        rate = [0.0, 0.02, 0.1, 0.3, 0.6][case % 5]
        corpus = parse(treebank) if treebank else [make_sentence(rng) for _ in range(rng.randint(1, 6))]
        gold, system = render(rng, corpus), render(rng, damage(rng, corpus, rate))
        print(json.dumps({"gold": gold, "system": system, "counts": counts(gold, system)}, ensure_ascii=False))


if __name__ == "__main__":
    main()
