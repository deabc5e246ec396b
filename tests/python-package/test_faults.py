"""Faults of freezing, each made on purpose: the audit names it. Harmless ways to the same end pass."""

from __future__ import annotations

from typing import Any, Callable, List, Optional

import pytest

torch = pytest.importorskip("torch", reason="NO TORCH: no fault of freezing is made")
transformers = pytest.importorskip("transformers", reason="NO TRANSFORMERS: no fault of freezing is made")

from frostline.torch import FreezeAudit, FreezeError, freeze, schedule  # noqa: E402

POLICY = "first-4"
DECAY = {"lr": 1e-2, "weight_decay": 0.1}


def config(layers: int = 6) -> Any:
    return transformers.DistilBertConfig(
        vocab_size=100, dim=32, n_layers=layers, n_heads=4, hidden_dim=64, max_position_embeddings=40, num_labels=5
    )


def model(kind: str = "DistilBertForTokenClassification", layers: int = 6, **more: Any) -> Any:
    torch.manual_seed(0)
    return getattr(transformers, kind)(config(layers), **more)


def is_frozen(name: str) -> bool:
    return any(f"transformer.layer.{number}." in name for number in range(4))


def set_frozen(module: Any) -> None:
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(not is_frozen(name))


def batch(seed: int) -> Any:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(5, 100, (4, 12), generator=generator), torch.randint(0, 5, (4, 12), generator=generator)


def train(module: Any, optimizer: Any, audit: Optional[FreezeAudit] = None, steps: int = 3, to_none: bool = True, clear: bool = True) -> None:
    for seed in range(steps):
        ids, labels = batch(seed)
        if clear:
            optimizer.zero_grad(set_to_none=to_none)
        module(input_ids=ids, labels=labels).loss.backward()
        optimizer.step()
        if audit:
            audit.step()


def adamw(module: Any) -> Any:
    return torch.optim.AdamW(module.parameters(), **DECAY)


def caught(run: Callable[[], None]) -> FreezeError:
    with pytest.raises(FreezeError) as found:
        run()
    return found.value


def kinds(error: FreezeError) -> List[str]:
    return sorted({finding.kind for finding in error.findings})


def test_0_frozen_first_passes() -> None:
    m = model()
    set_frozen(m)
    o = adamw(m)
    audit = FreezeAudit(m, o, policy=POLICY)
    train(m, o, audit)
    report = audit.finish()
    assert report.ok and len(report.frozen) == 64
    assert not report.still and len(report.moved) == len(list(m.parameters())) - 64


def test_a_momentum_after_freezing() -> None:
    m = model()
    o = adamw(m)
    train(m, o, steps=1, to_none=False)
    set_frozen(m)
    audit = FreezeAudit(m, o, policy=POLICY)
    o.zero_grad(set_to_none=False)
    error = caught(lambda: train(m, o, audit, to_none=False))
    assert kinds(error) == ["momentum"] and len(error.findings[0].names) == 64
    assert str(error).startswith("step 1: [momentum]")


def test_a2_gradients_cleared_to_none_pass() -> None:
    m = model()
    o = adamw(m)
    train(m, o, steps=1)
    set_frozen(m)
    audit = FreezeAudit(m, o, policy=POLICY)
    train(m, o, audit)
    assert audit.finish().ok


def test_a3_stale_gradients() -> None:
    m = model()
    o = adamw(m)
    train(m, o, steps=1)
    set_frozen(m)
    audit = FreezeAudit(m, o, policy=POLICY)
    assert [warning.kind for warning in audit.warnings] == ["stale-gradient"]
    error = caught(lambda: train(m, o, audit, clear=False))
    assert kinds(error) == ["stale-gradient"] and len(error.findings[0].names) == 64


def test_a4_momentum_of_sgd() -> None:
    m = model()
    o = torch.optim.SGD(m.parameters(), lr=1e-2, momentum=0.9)
    train(m, o, steps=1, to_none=False)
    set_frozen(m)
    audit = FreezeAudit(m, o, policy=POLICY)
    error = caught(lambda: train(m, o, audit, to_none=False))
    assert kinds(error) == ["momentum"]


def test_a5_decay_with_gradients_zeroed_by_a_hook() -> None:
    m = model()
    for name, parameter in m.named_parameters():
        if is_frozen(name):
            parameter.register_hook(torch.zeros_like)
    o = adamw(m)
    audit = FreezeAudit(m, o, policy=POLICY)
    error = caught(lambda: train(m, o, audit))
    assert kinds(error) == ["weight-decay"] and len(error.findings[0].names) == 32
    assert "every element times 0.999000: weight decay of a frozen parameter" in str(error)


