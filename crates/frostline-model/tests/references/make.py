#!/usr/bin/env python3
"""Makes the tiny models beside this file and what Hugging Face `transformers` makes of them.

    pip install torch transformers safetensors     # made with torch 2.15, transformers 5.23, on the CPU
    python3 make.py                                # writes everything beside itself
    python3 make.py roberta xlm-roberta            # some of the models below, or small

Weights are drawn at random, wide enough that attention, GELU and every bias matter. All references
are computed in double precision from the f32 weights, over padded batches with an attention mask, as
`transformers` does it; they are exact values, so that the tests' tolerances are all ours.

    distilbert/, bert/, roberta/, xlm-roberta/, camembert/, electra/, modernbert/, nomic_bert/, gte/,
    deberta-v2/, eurobert/, xlm-roberta-xl/, bert-gelu_new/, distilbert-relu/, roberta-silu/, albert/, albert-groups/
                            token classifiers with tokenizer, as `save_pretrained` leaves them
    sentences.json          the sentences: words, subword ids, speaking positions, labels
    sentences-NAME.json     the same words in the subwords of models with another tokenizer; modernbert and deberta-v2
                            have one more sentence, longer than a block of queries
    NAME.safetensors        logits over speaking positions; the gradient of every parameter
    NAME.json               the loss; losses of 50 training steps under every policy
    small-*/                models of one block in f16, in bf16, in shards without prefix
    small.safetensors       their last hidden states of the first four sentences
"""
import json
import pathlib
import random
import shutil
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).parent
TAGS = ["ADJ", "ADV", "DET", "NOUN", "VERB"]
STEPS, PEAK, CHUNK = 50, 5e-3, 5
DEPTH = 6
SEEDS = {"distilbert": 10, "bert": 11, "roberta": 19, "xlm-roberta": 13, "camembert": 14, "electra": 15, "modernbert": 16}
# Steps at the usual rate amplify rounding in an encoder without norms after its residuals, and where the slope of ReLU jumps.
PEAKS = {"albert-groups": 1e-3, "distilbert-relu": 1e-3, "modernbert": 1e-3, "nomic_bert": 1e-3, "gte": 1e-3, "deberta-v2": 1e-3, "eurobert": 1e-3, "xlm-roberta-xl": 1e-3}
# The norm after the last block, which freezes with it.
FINAL_NORMS = {"modernbert": "final_norm", "eurobert": "model.norm.", "xlm-roberta-xl": "encoder.LayerNorm."}
SEEDS |= {"nomic_bert": 30, "gte": 27, "deberta-v2": 32, "eurobert": 33, "xlm-roberta-xl": 34}
SEEDS |= {"distilbert-relu": 17, "bert-gelu_new": 21, "roberta-silu": 20, "albert": 40, "albert-groups": 55}
POLICIES = {
    "none": ((), False),
    "all": (range(DEPTH), False),
    "first-4": (range(4), False),
    "alternating": (range(0, DEPTH, 2), False),
    "first-4+embeddings": (range(4), True),
}
# Blocks with the same weights freeze together: six are one set, or each four of eight are two layers that alternate.
SHARED = {
    "albert": {"none": ((), False), "all": (range(6), False), "none+embeddings": ((), True), "head-only": (range(6), True)},
    "albert-groups": {
        "none": ((), False), "all": (range(8), False), "first-4": (range(4), False), "last-4": (range(4, 8), False),
        "first-4+embeddings": (range(4), True),
    },
}
BLOCKS_OF_GROUP = {"albert": 6, "albert-groups": 4}


def vocabulary():
    starts, ends = ("fro", "sni", "the", "ka", "lu", "mo", "pe"), ("st", "lo", "ra", "vi", "mu", "ne", "ti", "ko", "da", "bu")
    stems = [start + end for start in starts for end in ends]
    return ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *stems, "##s", "##ing", "##ly", "##ed"]


def save_tokenizer(folder, words):
    tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    specials = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "mask_token": "[MASK]"}
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **specials)
    fast.save_pretrained(folder)
    return fast


def forms(words):
    return [stem + suffix for stem in words[5:-4] for suffix in ("", "s", "ing", "ly", "ed")]


def save_modernbert(folder, words):
    """The same BPE. transformers ignores add_prefix_space when it loads this family, so the file has it."""
    save_roberta(folder, words)
    file = json.loads((folder / "tokenizer.json").read_text())
    file["pre_tokenizer"]["add_prefix_space"] = True
    return save_files(folder, Tokenizer.from_str(json.dumps(file)), "PreTrainedTokenizerFast")


