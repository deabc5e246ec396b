"""Freezing every family of encoders that transformers has, by the names of their parameters."""

from __future__ import annotations

import copy
import pickle
from typing import Any, Dict, List

import pytest

torch = pytest.importorskip("torch", reason="NO TORCH: no family is frozen")
transformers = pytest.importorskip("transformers", reason="NO TRANSFORMERS: no family is frozen")

import frostline  # noqa: E402
from frostline.torch import FreezeAudit, freeze, report, unfreeze  # noqa: E402

BASE: Dict[str, Any] = dict(
    vocab_size=97, hidden_size=24, num_hidden_layers=4, num_attention_heads=4, intermediate_size=36,
    max_position_embeddings=64, num_labels=5,
)
SPECIAL = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2)
FAMILIES: Dict[str, Any] = {
    "Bert": {}, "Roberta": {}, "XLMRoberta": {}, "Camembert": {}, "XLMRobertaXL": {}, "NomicBert": {}, "MPNet": {}, "Gte": {},
    "Electra": {"embedding_size": 12},
    "ModernBert": {**SPECIAL, "cls_token_id": 1, "sep_token_id": 2},
    "DebertaV2": dict(relative_attention=True, position_buckets=8, norm_rel_ebd="layer_norm", share_att_key=True,
                      pos_att_type="p2c|c2p", position_biased_input=False),
    "EuroBert": {**SPECIAL, "num_key_value_heads": 2},
    "DistilBert": None,
}
# What is in the embeddings and after the last block, by the end of a name.
EMBEDDINGS = {
    "Electra": ["embeddings_project.weight"],
    "DebertaV2": ["encoder.rel_embeddings.weight", "encoder.LayerNorm.weight"],
    "NomicBert": ["embeddings.LayerNorm.weight"],
    "ModernBert": ["tok_embeddings.weight", "embeddings.norm.weight"],
    "EuroBert": ["embed_tokens.weight"],
}
FINAL = {"ModernBert": ["final_norm.weight"], "EuroBert": ["norm.weight"], "XLMRobertaXL": ["encoder.LayerNorm.weight"]}


def build(family: str, head: str = "ForTokenClassification") -> Any:
    torch.manual_seed(0)
    settings = FAMILIES[family]
    try:
        config_class = getattr(transformers, family + "Config")
        model_class = getattr(transformers, family + head, None) or getattr(transformers, family + "Model")
    except AttributeError:
        pytest.skip(f"python: this version of transformers has no {family}")
    if settings is None:
        config = config_class(vocab_size=97, dim=24, n_layers=4, n_heads=4, hidden_dim=36, max_position_embeddings=64, num_labels=5)
    else:
        config = config_class(**{**BASE, **settings})
    return model_class(config)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("head", ["ForTokenClassification", "Model"])
def test_a_policy_freezes_what_it_names(family: str, head: str) -> None:
    model = build(family, head)
    found = freeze(model, "first-3+embeddings")
    blocks = {part.part for part in found.parts if part.part.startswith("block")}
    assert blocks == {f"block {number}" for number in range(4)}
    by_part = {part.part: part for part in found.parts}
    assert by_part["embeddings"].trainable == 0 and by_part["embeddings"].total > 97 * 11
    for number in range(4):
        assert by_part[f"block {number}"].trainable == (by_part[f"block {number}"].total if number == 3 else 0)
    assert sum(part.total for part in found.parts) == sum(parameter.numel() for parameter in model.parameters())
    for end in EMBEDDINGS.get(family, []):
        assert any(f".{name}".endswith(f".{end}") for name in found.frozen), end
    for end in FINAL.get(family, []):
        assert any(f".{name}".endswith(f".{end}") for name in found.trainable), end
        for policy in ("head-only", "last-1", "last-2+embeddings", "blocks-3"):
            assert any(f".{name}".endswith(f".{end}") for name in freeze(model, policy).frozen), (policy, end)
    if head != "Model" and type(model).__name__.endswith("ForTokenClassification"):
        only = freeze(model, "head-only")
        assert only.trainable and all("classifier" in name or "head" in name or "score" in name for name in only.trainable)
    assert unfreeze(model).learning == report(model).total


@pytest.mark.parametrize("family", FAMILIES)
def test_only_what_learns_moves(family: str) -> None:
    model = build(family)
    freeze(model, "first-2+embeddings")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
    audit = FreezeAudit(model, optimizer, policy="first-2+embeddings")
    for seed in range(2):
        ids = torch.randint(5, 97, (2, 9), generator=torch.Generator().manual_seed(seed))
        optimizer.zero_grad()
        out = model(input_ids=ids)
        out[0].float().pow(2).mean().backward()
        optimizer.step()
        audit.step()
    assert audit.finish().ok


