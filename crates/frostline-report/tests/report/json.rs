//! `report.json`: a small one whole, and a large one against its records.

use std::collections::HashSet;
use std::fmt;

use frostline_record::{Record, Sweep};
use frostline_report::Report;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};

use crate::common::{paper, records, sweep};
use crate::text;

fn report(sweep: &Sweep, records: &[Record]) -> Value {
    let files = Report::new(sweep, records, &[], None).files().expect("a report");
    let text = text(&files, "report.json");
    serde_json::from_str::<EachOnce>(text).expect("every field once");
    serde_json::from_str(text).expect("JSON")
}

/// JSON in which no object has a field twice: a reader would take one of the two and not say which.
struct EachOnce;

impl<'de> Deserialize<'de> for EachOnce {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for EachOnce {
    type Value = Self;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        let mut seen = HashSet::new();
        while let Some((field, Self)) = map.next_entry::<String, Self>()? {
            assert!(seen.insert(field.clone()), "the field `{field}` stands twice");
        }
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }
}

#[test]
fn a_small_sweep_is_told_whole() {
    let langs = || {
        let mut langs = paper();
        langs.truncate(1);
        langs[0].reach.truncate(2);
        langs
    };
    let sweep = sweep("small", &langs(), 2, false, "[settings.train]\nlog_every = 784\nepochs = 1");
    let mut found = report(&sweep, &records(&sweep, &langs()));
    let whole = found.as_object_mut().expect("an object");
    // These are the record crate's own.
    assert_eq!(whole.remove("plan"), serde_json::to_value(&sweep.plan).ok());
    assert_eq!(whole.remove("reference"), serde_json::to_value(&sweep.reference).ok());
    let inputs = serde_json::to_value(&sweep.cells[0].inputs).expect("JSON");
    assert_eq!(whole.remove("inputs"), Some(json!({ "en": [inputs] })));
    let made_by = whole.remove("made_by").expect("who made the records");
    assert_eq!((&made_by[0]["records"], &made_by[0]["version"]), (&json!(4), &json!("0.1.0")));
    for group in whole["groups"].as_array_mut().expect("groups") {
        let trainable = group["parameters"]["trainable"].as_f64().expect("a count");
        let cost = group["cost"].as_object_mut().expect("a cost");
        let memory = cost.remove("predicted_memory").expect("what a step keeps");
        let mib = |part: &str| memory[part].as_f64().expect(part) * f64::from(1 << 20);
        assert_eq!([mib("gradients_mib"), mib("moments_mib")], [4.0 * trainable, 8.0 * trainable]);
        assert!(mib("activations_mib") > trainable);
    }
    insta::assert_snapshot!("small_json", serde_json::to_string_pretty(whole).expect("JSON"));
}

/// The mean of a figure over records, as the report should have it.
fn mean(records: &[&Record], get: impl Fn(&Record) -> f64) -> f64 {
    records.iter().map(|record| get(record)).sum::<f64>() / records.len() as f64
}

#[track_caller]
fn near(found: &Value, expected: f64) {
    let number = found.as_f64().unwrap_or(f64::NAN);
    assert!((number - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{found}, not {expected}");
}

#[test]
fn a_large_sweep_is_told_as_its_records_are() {
    let sweep = sweep("rates", &paper(), 3, false, "\"optimizer.lr\" = [2e-5, 5e-5]");
    let records = records(&sweep, &paper());
    let found = report(&sweep, &records);
    let keys: Vec<&String> = found.as_object().expect("an object").keys().collect();
    assert_eq!(
        keys,
        [
            "about",
            "axes",
            "cells",
            "groups",
            "inputs",
            "made_by",
            "name",
            "notice",
            "overrides",
            "plan",
            "reference",
            "sanity",
            "schema",
            "stray_records",
            "synthetic",
            "tables",
            "units",
        ]
    );
    assert_eq!(found["axes"], json!(["optimizer.lr"]));
    assert_eq!(found["cells"].as_array().map(Vec::len), Some(60));
    let groups = found["groups"].as_array().expect("groups");
    assert_eq!(groups.len(), 2 * 5 * 2);
    for group in groups {
        let is_member = |record: &&Record| {
            let settings = &record.cell.settings;
            let rate = format!("{:e}", settings.optimizer.lr);
            group["lang"] == *settings.lang
                && group["policy"] == settings.policy.as_str()
                && group["extras"][0] == *rate
        };
        let own: Vec<&Record> = records.iter().filter(is_member).collect();
        assert_eq!((own.len(), &group["seeds_done"]), (3, &json!(3)));
        let result = |record: &Record| record.result.clone().expect("done");
        let timing = |record: &Record| record.timing.clone().expect("done");
        near(&group["dev"]["accuracy"]["mean"], mean(&own, |r| result(r).scores()["dev"].accuracy()));
        near(&group["dev"]["loss_nats"]["mean"], mean(&own, |r| result(r).scores()["dev"].loss_nats));
        near(&group["times"]["train_s"]["mean"], mean(&own, |r| timing(r).train_ms * 1e-3));
        near(&group["times"]["step_ms_median"]["mean"], mean(&own, |r| timing(r).step_ms_median));
        near(&group["cost"]["gflop_per_step"]["mean"], mean(&own, |r| result(r).cost.gflop_per_step));
        assert_eq!(group["parameters"]["trainable"], result(own[0]).accounts().trainable);
        let epochs = group["epochs"].as_array().expect("epochs");
        assert_eq!(epochs.len(), 5);
        for (at, epoch) in epochs.iter().enumerate() {
            near(&epoch["dev_accuracy"]["mean"], mean(&own, |r| result(r).epochs[at].dev.accuracy()));
            near(&epoch["train_loss_nats"]["mean"], mean(&own, |r| result(r).epochs[at].train_loss_nats));
        }
        let points = group["train_loss"].as_array().expect("points");
        assert_eq!(points.len(), result(own[0]).train_loss.len());
        for (at, point) in points.iter().enumerate() {
            assert_eq!(point["step"], result(own[0]).train_loss[at].step);
            near(&point["loss_nats"]["mean"], mean(&own, |r| result(r).train_loss[at].loss_nats));
        }
    }
}
