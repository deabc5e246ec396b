//! Input written by people: plans, overrides on the command line, names of policies, published figures.

use frostline_record::{Plan, Policy, Reference};

/// Maximum number of a plan's cells that are checked.
const CELLS: usize = 1000;

/// A plan that every override is applied to.
const PLAN: &str =
    "schema = 4\nname = 'x'\n[treebanks]\nen = 'EN'\npcm = 'PCM'\n[grid]\npolicy = ['none', 'first-2']\n";

/// A plan that is read has a grid or an error, its cells have settings that can be stored, and it is the same plan when
/// it is written and read again.
pub(crate) fn fuzz_plan(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(plan) = Plan::parse(text, "plan.toml") {
        check_cells(&plan);
    }
}

/// One override to a line.
pub(crate) fn fuzz_assignment(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut plan = Plan::parse(PLAN, "plan.toml").expect("a plan");
    for line in text.lines() {
        let _ = plan.assign(line);
    }
    check_cells(&plan);
}

fn check_cells(plan: &Plan) {
    let Ok(grid) = plan.cells() else { return };
    assert!(!grid.is_empty(), "a plan without cells");
    for settings in grid.iter().take(CELLS) {
        settings.in_stages().expect("stages were checked");
        let text = serde_json::to_string(&settings).expect("settings are JSON");
        let again = serde_json::from_str(&text).expect("what was written is read");
        assert_eq!(settings, again, "settings changed when they were stored");
    }
    let text = serde_json::to_string(plan).expect("a plan is JSON");
    let again: Plan = serde_json::from_str(&text).expect("what was written is read");
    assert_eq!(*plan, again, "the plan changed when it was stored");
}

/// A parsed policy keeps its name, and fits an encoder or gives the reason why not.
pub(crate) fn fuzz_policy(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(policy) = Policy::parse(text) else { return };
    assert_eq!(policy.as_str(), text);
    for (depth, heads) in [(1, &["a"][..]), (6, &["a", "b"]), (4096, &["upos"])] {
        let Ok(resolved) = policy.resolve(depth, heads) else { continue };
        for path in ["encoder.embeddings.word", "encoder.blocks.0.query.weight", "heads.0.classifier.bias"] {
            let _ = resolved.freezes(path);
        }
        let _ = (resolved.constant_prefix(), resolved.freezes_all(), resolved.learns_by_lora_alone());
    }
}

/// Published figures that are read can be stored, and their settings laid over the defaults.
pub(crate) fn fuzz_reference(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(reference) = Reference::parse(text, "study.toml") else { return };
    reference.as_settings().expect("its settings were checked");
    let _ = reference.listed();
    serde_json::to_string(&reference).expect("a reference is JSON");
}