def test_albert_shares_its_blocks() -> None:
    config = transformers.AlbertConfig(**BASE, embedding_size=12)
    model = transformers.AlbertForTokenClassification(config)
    with pytest.raises(frostline.PolicyError, match="share one group of weights"):
        freeze(model, "first-2")
    for policy in ("first-1", "last-1", "alternating", "blocks-0", "top-1"):
        with pytest.raises(frostline.PolicyError, match="choose none, all or head-only"):
            freeze(model, policy)
    found = freeze(model, "all+embeddings")
    assert all("classifier" in name for name in found.trainable)
    assert any("embedding_hidden_mapping_in" in name for name in found.frozen)


def test_impossible_policies_say_what_exists() -> None:
    model = build("Bert")
    for policy, text in (
        ("first-9", "the encoder has 4 blocks"),
        ("frist-2", "there is no policy `frist-2`"),
        ("none+head.ner", "the heads are: classifier"),
        ("none+lora", "use PEFT"),
    ):
        with pytest.raises(frostline.PolicyError, match=text):
            freeze(model, policy)
    with pytest.raises(frostline.PolicyError, match="no name has numbered blocks such as `layer.0`; names begin with 0.bias, 0.weight"):
        freeze(torch.nn.Sequential(torch.nn.Linear(2, 2)), "first-1")
    with pytest.raises(frostline.PolicyError, match="'roberta' matches no parameter; there are: bert"):
        freeze(model, patterns=["roberta"])
    with pytest.raises(frostline.SettingError, match="neither a policy nor patterns"):
        freeze(model)


def test_a_module_around_the_model_names_no_head() -> None:
    class Outer(torch.nn.Module):  # type: ignore[misc,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.model = build("Bert")

    heads = [part.part for part in report(Outer()).parts if part.part.startswith("head")]
    assert heads == ["head classifier"]
    assert all("classifier" in name for name in freeze(Outer(), "all+embeddings+head.classifier").frozen if "bert" not in name)


def test_models_with_two_stacks_need_patterns() -> None:
    config = transformers.T5Config(
        vocab_size=97, d_model=24, d_kv=6, d_ff=36, num_layers=2, num_heads=4, decoder_start_token_id=0, num_decoder_layers=2
    )
    with pytest.raises(frostline.PolicyError, match="several stacks of blocks: decoder.block .2., encoder.block .2.; .*`patterns`"):
        freeze(transformers.T5ForConditionalGeneration(config), "first-1")
    found = freeze(transformers.T5EncoderModel(config), "first-1+embeddings")
    assert {part.part: part.trainable for part in found.parts}["embeddings"] == 0
    assert any("final_layer_norm" in name for name in found.trainable)


def test_biases_and_norms_alone() -> None:
    found = freeze(build("Bert"), "none+bitfit")
    assert all(name.endswith(".bias") or name.startswith("classifier") for name in found.trainable)
    found = freeze(build("Bert"), "first-2+norms")
    inner = [name for name in found.trainable if not name.startswith("classifier")]
    assert inner and all("LayerNorm" in name for name in inner) and not any("layer.1." in name for name in inner)


def test_frozen_parts_stay_in_evaluation_mode() -> None:
    model = build("Bert")
    found = freeze(model, "first-2+embeddings", eval_mode=True)
    assert found.kept_in_eval == ("bert.embeddings", "bert.encoder.layer.0", "bert.encoder.layer.1")
    model.train()

    def training(module: Any) -> List[bool]:
        layers = [*module.bert.encoder.layer]
        return [module.bert.embeddings.dropout.training, *(layer.attention.self.dropout.training for layer in layers)]

    assert training(model) == [False, False, False, True, True] and model.training
    copied = copy.deepcopy(model).train()
    assert training(copied) == [False, False, False, True, True]
    loaded = pickle.loads(pickle.dumps(model)).train()
    assert training(loaded) == [False, False, False, True, True]
    assert loaded.bert.embeddings.train.args[0] is loaded.bert.embeddings
    unfreeze(model, ["bert.embeddings"])
    model.train()
    assert training(model) == [True, False, False, True, True]
    freeze(model, "none")
    assert training(model.train()) == [True] * 5
    assert training(model.eval()) == [False] * 5