def save_roberta(folder, words):
    """A byte-level BPE; add_prefix_space is false in the file, as RoBERTa is released."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    specials = ["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True, special=True)]
    trainer = trainers.BpeTrainer(vocab_size=96, special_tokens=specials, show_progress=False)
    tokenizer.train_from_iterator(forms(words), trainer)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return save_files(folder, tokenizer, "RobertaTokenizer")


def save_xlm_roberta(folder, words, kind="XLMRobertaTokenizer"):
    """A Unigram of letters, stems' halves and some stems."""
    stems = words[5:-4]
    letters = sorted(set("".join(forms(words))) | {"▁"})
    halves = sorted({"▁" + stem[:3] for stem in stems} | {stem[3:] for stem in stems} | {"s", "ing", "ly", "ed"})
    pieces = {piece: -6.0 for piece in letters} | {piece: -4.0 for piece in halves}
    pieces |= {"▁" + stem: -3.0 for stem in stems[::3]}
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    scored = [(token, 0.0) for token in specials] + sorted(pieces.items()) + [("<mask>", 0.0)]
    tokenizer = Tokenizer(models.Unigram(scored, unk_id=3, byte_fallback=False))
    split = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(split)
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens([*specials, AddedToken("<mask>", lstrip=True, special=True)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return save_files(folder, tokenizer, kind)


def save_albert(folder, words):
    """A Unigram of the same pieces with [CLS] and [SEP] over text without accents and capitals, as ALBERT has it."""
    save_xlm_roberta(folder, words)
    file = json.loads((folder / "tokenizer.json").read_text())
    names = {"<s>": "[CLS]", "</s>": "[SEP]", "<mask>": "[MASK]"}
    for number, (piece, score) in enumerate(file["model"]["vocab"]):
        file["model"]["vocab"][number] = [names.get(piece, piece), score]
    for added in file["added_tokens"]:
        added["content"] = names.get(added["content"], added["content"])
    tokenizer = Tokenizer.from_str(json.dumps(file | {"post_processor": None}))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(), normalizers.StripAccents(),
        normalizers.Lowercase(),
    ])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 0), ("[SEP]", 2)]
    )
    return save_files(folder, tokenizer, "PreTrainedTokenizerFast")


def save_files(folder, tokenizer, kind):
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind}) + "\n")
    # Words given one by one have no space before them; without it they would be read as one.
    return transformers.AutoTokenizer.from_pretrained(folder, add_prefix_space=True)


def sentences(words, tokenizer, more=()):
    """Fixed sentences of 1 to 24 words; a word's tag follows from its stem and suffix, mostly."""
    draw = random.Random(3)
    stems, suffixes = words[5:-4], ["", "", "", "s", "ing", "ly", "ed"]
    out = []
    for length in (7, 1, 12, 3, 24, 5, 9, 2, 14, 6, 4, 11, 8, 3, 10, 6, *more):
        forms, labels = [], []
        for _ in range(length):
            stem, suffix = draw.randrange(len(stems)), draw.choice(suffixes)
            forms.append(stems[stem] + suffix)
            labels.append(draw.randrange(5) if draw.random() < 0.1 else (stem + len(suffix)) % 5)
        encoded = tokenizer(forms, is_split_into_words=True)
        owners = encoded.word_ids()
        speaking = [owners.index(word) for word in range(length)]
        out.append({"words": forms, "ids": encoded["input_ids"], "speaking": speaking, "labels": labels})
    return out


def is_norm(name):
    """Whether a parameter is a norm's: of these, and of biases, Trainer decays none."""
    return any(part.lower().endswith("norm") for part in name.split("."))