def test_a6_the_same_without_decay_passes() -> None:
    m = model()
    for name, parameter in m.named_parameters():
        if is_frozen(name):
            parameter.register_hook(torch.zeros_like)
    o = torch.optim.Adam(m.parameters(), lr=1e-2)
    audit = FreezeAudit(m, o, policy=POLICY)
    train(m, o, audit)
    assert audit.finish().ok


def test_a7_decay_of_buffers_of_zeros() -> None:
    m = model()
    set_frozen(m)
    o = adamw(m)
    for name, parameter in m.named_parameters():
        if is_frozen(name):
            parameter.grad = torch.zeros_like(parameter)
    audit = FreezeAudit(m, o, policy=POLICY)
    error = caught(lambda: train(m, o, audit, to_none=False))
    assert kinds(error) == ["weight-decay"] and len(error.findings[0].names) == 32


@pytest.mark.parametrize("rate", [5e-5, 1e-3])
def test_decay_is_recognised_at_usual_rates(rate: float) -> None:
    m = model()
    set_frozen(m)
    o = torch.optim.AdamW(m.parameters(), lr=rate, weight_decay=0.1)
    for name, parameter in m.named_parameters():
        if is_frozen(name):
            parameter.grad = torch.zeros_like(parameter)
    audit = FreezeAudit(m, o, policy=POLICY)
    error = caught(lambda: train(m, o, audit, to_none=False))
    assert kinds(error) == ["weight-decay"]


def test_b_thawed_after_the_optimiser_was_made() -> None:
    m = model()
    set_frozen(m)
    o = torch.optim.AdamW([p for p in m.parameters() if p.requires_grad], lr=1e-2)
    for parameter in m.parameters():
        parameter.requires_grad_(True)
    error = caught(lambda: FreezeAudit(m, o, policy="none") and None)
    assert kinds(error) == ["not-in-optimizer"] and len(error.findings[0].names) == 64
    assert str(error).startswith("before training")
    # Without a policy, thawed during training: the end shows it.
    m = model()
    set_frozen(m)
    o = torch.optim.AdamW([p for p in m.parameters() if p.requires_grad], lr=1e-2)
    audit = FreezeAudit(m, o, policy="none")
    assert "not-learning" in [warning.kind for warning in audit.warnings]
    train(m, o, audit, steps=1)
    for parameter in m.parameters():
        parameter.requires_grad_(True)
    train(m, o, audit)
    assert kinds(caught(lambda: audit.finish() and None)) == ["not-in-optimizer"]


def test_b2_head_replaced_after_the_optimiser_was_made() -> None:
    m = model()
    o = adamw(m)
    m.classifier = torch.nn.Linear(32, 5)
    error = caught(lambda: FreezeAudit(m, o, policy="none") and None)
    assert kinds(error) == ["replaced-module"] and error.findings[0].names == ("classifier.weight", "classifier.bias")


def test_b3_names_of_another_family() -> None:
    import frostline

    m = model()
    with pytest.raises(frostline.PolicyError, match="'bert.encoder.layer.' matches no parameter; there are: distilbert"):
        FreezeAudit(m, adamw(m), frozen=["bert.encoder.layer."])


def test_policy_forgotten() -> None:
    m = model()
    o = adamw(m)
    audit = FreezeAudit(m, o, policy=POLICY)
    assert [warning.kind for warning in audit.warnings] == ["not-frozen"]
    assert kinds(caught(lambda: train(m, o, audit))) == ["not-frozen"]


class Normed(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8))
        self.head = torch.nn.Linear(8, 2)

    def forward(self, x: Any) -> Any:
        return self.head(self.body(x))


@pytest.mark.parametrize("is_eval", [False, True])
def test_c_statistics_of_batch_norm(is_eval: bool) -> None:
    torch.manual_seed(0)
    m = Normed()
    freeze(m, patterns=["body"], eval_mode=is_eval)
    o = torch.optim.AdamW(m.head.parameters())
    audit = FreezeAudit(m, o, frozen=["body"])
    m.train()

    def step() -> None:
        m(torch.randn(16, 8)).sum().backward()
        o.step()
        audit.step()

    if is_eval:
        step()
        assert audit.finish().ok
    else:
        error = caught(step)
        assert kinds(error) == ["buffer-moved"]
        assert error.findings[0].names == ("body.1.running_mean", "body.1.running_var", "body.1.num_batches_tracked")


