//! Same plan, same bits; frozen parameters in the saved files.

use frostline::audit;
use frostline_record::Sweep;

use crate::{Place, result};

const SMALL: &str = "--lang en --set train.epochs=2 --set data.first=150 --set adaptive.every=4";

#[test]
fn results_are_the_same_bits_with_one_thread_and_with_two() {
    let policies = "none,first-4,none+lora,first-4+adapters+mix,none+adaptive";
    let run = |more: &str| {
        let place = Place::new();
        let records = place.swept(&format!("{SMALL} --policies {policies} {more}"));
        records.iter().map(result).collect::<Vec<_>>()
    };
    let first = run("--seeds 42 --threads 1");
    assert_eq!(first.len(), 5);
    assert_eq!(first, run("--seeds 42 --threads 1"), "the same command");
    assert_eq!(first, run("--seeds 42 --threads 2"), "two threads");
    assert_eq!(first, run("--seeds 42 --threads 1 --jobs 2"), "two workers");
    let other = run("--seeds 43 --threads 1");
    assert!(first.iter().zip(&other).all(|(a, b)| a != b), "another seed is another run");
}

#[test]
fn saved_models_keep_every_frozen_bit_under_every_policy() {
    let policies = "none,all,first-2,last-2,alternating,blocks-0.3.5,head-only,first-4+embeddings,\
                    first-4+lora,first-4+bitfit,none+norms,none+lora+norms,none+adaptive";
    let place = Place::new();
    let records = place.swept(&format!("{SMALL} --seeds 42 --policies {policies} --set save.model=true"));
    assert_eq!(records.len(), 13);
    for record in &records {
        let folder = Sweep::cell_folder(&place.out(), &record.cell);
        let (_, found) = audit::cell(&folder).expect("an audit");
        assert!(found.holds(), "{}: {found:?}", record.cell.title());
        let freezing = &record.result.as_ref().expect("a result").last().freezing;
        let settled = &record.result.as_ref().expect("a result").last().settled;
        assert_eq!(settled.is_empty(), !record.cell.settings.policy.contains("adaptive"), "{settled:?}");
        // LoRA is merged into what it stands beside.
        if !record.cell.settings.policy.contains("lora") {
            assert_eq!((freezing.frozen, freezing.moved), (found.frozen as u64, found.moved as u64));
        }
        // A defect must be seen: the record of another policy does not fit this file.
        let mut other = record.clone();
        // What froze on the way has moved before, so that adaptive runs look like `none`.
        let moves_all = ["none", "none+adaptive"].contains(&record.cell.settings.policy.as_str());
        other.cell.settings.policy = if moves_all { "all" } else { "none" }.into();
        let text = serde_json::to_string(&other).expect("plain data");
        std::fs::write(folder.join("record.json"), text).expect("the record");
        let (_, found) = audit::cell(&folder).expect("an audit");
        assert!(!found.holds(), "{}: the audit must see the wrong policy", record.cell.title());
    }
}