def draw_weights(model, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            norm = is_norm(name)
            if norm and name.endswith("weight"):
                parameter.copy_(1 + 0.2 * noise)
            elif name.endswith("bias"):
                parameter.copy_(0.2 * noise)
            elif "embeddings" in name:
                parameter.copy_(0.7 * noise)
            else:
                parameter.copy_(0.35 * noise)
    return model


def configs(words, depth):
    shared = {"vocab_size": len(words), "max_position_embeddings": 48, "pad_token_id": 0}
    shared |= {"id2label": dict(enumerate(TAGS)), "label2id": {tag: i for i, tag in enumerate(TAGS)}}
    bert = {"hidden_size": 12, "num_hidden_layers": depth, "num_attention_heads": 3, "intermediate_size": 28}
    distil = {"dim": 12, "n_layers": depth, "n_heads": 2, "hidden_dim": 20, "sinusoidal_pos_embds": False}
    behind = shared | bert | {"max_position_embeddings": 66, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    behind |= {"type_vocab_size": 1, "layer_norm_eps": 1e-5}
    modern = behind | {"max_position_embeddings": 200, "num_attention_heads": 2, "local_attention": 8}
    modern |= {"cls_token_id": 0, "sep_token_id": 2}
    for key in ("type_vocab_size", "layer_norm_eps"):
        modern.pop(key)
    deberta = behind | {"max_position_embeddings": 200, "type_vocab_size": 0, "layer_norm_eps": 1e-7}
    deberta |= {"relative_attention": True, "position_buckets": 16, "position_biased_input": False}
    deberta |= {"norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": ["p2c", "c2p"]}
    euro = modern | {"num_key_value_heads": 1, "rope_parameters": {"rope_type": "default", "rope_theta": 250_000.0}}
    for key in ("local_attention", "cls_token_id", "sep_token_id"):
        euro.pop(key)
    albert = shared | bert | {"embedding_size": 10, "layer_norm_eps": 1e-5, "max_position_embeddings": 66}
    albert |= {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    groups = albert | {"num_hidden_layers": 4, "num_hidden_groups": 2, "inner_group_num": 2}
    return {
        "albert": transformers.AlbertConfig(**albert),
        "albert-groups": transformers.AlbertConfig(**groups),
        "distilbert": transformers.DistilBertConfig(**shared, **distil),
        "distilbert-relu": transformers.DistilBertConfig(**shared, **distil, activation="relu"),
        "bert": transformers.BertConfig(**shared, **bert, layer_norm_eps=1e-5),
        "bert-gelu_new": transformers.BertConfig(**shared, **bert, layer_norm_eps=1e-5, hidden_act="gelu_new"),
        "roberta": transformers.RobertaConfig(**behind),
        "roberta-silu": transformers.RobertaConfig(**behind, hidden_act="silu"),
        "xlm-roberta": transformers.XLMRobertaConfig(**behind),
        "camembert": transformers.CamembertConfig(**behind),
        "electra": transformers.ElectraConfig(**shared, **bert, embedding_size=10, layer_norm_eps=1e-5),
        "modernbert": transformers.ModernBertConfig(**modern),
        "nomic_bert": transformers.NomicBertConfig(**shared, **bert | {"num_attention_heads": 2}, layer_norm_eps=1e-5),
        "gte": transformers.GteConfig(**behind | {"num_attention_heads": 2}),
        "deberta-v2": transformers.DebertaV2Config(**deberta),
        "eurobert": transformers.EuroBertConfig(**euro),
        "xlm-roberta-xl": transformers.XLMRobertaXLConfig(**behind),
    }


def collate(batch, pad):
    width = max(len(s["ids"]) for s in batch)
    ids, mask = torch.full((len(batch), width), pad), torch.zeros(len(batch), width, dtype=torch.long)
    labels = torch.full((len(batch), width), -100)
    for row, sentence in enumerate(batch):
        n = len(sentence["ids"])
        ids[row, :n], mask[row, :n] = torch.tensor(sentence["ids"]), 1
        labels[row, sentence["speaking"]] = torch.tensor(sentence["labels"])
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def load(folder, dtype=torch.float64):
    model = transformers.AutoModelForTokenClassification.from_pretrained(folder, dtype=torch.float32)
    return model.to(dtype)


def once(folder, batch, dtype=torch.float64):
    """Logits, loss and gradients, dropout off."""
    model = load(folder, dtype).eval()
    inputs = collate(batch, model.config.pad_token_id)
    out = model(**inputs)
    out.loss.backward()
    speaking = [out.logits[row, s["speaking"]] for row, s in enumerate(batch)]
    tensors = {"logits": torch.cat(speaking).detach()}
    tensors |= {f"gradient.{name}": gradient for name, gradient in named_as_on_disk(model).items()}
    return {name: t.float().contiguous() for name, t in tensors.items()}, out.loss.item()


def named_as_on_disk(model):
    """The gradients under the names of files, where some families join or rename tensors."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.grad)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        return load_file(f"{folder}/model.safetensors")


def rounding(exact, rounded):
    """How far f32 is from the exact gradients, as a share of a gradient's norm or of a thousandth of all."""
    gradients = [name for name in exact if name.startswith("gradient.")]
    least = 1e-3 * sum(exact[name].norm() ** 2 for name in gradients).sqrt()
    share = lambda name: (exact[name] - rounded[name]).norm() / torch.maximum(exact[name].norm(), least)
    return max(share(name).item() for name in gradients)


def train(folder, batches, policy, peak, dtype=torch.float64):
    """The study's protocol with dropout 0: AdamW, linear decay, clipping at 1."""
    blocks, embeddings = SHARED.get(folder.name, POLICIES)[policy]
    groups = {block // BLOCKS_OF_GROUP[folder.name] for block in blocks} if folder.name in SHARED else ()
    model = load(folder, dtype)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    model.eval()  # attention reads its dropout rate from `training`
    for name, parameter in model.named_parameters():
        frozen = any(f".layer.{block}." in name or f".layers.{block}." in name for block in blocks)
        frozen |= any(f".albert_layer_groups.{group}." in name for group in groups)
        final = FINAL_NORMS.get(folder.name)
        frozen |= bool(final) and final in name and DEPTH - 1 in blocks
        shared = folder.name == "deberta-v2" and ("rel_embeddings" in name or ".encoder.LayerNorm" in name)
        shared |= ".embedding_hidden_mapping_in" in name
        of_embeddings = ".embeddings" in name or ".embed_tokens" in name or shared
        parameter.requires_grad_(not (frozen or (embeddings and of_embeddings)))
    plain = lambda name: name.endswith("bias") or is_norm(name)
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    groups = [
        {"params": [p for name, p in named if not plain(name)], "weight_decay": 0.01},
        {"params": [p for name, p in named if plain(name)], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=peak, betas=(0.9, 0.999), eps=1e-8)
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, 0, STEPS)
    losses = []
    for step in range(STEPS):
        loss = model(**collate(batches[step % len(batches)], model.config.pad_token_id)).loss
        losses.append(round(loss.item(), 9))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for _, p in named], 1.0)
        optimizer.step()
        schedule.step()
    return losses


def small(words, data):
    """One-block encoders in the other kinds of file, and the hidden states of a few sentences."""
    references = {}
    shapes = configs(words, 1)
    kinds = {
        "f16": transformers.BertForTokenClassification(shapes["bert"]).to(torch.float16),
        "bf16": transformers.DistilBertForTokenClassification(shapes["distilbert"]).to(torch.bfloat16),
        "sharded": transformers.BertModel(shapes["bert"], add_pooling_layer=False),
    }
    for seed, (kind, model) in enumerate(kinds.items()):
        folder = HERE / f"small-{kind}"
        shutil.rmtree(folder, ignore_errors=True)
        draw_weights(model, 20 + seed).save_pretrained(folder, max_shard_size="5KB" if kind == "sharded" else "1GB")
        wide = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).double().eval()
        inputs = collate(data, 0)
        hidden = wide(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).last_hidden_state
        rows = [hidden[row, : len(s["ids"])] for row, s in enumerate(data)]
        references[kind] = torch.cat(rows).detach().float().contiguous()
    save_file(references, HERE / "small.safetensors")


def tagger(name, seed, words):
    """A tagger's folder and what comes out of it."""
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    saves = {"roberta": save_roberta, "roberta-silu": save_roberta, "modernbert": save_modernbert, "eurobert": save_modernbert}
    saves |= dict.fromkeys(("xlm-roberta", "xlm-roberta-xl", "camembert", "gte"), save_xlm_roberta)
    saves |= dict.fromkeys(("albert", "albert-groups"), save_albert)
    saves["deberta-v2"] = lambda *given: save_xlm_roberta(*given, "PreTrainedTokenizerFast")
    tokenizer = saves.get(name, save_tokenizer)(folder, words)
    config = configs(tokenizer.get_vocab(), DEPTH)[name]
    model = transformers.AutoModelForTokenClassification.from_config(config)
    draw_weights(model, seed).save_pretrained(folder)
    data = sentences(words, tokenizer, more=(70,) if name in ("modernbert", "deberta-v2") else ())
    tensors, loss = once(folder, data)
    save_file(tensors, HERE / f"{name}.safetensors")
    # From some weights rounding alone leads elsewhere; they would make no reference.
    apart = rounding(tensors, once(folder, data, torch.float32)[0])
    assert apart < 1e-5, f"{name}: f32 gradients are {apart:.1e} away; give other weights"
    batches = [data[i : i + CHUNK] for i in range(0, len(data), CHUNK)]
    peak = PEAKS.get(name, PEAK)
    run = lambda policy, dtype: {
        "batches": train(folder, batches, policy, peak, dtype),
        "whole": train(folder, [data], policy, peak, dtype),
    }
    training = {policy: run(policy, torch.float64) for policy in SHARED.get(name, POLICIES)}
    for policy, runs in training.items():
        again = run(policy, torch.float32)
        apart = max(abs(a - b) for kind in runs for a, b in zip(again[kind], runs[kind]))
        print(f"{name} {policy}: {runs['batches'][0]:.3f} to {runs['batches'][-1]:.3f}; f32 is within {apart:.1e}")
        assert apart < 1e-4, f"{name}: f32 losses are {apart:.1e} away; give other weights"
    reference = {"loss": loss, "lr": peak, "batch": CHUNK, "losses": training}
    (HERE / f"{name}.json").write_text(json.dumps(reference, indent=1) + "\n")
    own = f"-{name}" if name in saves else ""
    (HERE / f"sentences{own}.json").write_text("[\n" + ",\n".join(json.dumps(s) for s in data) + "\n]\n")


def main(asked):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    words = vocabulary()
    for name, seed in SEEDS.items():
        if name in asked:
            tagger(name, seed, words)
    if "small" in asked:
        small(words, json.loads((HERE / "sentences.json").read_text())[:4])


main(sys.argv[1:] or [*SEEDS, "small"])
