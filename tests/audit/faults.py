"""Faults of freezing with real torch, transformers and PEFT, and what `frostline audit` prints about each.

    python3 tests/audit/faults.py --program target/debug/frostline [--folder DIR]

Needs torch, transformers, peft and safetensors. Each case trains a tiny random model, saves it before and after in several layouts,
runs the program on them and compares its exit code and its output with what is expected. Exits with 1 if a case differs.
"""
import argparse
import json
import pickle
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
import torch
import transformers
from safetensors.torch import save_file
from transformers import DistilBertConfig, DistilBertForMaskedLM, DistilBertForTokenClassification

transformers.logging.set_verbosity_error()
torch.set_num_threads(2)
CONFIG = DistilBertConfig(vocab_size=100, dim=32, n_layers=6, n_heads=4, hidden_dim=64, max_position_embeddings=40,
                          num_labels=5)
FROZEN = tuple(f"distilbert.transformer.layer.{block}." for block in range(4))
FAILED, CASES = [], 0


def is_frozen(name):
    return name.startswith(FROZEN)


def new_model(cls=DistilBertForTokenClassification):
    torch.manual_seed(0)
    return cls(CONFIG)


def snapshot(model):
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def batch(seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(5, 100, (4, 12), generator=generator), torch.randint(0, 5, (4, 12), generator=generator)


def train(model, optimiser, steps=3, to_none=True, zero=True):
    for step in range(steps):
        words, labels = batch(step)
        if zero:
            optimiser.zero_grad(set_to_none=to_none)
        model(input_ids=words, labels=labels).loss.backward()
        optimiser.step()


def freeze(model):
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(not is_frozen(name))


def adamw(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)


def audit(before, after, *options):
    command = [PROGRAM, "audit", "--before", str(before), "--after", str(after), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def expect(name, found, code, *texts, absent=()):
    """Compares an exit code and an output with what is expected."""
    global CASES
    CASES += 1
    faults = [f"exit code {found[0]}, expected {code}"] if found[0] != code else []
    faults += [f"missing: {text!r}" for text in texts if text not in found[1]]
    faults += [f"unexpected: {text!r}" for text in absent if text in found[1]]
    print(f"{'FAILED' if faults else 'ok    '} {name}")
    if faults:
        FAILED.append(name)
        print("\n".join(faults) + "\n" + found[1])
    elif SHOW:
        print("    | " + found[1].replace("\n", "\n    | "))


def saved(name, state, layout="pt"):
    path = FOLDER / f"{name}.{layout}"
    if layout == "safetensors":
        save_file({key: tensor.clone().contiguous() for key, tensor in state.items()}, path)
    else:
        torch.save(state, path)
    return path


def states(name, before, after, layouts=("pt", "safetensors")):
    for layout in layouts:
        yield layout, saved(f"{name}-before", before, layout), saved(f"{name}-after", after, layout)


POLICY = ("--policy", "first-4")
HELD = "frozen stayed frozen: 64 tensors"


def moved(count):
    return f"frozen did NOT stay frozen: {count} of 64 tensors"


def gradients():
    """Parameters frozen at the wrong time, or gradients that are zero in place of None."""
    model = new_model()
    freeze(model)
    before = snapshot(model)
    train(model, adamw(model))
    for layout, *paths in states("0", before, snapshot(model)):
        expect(f"0 frozen first ({layout})", audit(*paths, *POLICY), 0, HELD, absent=["never moved"])

    def after_a_step(name, code, texts, optimiser=adamw, **options):
        model = new_model()
        optimiser = optimiser(model)
        train(model, optimiser, 1)
        freeze(model)
        before = snapshot(model)
        train(model, optimiser, **options)
        for layout, *paths in states(name[:2].strip(), before, snapshot(model)):
            expect(f"{name} ({layout})", audit(*paths, *POLICY), code, *texts)

    after_a_step("a frozen after a step, gradients zeroed", 1, [moved(64)], to_none=False)
    after_a_step("a2 frozen after a step, gradients None", 0, [HELD])
    after_a_step("a3 frozen between backward and step", 1, [moved(64)], zero=False)
    sgd = lambda model: torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
    after_a_step("a4 momentum of SGD", 1, [moved(64)], optimiser=sgd, to_none=False)

    for name, make, code, texts in [
        ("a5 gradients zeroed by a hook, decay", adamw, 1,
         [moved(32), "32 of them: every element times 0.997003: weight decay"]),
        ("a6 the same without decay", lambda model: torch.optim.Adam(model.parameters(), lr=1e-2), 0, [HELD]),
    ]:
        model = new_model()
        for parameter_name, parameter in model.named_parameters():
            if is_frozen(parameter_name):
                parameter.register_hook(torch.zeros_like)
        before = snapshot(model)
        train(model, make(model))
        for layout, *paths in states(name[:2], before, snapshot(model)):
            expect(f"{name} ({layout})", audit(*paths, *POLICY), code, *texts)

    model = new_model()
    freeze(model)
    before = snapshot(model)
    optimiser = adamw(model)
    for name, parameter in model.named_parameters():
        if is_frozen(name):
            parameter.grad = torch.zeros_like(parameter)
    train(model, optimiser, to_none=False)
    paths = list(states("a7", before, snapshot(model)))[0][1:]
    expect("a7 a buffer of zero gradients", audit(*paths, *POLICY), 1, moved(32), "weight decay")


def thawing():
    """Parameters that should learn and do not, and names of another family."""
    model = new_model()
    freeze(model)
    optimiser = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    model.requires_grad_(True)
    before = snapshot(model)
    train(model, optimiser)
    folder = FOLDER / "b" / "checkpoint-3"
    model.save_pretrained(folder)
    torch.save(optimiser.state_dict(), folder / "optimizer.pt")
    before = saved("b-before", before)
    expect("b thawed after the optimiser was made", audit(before, folder, "--policy", "none"), 0,
           "trainable, but never moved: 64", "64 of 102 trainable parameters are not in it: they cannot move")
    expect("b the same, as it was planned", audit(before, folder, *POLICY), 0, HELD,
           "it holds the trainable parameters and no frozen ones")

    model = new_model()
    optimiser = adamw(model)
    model.classifier = torch.nn.Linear(32, 5)
    before = snapshot(model)
    train(model, optimiser)
    paths = list(states("b2", before, snapshot(model)))[0][1:]
    expect("b2 head replaced after the optimiser was made", audit(*paths, "--policy", "none"), 0,
           "trainable, but never moved: 2\n  classifier.bias\n  classifier.weight")

    model = new_model()
    before = snapshot(model)
    train(model, adamw(model))
    paths = list(states("b3", before, snapshot(model)))[0][1:]
    expect("b3 names of another family", audit(*paths, "--frozen", "bert.encoder.layer.*"), 2,
           "matches none of 102 names; they begin with classifier.bias")
    expect("b3 what the policy means", audit(*paths, *POLICY), 1, moved(64))
    expect("b3 the right prefix", audit(*paths, "--frozen", "distilbert.transformer.layer.0"), 1, "16 of 16 tensors")


def buffers_and_ties():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8))
            self.head = torch.nn.Linear(8, 2)

    for mode, code, texts in [(True, 1, ["frozen buffers          3      0      3", "module was in train() mode"]),
                              (False, 0, ["frozen stayed frozen: 7 tensors"])]:
        torch.manual_seed(0)
        net = Net()
        net.body.requires_grad_(False)
        net.body.train(mode)
        before = snapshot(net)
        optimiser = torch.optim.AdamW(net.head.parameters())
        for _ in range(3):
            optimiser.zero_grad()
            net.head(net.body(torch.randn(16, 8))).sum().backward()
            optimiser.step()
        paths = list(states(f"c{mode}", before, snapshot(net)))[0][1:]
        expect(f"c BatchNorm frozen, train({mode})", audit(*paths, "--frozen", "body"), code, *texts)

    model = new_model(DistilBertForMaskedLM)
    model.distilbert.requires_grad_(False)
    model.vocab_projector.weight.requires_grad_(True)
    before = snapshot(model)
    folder = FOLDER / "d3"
    model.save_pretrained(folder / "before")
    both = FOLDER / "d-both.pt"
    torch.save(model.state_dict(), both)
    optimiser = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    words, _ = batch(0)
    model(input_ids=words, labels=words).loss.backward()
    optimiser.step()
    model.save_pretrained(folder / "after")
    policy = ("--policy", "head-only")
    words = "distilbert.embeddings.word_embeddings.weight"
    expect("d3 tied head thawed (.pt)", audit(saved("d3-before", before), saved("d3-after", model.state_dict()), *policy), 1,
           words, "tied to `vocab_projector.weight`, which is trainable", "tied (one tensor with several names): 1")
    expect("d3 tied head thawed (folders)", audit(folder / "before", folder / "after", *policy), 1, words,
           "the output layer of `vocab_transform` is not in the file; it is usually tied to this")
    expect("d a tied tensor that is saved once", audit(both, folder / "before", *policy), 0,
           "vocab_projector.weight  tied: saved once, as `distilbert.embeddings.word_embeddings.weight`")


