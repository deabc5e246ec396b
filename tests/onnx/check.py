"""Runs exported models in onnxruntime and compares them with Frostline.

    python check.py --program FILE
    python check.py --program FILE --cell OUT/cells/NAME --treebank FILE.conllu --times

Needs the packages of requirements.txt. `cargo xtask ci --only onnx` runs the first form: random models of every family with
token and sentence heads, and the demo's tagger. The second form checks a trained tagger on a treebank instead, and can time it.
Each check prints a line, and the first that fails ends it with code 1.
"""

import argparse
import collections
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy
import onnx
import onnxruntime
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file, save_file

ROOT = Path(__file__).resolve().parents[2]
REFERENCES = ROOT / "crates/frostline-model/tests/references"
DEMO = ["sweep", "--lang", "en", "--policies", "none", "--seeds", "42", "--set", "save.model=true", "--no-timing"]
# The largest difference of a logit from ours.
MOST = 1e-4
# The smallest share of a tagger's words that have the same tag in int8.
LEAST_INT8 = 0.95
BATCHES = [1, 4, 32]


class Failed(Exception):
    """A check that does not hold."""


def check(holds, what, found=""):
    print(f"{'ok  ' if holds else 'FAIL'} {what} {'' if holds else found}".rstrip(), flush=True)
    if not holds:
        raise Failed(what)


def run(program, *arguments, **settings):
    done = subprocess.run([str(part) for part in (program, *arguments)], capture_output=True, text=True, **settings)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def session(model, optimized=None):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if optimized:
        options.optimized_model_filepath = str(optimized)
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def padded(session, sentences, pad):
    """The inputs of a session for sentences of token ids, as a tokenizer pads them."""
    width = max(len(ids) for ids in sentences)
    ids = numpy.full((len(sentences), width), pad, dtype=numpy.int64)
    mask = numpy.zeros_like(ids)
    for row, sentence in enumerate(sentences):
        ids[row, : len(sentence)], mask[row, : len(sentence)] = sentence, 1
    every = {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}
    return {wanted.name: every[wanted.name] for wanted in session.get_inputs()}


def logits(session, sentences, pad, batch=32):
    """The logits of each sentence: of each of its positions, or a single row."""
    found = []
    for start in range(0, len(sentences), batch):
        part = sentences[start : start + batch]
        rows = session.run(["logits"], padded(session, part, pad))[0]
        found += [row[: len(ids)] if rows.ndim == 3 else row for row, ids in zip(rows, part)]
    return found


def farthest(ours, theirs):
    return max(float(numpy.abs(a - b).max()) for a, b in zip(ours, theirs))


def our_logits(program, model, lines):
    """Ids and logits of every position of each line, as Frostline computes them."""
    printed = run(program, "logits", "--model", model, "--input", "-", input="\n".join(lines) + "\n")
    rows = [json.loads(line) for line in printed.splitlines()]
    return [row["ids"] for row in rows], [numpy.array(row["logits"], dtype=numpy.float32) for row in rows]


def padding(folder):
    return json.loads((folder / "config.json").read_text()).get("pad_token_id") or 0


def operators(model):
    return collections.Counter(node.op_type for node in onnx.load(model, load_external_data=False).graph.node)


def export(program, source, out, *more):
    run(program, "export", *source, "--onnx", "--out", out, *more)
    return out


def with_sentence_head(source, target):
    """A copy of a token classifier with the sentence head of its family and random weights in it."""
    shutil.copytree(source, target)
    config = json.loads((target / "config.json").read_text())
    weights = load_file(target / "model.safetensors")
    draw = numpy.random.default_rng(5)
    labels, width = weights["classifier.weight"].shape
    dense = draw.normal(0, 0.4, (width, width)).astype(numpy.float32), draw.normal(0, 0.2, width).astype(numpy.float32)
    names = {"bert": "bert.pooler.dense", "distilbert": "pre_classifier"}
    name = names.get(config["model_type"], "classifier.dense")
    weights[f"{name}.weight"], weights[f"{name}.bias"] = dense
    if name == "classifier.dense":
        for part in ("weight", "bias"):
            weights[f"classifier.out_proj.{part}"] = weights.pop(f"classifier.{part}")
    classes = [entry.replace("ForToken", "ForSequence") for entry in config["architectures"]]
    (target / "config.json").write_text(json.dumps(config | {"architectures": classes}))
    save_file(weights, target / "model.safetensors", {"format": "pt"})