def test_d_tied_embeddings() -> None:
    m = model("DistilBertForMaskedLM")
    with pytest.warns(UserWarning, match="are one tensor"):
        freeze(m, "none+embeddings")
    error = caught(lambda: FreezeAudit(m, adamw(m), policy="none+embeddings") and None)
    assert kinds(error) == ["tied"]
    assert set(error.findings[0].names) == {"vocab_projector.weight", "distilbert.embeddings.word_embeddings.weight"}
    # "Thaw the head" moves the embeddings.
    m = model("DistilBertForMaskedLM")
    for parameter in m.distilbert.parameters():
        parameter.requires_grad_(False)
    m.vocab_projector.weight.requires_grad_(True)
    error = caught(lambda: FreezeAudit(m, adamw(m), policy="head-only") and None)
    assert kinds(error) == ["tied"] and "are one tensor, which learns" in str(error)
    # Both treated alike: harmless, and reported.
    m = model("DistilBertForMaskedLM")
    set_frozen(m)
    o = adamw(m)
    audit = FreezeAudit(m, o, policy=POLICY)
    assert len(audit.report().tied) == 1 and audit.report().ok


def test_f_dropout_in_a_frozen_part() -> None:
    ids, _ = batch(0)
    for is_eval in (False, True):
        m = model()
        freeze(m, POLICY + "+embeddings", eval_mode=is_eval)
        m.train()
        o = adamw(m)
        audit = FreezeAudit(m, o, policy=POLICY + "+embeddings")
        train(m, o, audit)
        report = audit.finish()
        assert ("training-mode" in [warning.kind for warning in report.warnings]) is not is_eval
        outputs = [m.distilbert(input_ids=ids, output_hidden_states=True).hidden_states[4] for _ in range(2)]
        assert torch.equal(*outputs) is is_eval, "after model.train() again"


def test_g_adapters_pass_until_they_are_merged() -> None:
    peft = pytest.importorskip("peft", reason="NO PEFT: merged adapters are not audited")
    settings = peft.LoraConfig(r=4, target_modules=["q_lin"], modules_to_save=["classifier"])
    m = peft.get_peft_model(model(layers=2), settings)
    o = adamw(m)
    audit = FreezeAudit(m, o)
    train(m, o, audit)
    report = audit.finish()
    assert report.ok and not report.still
    merged = m.merge_and_unload()
    error = caught(lambda: audit.finish(merged) and None)
    assert "merged-adapter" in kinds(error)
    assert "distilbert.transformer.layer.0.attention.q_lin.weight" in str(error)
    assert "the difference has rank 4" in str(error)


def test_types_and_missing_tensors_have_names_of_their_own() -> None:
    m = model()
    set_frozen(m)
    audit = FreezeAudit(m, adamw(m), policy=POLICY, strict=False)
    m.half()
    assert {fault.kind for fault in audit.report().faults} == {"dtype-changed"}
    m = model()
    set_frozen(m)
    audit = FreezeAudit(m, adamw(m), policy=POLICY, strict=False)
    m.distilbert.transformer.layer = m.distilbert.transformer.layer[:3]
    assert "missing" in {fault.kind for fault in audit.report().faults}


def test_weights_that_are_loaded_are_no_training() -> None:
    m = model()
    set_frozen(m)
    o = adamw(m)
    audit = FreezeAudit(m, o, policy=POLICY)
    with torch.no_grad():
        m.distilbert.transformer.layer[0].ffn.lin1.weight.add_(torch.randn(64, 32))
    error = caught(lambda: train(m, o, audit))
    assert kinds(error) == ["frozen-moved"]


def test_a_schedule_thaws_from_the_top() -> None:
    m = model()
    o = adamw(m)
    unfreezing = schedule(m, "first-2", every=2, optimizer=o)
    learning = []
    for seed in range(8):
        ids, labels = batch(seed)
        unfreezing.step()
        learning.append(sum(any(p.requires_grad for p in layer.parameters()) for layer in m.distilbert.transformer.layer))
        o.zero_grad()
        m(input_ids=ids, labels=labels).loss.backward()
        o.step()
    assert learning == [0, 0, 1, 1, 2, 2, 3, 3]
    import frostline

    with pytest.raises(frostline.SettingError, match="does not hold"):
        schedule(model(), "none", every=1, optimizer=o)
