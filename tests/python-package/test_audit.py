"""`frostline.audit` on state dicts, files and folders: the findings of the program, as Python values."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict

import pytest

torch = pytest.importorskip("torch", reason="NO TORCH: no checkpoint is compared")
transformers = pytest.importorskip("transformers", reason="NO TRANSFORMERS: no checkpoint is compared")

import frostline  # noqa: E402
from frostline.torch import freeze  # noqa: E402


def build() -> Any:
    torch.manual_seed(0)
    config = transformers.DistilBertConfig(vocab_size=50, dim=16, n_layers=3, n_heads=2, hidden_dim=24, num_labels=3)
    return transformers.DistilBertForTokenClassification(config)


def train(model: Any, steps: int = 2) -> None:
    optimizer = torch.optim.AdamW([one for one in model.parameters() if one.requires_grad], lr=1e-2)
    ids = torch.randint(0, 50, (4, 7), generator=torch.Generator().manual_seed(1))
    for _ in range(steps):
        optimizer.zero_grad()
        model(input_ids=ids, labels=ids % 3).loss.backward()
        optimizer.step()


def copied(model: Any) -> Dict[str, Any]:
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def test_state_dicts_are_compared_in_memory() -> None:
    model = build()
    freeze(model, "first-2+embeddings")
    before = copied(model)
    train(model)
    found = frostline.audit(before, model.state_dict(), "first-2+embeddings")
    assert found.ok and not [row for row in found.rows if row.frozen and row.change != "same"]
    assert {row.group for row in found.moved} == {"block 2", "classifier"}
    # The same weights do not fit a policy that freezes more.
    found = frostline.audit(before, model.state_dict(), "head-only")
    assert not found.ok
    assert {row.group for row in found.moved if row.frozen} == {"block 2"}
    assert "frozen did NOT stay frozen" in str(found)


def test_decay_and_its_factor_are_found_in_a_file(tmp_path: Path) -> None:
    model = build()
    before = copied(model)
    name = "distilbert.transformer.layer.0.ffn.lin1.weight"
    torch.save(before, tmp_path / "before.pt")
    after = copied(model)
    after[name] = after[name] * 0.9
    found = frostline.audit(tmp_path / "before.pt", after, frozen=["distilbert.transformer.layer.0", "*.layer.1.*"])
    (row,) = found.moved
    assert not found.ok and row.name == name and row.frozen
    assert row.scale == pytest.approx(0.9, abs=1e-5)
    assert row.largest == pytest.approx(float((before[name] - after[name]).abs().max()), rel=1e-5)
    assert row.at is not None and len(row.at) == 2
    assert found.to_dict()["rows"][0]["name"] in before


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int64", "bool", "uint8"])
def test_every_type_of_a_state_dict_is_compared(dtype: str) -> None:
    values = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype))
    before = {"layer.0.weight": values, "empty": torch.zeros(0, 4), "scalar": torch.tensor(1.5)}
    # A tensor that is not contiguous has the same numbers.
    same = dict(before, **{"layer.0.weight": values.t().contiguous().t()})
    assert {row.change for row in frostline.audit(before, same).rows} == {"same"}
    other = values.clone()
    other[1, 2] = 0
    found = frostline.audit(before, dict(before, **{"layer.0.weight": other}), frozen="layer.0")
    assert [(row.name, row.at) for row in found.moved] == [("layer.0.weight", (1, 2))]


def test_a_saved_model_is_compared_with_its_source(tmp_path: Path) -> None:
    model = build()
    model.save_pretrained(tmp_path / "base")
    train(model)
    found = frostline.audit(tmp_path / "base", model.state_dict(), "first-1")
    assert not found.ok and {row.group for row in found.moved if row.frozen} == {"block 0"}
    # `params` reads the same layouts.
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    counted = [frostline.params(path, "first-1") for path in (tmp_path / "base", tmp_path / "pytorch_model.bin")]
    assert counted[0] == counted[1] and counted[0].total == sum(one.numel() for one in model.parameters())


class Harmful:
    def __reduce__(self) -> Any:
        return (Path.touch, (Path("frostline-was-here"),))


def test_errors_are_exceptions_with_advice_and_no_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = build()
    state = copied(model)
    with pytest.raises(frostline.PolicyError, match="matches none of"):
        frostline.audit(state, state, frozen=["encoder.layer.0"])
    with pytest.raises(frostline.PolicyError):
        frostline.audit(state, state, "first-7")
    with pytest.raises(frostline.PolicyError):
        frostline.audit(state, state, "frist-1")
    with pytest.raises(frostline.SettingError, match="both policy and frozen"):
        frostline.audit(state, state, "first-1", frozen="distilbert")
    with pytest.raises(frostline.DataError) as missing:
        frostline.audit(tmp_path / "nothing.pt", state)
    assert missing.value.file == str(tmp_path / "nothing.pt")
    with pytest.raises(frostline.DataError, match="expected a tensor"):
        frostline.audit({"weight": "text"}, state)  # type: ignore[dict-item]
    torch.save({"weight": torch.ones(2), "other": Harmful()}, tmp_path / "harmful.pt")
    try:
        frostline.audit(tmp_path / "harmful.pt", tmp_path / "harmful.pt")
    except frostline.DataError:
        pass
    assert not (tmp_path / "frostline-was-here").exists()