def labelling_sentences(source, target):
    """A copy of a token classifier that Frostline trained to label sentences by their first position."""
    shutil.copytree(source, target)
    notes = {"schema": 1, "tasks": {"mood": "label"}, "unit": "sentences", "lowercase": False, "max_length": 40}
    (target / "frostline.json").write_text(json.dumps(notes | {"precision": "f32"}))


def lines_of(name):
    """The words of the committed sentences that belong to a model."""
    own, shared = REFERENCES / f"sentences-{name}.json", REFERENCES / "sentences.json"
    sentences = json.loads((own if own.exists() else shared).read_text())
    return [" ".join(sentence["words"]) for sentence in sentences]


def check_model(program, name, folder, scratch):
    """Compares a model of random weights with ours, in batches of several sizes. Its int8 is worth little and only shown."""
    ids, ours = our_logits(program, folder, lines_of(name))
    out = export(program, ["--model", folder], scratch / f"{folder.name}-onnx", "--quantize")
    files = out / "model.onnx", out / "model_quantized.onnx"
    for file in files:
        onnx.checker.check_model(str(file), full_check=True)
    whole, small = map(session, files)
    of_sentences = len(whole.get_outputs()[0].shape) == 2
    ours = [rows[0] for rows in ours] if of_sentences else ours
    pad = padding(folder)
    far = max(farthest(ours, logits(whole, ids, pad, batch)) for batch in BATCHES)
    pairs = zip(ours, logits(small, ids, pad))
    same = numpy.mean(numpy.concatenate([(a.argmax(-1) == b.argmax(-1)).ravel() for a, b in pairs]))
    kind = "sentences" if of_sentences else "words"
    check(far <= MOST, f"{name}, labels of {kind}: logits within {far:.1e} (same label in int8: {same:.0%})", f"{far:.1e}")


def check_families(program, scratch):
    folders = sorted(path.parent for path in REFERENCES.glob("*/model.safetensors") if "small" not in path.parent.name)
    check(len(folders) >= 15, f"{len(folders)} models of random weights")
    for folder in folders:
        check_model(program, folder.name, folder, scratch)
    for name in ("bert", "distilbert", "roberta", "xlm-roberta", "camembert"):
        with_sentence_head(REFERENCES / name, scratch / f"{name}-sentences")
        check_model(program, name, scratch / f"{name}-sentences", scratch)
    for name in ("modernbert", "gte"):
        labelling_sentences(REFERENCES / name, scratch / f"{name}-first")
        check_model(program, name, scratch / f"{name}-first", scratch)
        config = json.loads((scratch / f"{name}-first-onnx/config.json").read_text())
        found = config["architectures"][0]
        check(found.endswith("ForSequenceClassification"), f"{name}: loaders see a classifier of sentences", found)


def check_int8_nodes(model, scratch):
    """int8 has the operators that onnxruntime's own quantization makes."""
    peer = scratch / "peer.onnx"
    quantize_dynamic(model, peer, per_channel=True, reduce_range=True, weight_type=QuantType.QInt8)
    ours, theirs = operators(model.with_name("model_quantized.onnx")), operators(peer)
    check(ours == theirs, "int8 has the operators of quantize_dynamic", f"{ours - theirs}, {theirs - ours}")


def check_fusions(model, scratch):
    """onnxruntime replaces residuals with norms, and biases with activations, by its own operators."""
    session(model, scratch / "optimized.onnx")
    found = operators(scratch / "optimized.onnx")
    depth = sum(node.op_type == "Softmax" for node in onnx.load(model).graph.node)
    fused = found["SkipLayerNormalization"], found["BiasGelu"]
    check(fused == (2 * depth, depth), f"onnxruntime fuses {fused[0]} residuals and {fused[1]} activations", str(found))


def rows_of(conllu):
    """The words' rows of each sentence."""
    blocks = conllu.strip().split("\n\n")
    rows = [[line.split("\t") for line in block.splitlines() if line[:1].isdigit()] for block in blocks]
    return [[row for row in sentence if row[0].isdigit()] for sentence in rows]


