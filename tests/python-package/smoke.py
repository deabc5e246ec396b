"""The package without any other: run with every version of Python that is here. Prints what it did; an assertion ends it."""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import time
from pathlib import Path

start = time.process_time()
import frostline  # noqa: E402

took = time.process_time() - start
ROWS = "1\tIce\tice\tNOUN\t_\tNumber=Sing\t2\tnsubj\t_\t_\n2\tmelts\tmelt\tVERB\t_\t_\t0\troot\t_\t_\n\n"

treebank = frostline.read_conllu(io.StringIO(ROWS))
token = treebank[0].words[0]
assert (token.form, token.upos, token.features, token.head, token.xpos) == ("Ice", "NOUN", {"Number": "Sing"}, 2, None)
assert treebank.sentences.column_names[:3] == ["file", "sent_id", "text"]
assert type(treebank.__arrow_c_stream__()).__name__ == "PyCapsule"
assert frostline.score(treebank, treebank)["LAS"].f1 == 1.0
try:
    frostline.read_conllu(io.StringIO(ROWS.replace("\t0\t", "\t")))
except frostline.DataError as error:
    assert error.line == 2 and error.advice, error
else:
    raise AssertionError("a fault was not found")
with tempfile.TemporaryDirectory() as folder:
    vocabulary = "[PAD] [UNK] [CLS] [SEP] [MASK] ice melt ##s".split()
    (Path(folder) / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    aligned = frostline.Aligner.from_pretrained(folder).align(["Ice", "melts"])
    assert aligned.word_ids == [None, 0, 1, 1, None], aligned.word_ids
    treebank.write(Path(folder) / "copy.conllu")
    assert (Path(folder) / "copy.conllu").read_text() == ROWS
assert frostline.Policy("first-4+embeddings", 6).constant_prefix == 4
assert not {"torch", "numpy"} & set(sys.modules)
program = subprocess.run([str(frostline.find_program()), "--version"], capture_output=True, text=True, check=True).stdout
assert program.split()[:2] == ["frostline", frostline.__version__], program
version = ".".join(map(str, sys.version_info[:3]))
print(f"Python {version}: frostline {frostline.__version__}, imported in {1000 * took:.0f} ms of processor time")