def layouts():
    """One pair of states in every layout."""
    model = new_model()
    freeze(model)
    before = snapshot(model)
    optimiser = adamw(model)
    train(model, optimiser)
    after = snapshot(model)
    base = saved("layout-before", before, "safetensors")

    def same(name, path, *texts):
        expect(f"layout: {name}", audit(base, path, *POLICY), 0, HELD, *texts)
        wrong = "frozen did NOT stay frozen: 96 of 96 tensors"
        expect(f"layout: {name}, another policy", audit(base, path, "--policy", "all"), 1,
               "frozen did NOT stay frozen: 32 of 96 tensors", absent=[wrong])

    same("state dict", saved("layout", after, "bin"))
    old = FOLDER / "legacy.pt"
    torch.save(after, old, _use_new_zipfile_serialization=False)
    same("before torch 1.6", old)
    torch.save(model, FOLDER / "module.pt")
    same("a whole module", FOLDER / "module.pt")
    model.save_pretrained(FOLDER / "shards", max_shard_size="60KB")
    assert (FOLDER / "shards/model.safetensors.index.json").exists()
    same("shards", FOLDER / "shards")
    bins = FOLDER / "bins"
    bins.mkdir()
    names, index = sorted(after), {}
    for number, part in enumerate([names[::2], names[1::2]]):
        file = f"pytorch_model-0000{number + 1}-of-00002.bin"
        torch.save({name: after[name] for name in part}, bins / file)
        index |= {name: file for name in part}
    (bins / "pytorch_model.bin.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
    same("shards of .bin", bins)
    from argparse import Namespace
    lightning = {"epoch": 1, "global_step": 3, "pytorch-lightning_version": "2.5.0",
                 "state_dict": {f"model.{name}": tensor for name, tensor in after.items()},
                 "optimizer_states": [optimiser.state_dict()], "lr_schedulers": [],
                 "hyper_parameters": {"lr": 1e-2, "args": Namespace(seed=1)}}
    torch.save(lightning, FOLDER / "lightning.ckpt")
    same("Lightning", FOLDER / "lightning.ckpt", "names after training begin with `model.`, which is left out",
         "optimiser: 102 parameters, 38 with a state")
    torch.save({f"module._orig_mod.{name}": tensor for name, tensor in after.items()}, FOLDER / "wrapped.pt")
    same("wrapped names", FOLDER / "wrapped.pt")
    strided = {name: tensor.t().contiguous().t() if tensor.dim() == 2 else tensor for name, tensor in after.items()}
    torch.save(strided, FOLDER / "strided.pt")
    same("transposed in memory", FOLDER / "strided.pt")
    whole = torch.cat([tensor.flatten() for tensor in after.values()])
    views, at = {}, 0
    for name, tensor in after.items():
        views[name] = whole[at:at + tensor.numel()].view(tensor.shape)
        at += tensor.numel()
    torch.save(views, FOLDER / "views.pt")
    same("views of one storage", FOLDER / "views.pt")

    import torch.distributed.checkpoint as dcp
    dcp.save({"model": after, "optim": {"state": {}, "param_groups": []}}, checkpoint_id=str(FOLDER / "dcp"), no_dist=True)
    same("DCP", FOLDER / "dcp", "begin with `model.`")

    half = {name: tensor.to(torch.bfloat16) for name, tensor in after.items()}
    expect("bf16 of the same", audit(base, saved("half", half, "safetensors"), *POLICY), 0, HELD,
           "f32 to bf16, equal up to rounding", absent=["LoRA"])
    short = dict(after)
    del short["distilbert.transformer.layer.0.ffn.lin1.weight"]
    short["classifier.weight"] = torch.zeros(7, 32)
    short["extra.weight"] = torch.zeros(2)
    expect("missing, new, another shape", audit(base, saved("short", short), *POLICY), 1,
           "distilbert.transformer.layer.0.ffn.lin1.weight  not in the file after training", "new after training: 1\n  extra.weight",
           "classifier.weight  [5, 32] to [7, 32]")
    bare = {name.removeprefix("distilbert."): tensor for name, tensor in before.items() if "classifier" not in name}
    expect("a base model before", audit(saved("bare", bare), saved("layout", after), *POLICY), 0, HELD,
           "names after training begin with `distilbert.`")
    code, text = audit(base, saved("layout", after), *POLICY, "--json")
    found = json.loads(text)
    rows = {row["name"]: row for row in found["rows"]}
    moved_rows = {name for name, row in rows.items() if isinstance(row["change"], dict) and "moved" in row["change"]}
    expected = {name for name in after if not torch.equal(before[name], after[name])}
    name = "classifier.weight"
    largest = (after[name] - before[name]).abs().max().item()
    exact = abs(rows[name]["change"]["moved"]["largest"] - largest) < 1e-9
    expect("JSON", (0 if moved_rows == expected and exact and found["holds"] else 9, text[:2000]), 0)


def distributed():
    """Two processes with FSDP2: shards of both in one folder."""
    script = Path(__file__).with_name("fsdp.py")
    done = subprocess.run([sys.executable, str(script), str(FOLDER)], capture_output=True, text=True)
    if done.returncode != 0:
        return expect("FSDP2 trains", (done.returncode, done.stderr[-3000:]), 0)
    options = ("--frozen", "distilbert.transformer.layer.0")
    expect("FSDP2", audit(FOLDER / "fsdp-before", FOLDER / "fsdp-after", *options), 0, "frozen stayed frozen: 16 tensors",
           "it holds the trainable parameters and no frozen ones", absent=["never moved"])
    expect("FSDP2 against the whole model", audit(FOLDER / "fsdp-whole.pt", FOLDER / "fsdp-after", *options), 0,
           "frozen stayed frozen: 16 tensors")


def trainer():
    """A folder of Hugging Face Trainer, with and without the policy."""
    from transformers import Trainer, TrainingArguments

    class Words(torch.utils.data.Dataset):
        def __len__(self):
            return 16

        def __getitem__(self, place):
            words, labels = batch(place)
            return {"input_ids": words[0], "labels": labels[0]}

    for name, prepare, code, texts in [
        ("trainer", freeze, 0, [HELD, "optimiser: 38 parameters, 38 with a state",
                                "it holds the trainable parameters and no frozen ones"]),
        ("forgotten", lambda model: None, 1, [moved(64), "64 frozen parameters have a state"]),
    ]:
        model = new_model()
        prepare(model)
        model.save_pretrained(FOLDER / f"{name}-before")
        arguments = TrainingArguments(output_dir=FOLDER / name, per_device_train_batch_size=8, num_train_epochs=2,
                                      learning_rate=1e-2, weight_decay=0.1, report_to=[], save_strategy="epoch",
                                      use_cpu=True, disable_tqdm=True, logging_strategy="no")
        Trainer(model, arguments, train_dataset=Words()).train()
        expect(f"Trainer: {name}", audit(FOLDER / f"{name}-before", FOLDER / name / "checkpoint-4", *POLICY), code, *texts)
        expect(f"Trainer: {name}, its folder", audit(FOLDER / f"{name}-before", FOLDER / name, *POLICY), 2,
               "give one of its folders: checkpoint-2, checkpoint-4")


def adapters():
    """PEFT: an adapter against its base, an unmerged model, a merged one, and a first matrix alone."""
    import peft

    model = new_model()
    model.save_pretrained(FOLDER / "peft-base")
    before = snapshot(model)
    config = peft.LoraConfig(r=4, lora_alpha=8, target_modules=["q_lin"], modules_to_save=["classifier"])
    wrapped = peft.get_peft_model(model, config)
    wrapped.save_pretrained(FOLDER / "peft-untrained")
    train(wrapped, torch.optim.AdamW(wrapped.parameters(), lr=1e-2, weight_decay=0.1))
    wrapped.save_pretrained(FOLDER / "peft-adapter")
    base, adapter = FOLDER / "peft-base", FOLDER / "peft-adapter"
    query = "distilbert.transformer.layer.0.attention.q_lin.weight"
    state = snapshot(wrapped)
    merged = wrapped.merge_and_unload().state_dict()
    largest = (merged[query] - before[query]).abs().max().item()
    expect("g adapter against its base", audit(base, adapter, "--policy", "none+lora"), 0, "frozen stayed frozen: 100 tensors",
           "changed by an adapter: 6", f"{query} + LoRA  up to {largest:.1e}".replace("e-0", "e-"), "LoRA of rank 4")
    expect("g adapter in frozen blocks", audit(base, adapter, "--policy", "first-4+lora"), 1, "FROZEN, BUT NOT THE SAME: 4",
           f"{query} + LoRA")
    expect("g adapter that never learned", audit(base, FOLDER / "peft-untrained", "--policy", "none+lora"), 0,
           "frozen stayed frozen", absent=["changed by an adapter"])
    expect("g unmerged model", audit(base, saved("peft-state", state), "--policy", "none+lora"), 0,
           "frozen stayed frozen: 100 tensors", "changed by an adapter: 6", "without its factor, which is not in the file")
    expect("g merged model, another policy", audit(base, saved("peft-merged", merged), "--policy", "head-only"), 1,
           "FROZEN, BUT NOT THE SAME: 6", "the difference has rank 4: a merged LoRA adapter")
    expect("g merged model, its policy", audit(base, saved("peft-merged", merged), "--policy", "none+lora"), 0,
           "moved for a visible reason: 6")


class Evil:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        import os
        return os.system, (f"touch {self.marker}",)


def hostile():
    """Pickles that attack the computer that loads them: refused, and nothing runs."""
    marker = FOLDER / "ran"
    torch.save({"model": {"weight": torch.zeros(2)}, "x": Evil(marker)}, FOLDER / "evil.pt")
    expect("a pickle that calls os.system", audit(FOLDER / "evil.pt", FOLDER / "evil.pt"), 2,
           "it calls `posix.system`, which no checkpoint needs. Nothing was run")
    torch.save({"weight": torch.zeros(2), "x": Evil(marker)}, FOLDER / "evil-old.pt", _use_new_zipfile_serialization=False)
    expect("the same before torch 1.6", audit(FOLDER / "evil-old.pt", FOLDER / "evil-old.pt"), 2, "posix.system")
    (FOLDER / "plain.pkl").write_bytes(pickle.dumps(Evil(marker)))
    expect("a plain pickle", audit(FOLDER / "plain.pkl", FOLDER / "plain.pkl"), 2, "neither a ZIP archive nor a pickle of")
    expect("nothing ran", (1 if marker.exists() else 0, ""), 0)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--program", required=True, help="the program `frostline`")
parser.add_argument("--folder", type=Path, help="where models are written; a temporary folder without it")
parser.add_argument("--show", action="store_true", help="print what the program prints")
parser.add_argument("--only", help="one group of cases")
arguments = parser.parse_args()
PROGRAM, SHOW = arguments.program, arguments.show
with tempfile.TemporaryDirectory() as temporary:
    FOLDER = arguments.folder or Path(temporary)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for group in [gradients, thawing, buffers_and_ties, layouts, distributed, trainer, adapters, hostile]:
        if arguments.only in (None, group.__name__):
            group()
print(f"{CASES - len(FAILED)} of {CASES} cases as expected")
sys.exit(1 if FAILED or CASES == 0 else 0)