def check_tagger(program, cell, treebank, scratch, times=False):
    """Compares the tags of a trained tagger on a treebank, in f32 and in int8."""
    out = export(program, ["--run", cell], scratch / "tagger", "--quantize")
    notes = json.loads((out / "frostline.json").read_text())
    limits = ["--max-length", notes["max_length"], *(["--lowercase"] if notes["lowercase"] else [])]
    labels = json.loads((out / "config.json").read_text())["id2label"]
    aligned = [json.loads(line) for line in run(program, "align", "--tokenizer", out, *limits, treebank).splitlines()]
    tagged = rows_of(run(program, "tag", "--run", cell, "--input", treebank))
    # Longer sentences are tagged in windows, which a single call does not do.
    whole = [(line, rows) for line, rows in zip(aligned, tagged, strict=True) if fits(line, rows)]
    ids, pad = [line["ids"] for line, _ in whole], padding(out)
    runners = {name: session(out / f"{name}.onnx") for name in ("model", "model_quantized")}
    same = {}
    for name, runner in runners.items():
        agree = total = 0
        for (line, rows), found in zip(whole, logits(runner, ids, pad)):
            for at, word in first_positions(line):
                agree += labels[str(found[at].argmax())] == rows[word][3]
                total += 1
        same[name] = agree, total
    sizes = {name: (out / f"{name}.onnx").stat().st_size / 1e6 for name in runners}
    (agree, total), (small, _) = same["model"], same["model_quantized"]
    check(agree == total, f"{cell.name}: {total} words of {len(whole)} sentences have our tags", f"{agree} of {total}")
    share = small / total
    about = f"{sizes['model_quantized']:.2f} instead of {sizes['model']:.2f} MB"
    check(share >= LEAST_INT8, f"{cell.name}: int8 gives {share:.2%} of the words our tags, {about}", f"{share:.2%}")
    if times:
        for name, runner in runners.items():
            print_times(name, runner)
    return out


def fits(line, rows):
    return {word for _, word in first_positions(line)} == set(range(len(rows)))


def first_positions(line):
    """The position of each word's first subword, with the word."""
    words = line["word_ids"]
    return [(at, word) for at, word in enumerate(words) if word is not None and word not in words[:at]]


def print_times(name, runner):
    draw = numpy.random.default_rng(1)
    for shape in ((1, 24), (32, 24), (8, 128)):
        sentences = draw.integers(1, 1000, shape).tolist()
        inputs = padded(runner, sentences, 0)
        best = float("inf")
        for _ in range(20):
            began = time.perf_counter()
            runner.run(["logits"], inputs)
            best = min(best, time.perf_counter() - began)
        print(f"     {name} {shape}: {1000 * best:.1f} ms on one thread")


def check_layouts(program, cell, scratch):
    """The second layout has the same models in another place."""
    out = export(program, ["--run", cell], scratch / "web", "--quantize", "--layout", "transformers.js")
    found = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())
    wanted = ["README.md", "config.json", "frostline.json", "onnx/model.onnx", "onnx/model_quantized.onnx"]
    check(found == [*wanted, "tokenizer.json", "tokenizer_config.json"], "transformers.js finds its files", str(found))
    card = (out / "README.md").read_text("utf-8")
    check("library_name: transformers.js" in card and "@huggingface/transformers" in card, "the model card is for transformers.js")
    same = all((out / f"onnx/{name}").read_bytes() == (scratch / f"tagger/{name}").read_bytes() for name in ("model.onnx", "model_quantized.onnx"))
    check(same, "both layouts have the same models, byte for byte")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--program", required=True, type=Path, help="the built program")
    parser.add_argument("--cell", type=Path, help="folder of a cell that saved its tagger, instead of all other checks")
    parser.add_argument("--treebank", type=Path, help="CoNLL-U file for it")
    parser.add_argument("--times", action="store_true", help="print the time of single calls")
    given = parser.parse_args()
    program = given.program.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        try:
            if given.cell:
                out = check_tagger(program, given.cell, given.treebank, scratch, given.times)
                check_fusions(out / "model.onnx", scratch)
                return
            check_families(program, scratch)
            run(program, *DEMO, "--out", scratch / "demo")
            cell = next((scratch / "demo/cells").iterdir())
            dev = ROOT / "crates/frostline-assets/demo/en/dev.conllu"
            out = check_tagger(program, cell, dev, scratch)
            check_layouts(program, cell, scratch)
            check_int8_nodes(out / "model.onnx", scratch)
            check_fusions(out / "model.onnx", scratch)
        except Failed:
            sys.exit(1)


if __name__ == "__main__":
    main()
