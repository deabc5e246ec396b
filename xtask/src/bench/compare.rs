//! The comparisons as data: settings of both sides, comparisons, and the bars (targets) to reach.
//!
//! A new comparison is a new row here.
//!
//! # To add a comparison with another program
//!
//! A row in `COMPARISONS`, and for a performance target a row in `BARS`, in `xtask/src/bench/compare.rs`, which
//! also has the settings of both sides. Peers are scripts in `tests/peers/` that end with one JSON line. `cargo
//! xtask bench --write` stores measurements in `docs/benchmarks.json` and renders `docs/benchmarks.md` from it;
//! rows that were not measured again are kept.

use crate::bench::measure::{Measure, Suite};

/// The settings of one side.
#[derive(Debug)]
pub(crate) struct Setting {
    /// Its name in tables.
    pub id: &'static str,
    /// Its description on the page.
    pub means: &'static str,
    /// Options of `frostline bench step`, or of `hf_trainer.py`.
    pub flags: &'static [&'static str],
    /// The same as settings of a plan; only for our side.
    pub plan: &'static [&'static str],
    /// The precision of matrix products.
    pub precision: &'static str,
}

/// What one measurement covers.
#[derive(Debug)]
pub(crate) struct Scale {
    /// Language and treebank.
    pub treebanks: &'static [(&'static str, &'static str)],
    /// One run for each.
    pub seeds: &'static [u64],
    /// Train sentences from the start of the treebank; 0 means all.
    pub first: usize,
    /// Passes over them; 0 if steps are counted instead.
    pub epochs: u32,
    /// Sentences per step; 0 means as many as the command says.
    pub batch: u32,
}

/// One comparison: it makes a row for each encoder and each entry of `policies`.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// Unique.
    pub id: &'static str,
    /// The section it belongs to.
    pub suite: Suite,
    /// Our setting.
    pub ours: &'static Setting,
    /// The peer's setting.
    pub peer: &'static Setting,
    /// The policies of each row; a sweep has many in one row, reading has none.
    pub policies: &'static [&'static [&'static str]],
    /// What one measurement covers.
    pub scale: &'static Scale,
    /// The encoders that it needs; empty means all that are measured.
    pub encoders: &'static [&'static str],
}

/// What is held to a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// The ratio, which should be no lower.
    Ratio,
    /// Our own figure, which should be no higher.
    Ours,
}

/// What a row should reach.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bar {
    /// [`Comparison::id`].
    pub comparison: &'static str,
    /// The figure that it is about.
    pub measure: Measure,
    /// Only this row; `None` means every row with the comparison's id.
    pub policy: Option<&'static str>,
    /// Only this encoder.
    pub encoder: Option<&'static str>,
    /// Only where both sides used these instructions.
    pub isa: Option<&'static str>,
    /// What `must` and `aim` are about.
    pub held: Held,
    /// What is acceptable.
    pub must: f64,
    /// What to aim at; equal to `must` if there is no higher aim.
    pub aim: f64,
}

impl Bar {
    /// Both figures, as tables show them.
    pub(crate) fn shown(&self) -> String {
        let unit = match self.held {
            Held::Ratio => "x".into(),
            Held::Ours => format!(" {}", self.measure.unit()),
        };
        format!("{}{unit}, {}{unit}", self.must, self.aim)
    }

    /// What the medians of our figure and of the ratio reach; nothing where the one that counts is missing.
    pub(crate) fn verdict(&self, ours: Option<f64>, ratio: Option<f64>) -> &'static str {
        let reaches = |bar: f64| match self.held {
            Held::Ratio => ratio.map(|ratio| ratio >= bar),
            Held::Ours => ours.map(|ours| ours <= bar),
        };
        match [self.must, self.aim].map(reaches) {
            [_, Some(true)] => "aim reached",
            [Some(true), _] => "reached",
            [Some(false), _] => "SHORT",
            [None, _] => "",
        }
    }
}

/// The encoders that are measured by default.
pub(crate) const ENCODERS: [&str; 2] = [MINILM, MDISTILBERT];
const MINILM: &str = "all-MiniLM-L6-v2";
const MDISTILBERT: &str = "distilbert-base-multilingual-cased";

const EWT: (&str, &str) = ("en", "UD_English-EWT");
const NSC: (&str, &str) = ("pcm", "UD_Naija-NSC");

const F32: Setting = Setting {
    id: "f32",
    means: "32-bit floats, random batches of 16 sentences, packed without padding",
    flags: &[],
    plan: &[],
    precision: "f32",
};
const BF16: Setting = Setting {
    id: "bf16",
    means: "as `f32`, with matrix products of bf16 numbers",
    flags: &["--precision", "bf16"],
    plan: &["train.precision=\"bf16\""],
    precision: "bf16",
};
const CACHED: Setting = Setting {
    id: "f32, prefix cache",
    means: "as `f32`, with the output of the frozen embeddings and lowest blocks computed once and kept; \
            needs dropout off in what is frozen",
    flags: &["--prefix-cache"],
    plan: &["dropout.frozen=\"off\""],
    precision: "f32",
};
const CACHED_BF16: Setting = Setting {
    id: "bf16, prefix cache",
    means: "as `f32, prefix cache`, with matrix products of bf16 numbers",
    flags: &["--prefix-cache", "--precision", "bf16"],
    plan: &["dropout.frozen=\"off\"", "train.precision=\"bf16\""],
    precision: "bf16",
};
const STUDY: Setting = Setting {
    id: "study",
    means: "the study's setting: 32-bit floats, random batches of 16 sentences, padded to the longest",
    flags: &[],
    plan: &[],
    precision: "f32",
};
const BF16_GROUPED: Setting = Setting {
    id: "bf16, grouped",
    means: "Trainer's mixed precision `bf16`, and `group_by_length`: batches of similar length, little padding",
    flags: &["--bf16", "--group-by-length"],
    plan: &[],
    precision: "bf16",
};
const PYTHON: Setting = Setting {
    id: "Python",
    means: "the package `conllu`, and a fast tokenizer called once per sentence",
    flags: &[],
    plan: &[],
    precision: "f32",
};
const TAGGER: Setting = Setting {
    id: "tagger",
    means: "`frostline_tagger::Tagger` over many sentences, packed without padding",
    ..F32_LIKE
};
const TAGGER_BF16: Setting = Setting {
    id: "tagger, bf16",
    means: "as `tagger`, with matrix products of bf16 numbers",
    flags: &["--precision", "bf16"],
    precision: "bf16",
    ..TAGGER
};
const PIPELINE: Setting = Setting {
    id: "pipeline",
    means: "Hugging Face's token-classification pipeline over words joined by spaces",
    ..F32_LIKE
};
const FORWARD: Setting = Setting {
    id: "sorted batches",
    means: "transformers without the pipeline: batches sorted by length, and the best label of each word's first \
            subword",
    flags: &["--plain"],
    ..F32_LIKE
};
const OURS: Setting =
    Setting { id: "frostline", means: "`frostline-conllu` and `frostline-align`", ..F32_LIKE };
const GPU_16_F32: Setting = Setting {
    id: "f32, steps of 16",
    means: "32-bit floats without TF32, random batches of 16 sentences, packed without padding",
    ..F32_LIKE
};
const GPU_64_F32: Setting = Setting {
    id: "f32, steps of 64",
    means: "as `f32, steps of 16`, with 64 sentences per step",
    ..F32_LIKE
};
const GPU_16_BF16: Setting = Setting {
    id: "bf16, steps of 16",
    means: "as `f32, steps of 16`, with matrix products of bf16 numbers",
    flags: &["--precision", "bf16"],
    precision: "bf16",
    ..F32_LIKE
};
const GPU_64_BF16: Setting = Setting {
    id: "bf16, steps of 64",
    means: "as `bf16, steps of 16`, with 64 sentences per step",
    ..GPU_16_BF16
};
const TORCH_16_F32: Setting = Setting {
    id: "Trainer, f32, steps of 16",
    means: "the study's setting on the same GPU: 32-bit floats without TF32, random batches of 16 sentences, padded to \
            the longest",
    ..F32_LIKE
};
const TORCH_64_F32: Setting = Setting {
    id: "Trainer, f32, steps of 64",
    means: "as `Trainer, f32, steps of 16`, with 64 sentences per step",
    ..F32_LIKE
};
const TORCH_16_BF16: Setting = Setting {
    id: "Trainer, bf16, steps of 16",
    means: "as `Trainer, f32, steps of 16`, with Trainer's mixed precision `bf16`",
    flags: &["--bf16"],
    precision: "bf16",
    ..F32_LIKE
};
const TORCH_64_BF16: Setting = Setting {
    id: "Trainer, bf16, steps of 64",
    means: "as `Trainer, bf16, steps of 16`, with 64 sentences per step",
    ..TORCH_16_BF16
};
const F32_LIKE: Setting = Setting { id: "", means: "", flags: &[], plan: &[], precision: "f32" };

/// All settings, for the page.
pub(crate) const SETTINGS: [&Setting; 19] = [
    &F32,
    &BF16,
    &CACHED,
    &CACHED_BF16,
    &OURS,
    &TAGGER,
    &GPU_16_F32,
    &GPU_64_F32,
    &GPU_16_BF16,
    &GPU_64_BF16,
    &STUDY,
    &BF16_GROUPED,
    &PYTHON,
    &PIPELINE,
    &FORWARD,
    &TORCH_16_F32,
    &TORCH_64_F32,
    &TORCH_16_BF16,
    &TORCH_64_BF16,
];

const STEPS: Scale = Scale { treebanks: &[EWT], seeds: &[42], first: 0, epochs: 0, batch: 0 };
const STEPS_OF_16: Scale = Scale { batch: 16, ..STEPS };
const STEPS_OF_64: Scale = Scale { batch: 64, ..STEPS };
/// The settings of the run that trains a tagger.
pub(crate) const TAGGING: Scale = Scale { treebanks: &[EWT], seeds: &[42], first: 200, epochs: 1, batch: 0 };
const START: Scale = Scale { epochs: 1, ..RUN };
const RUN: Scale = Scale { treebanks: &[EWT], seeds: &[42], first: 2500, epochs: 5, batch: 0 };
const SWEEP: Scale = Scale { treebanks: &[EWT, NSC], seeds: &[42], first: 2500, epochs: 5, batch: 0 };
const SHORT_SWEEP: Scale = Scale { epochs: 1, ..SWEEP };
const ONE_LANGUAGE: Scale = Scale { treebanks: &[EWT], ..SWEEP };
const SWEEP_OF_3: Scale = Scale { seeds: &[42, 43, 44], ..SWEEP };

/// The study's policies.
const STUDY_POLICIES: &[&str] = &["none", "all", "first-2", "first-4", "alternating"];

/// The same with frozen embeddings.
const FROZEN_EMBEDDINGS: &[&str] = &[
    "none+embeddings",
    "all+embeddings",
    "first-2+embeddings",
    "first-4+embeddings",
    "alternating+embeddings",
];

/// What freezing saves on a GPU: nothing, most, and all of the encoder.
pub(crate) const DEVICE_POLICIES: &[&[&str]] = &[&["none"], &["first-4"], &["head-only"]];

const fn on_device(
    id: &'static str,
    [ours, peer]: [&'static Setting; 2],
    scale: &'static Scale,
) -> Comparison {
    Comparison { id, suite: Suite::Device, ours, peer, policies: DEVICE_POLICIES, scale, encoders: &[] }
}

/// All comparisons. Within a suite, rows of one encoder and policy run next to each other.
pub(crate) const COMPARISONS: &[Comparison] = &[
    Comparison {
        id: "f32-study",
        suite: Suite::Steps,
        ours: &F32,
        peer: &STUDY,
        policies: &[&["none"], &["all"], &["first-2"], &["first-4"], &["alternating"]],
        scale: &STEPS,
        encoders: &[],
    },
    Comparison {
        id: "f32-bf16-grouped",
        suite: Suite::Steps,
        ours: &F32,
        peer: &BF16_GROUPED,
        policies: &[&["none"]],
        scale: &STEPS,
        encoders: &[],
    },
    Comparison {
        id: "bf16-bf16-grouped",
        suite: Suite::Steps,
        ours: &BF16,
        peer: &BF16_GROUPED,
        policies: &[&["none"]],
        scale: &STEPS,
        encoders: &[],
    },
    Comparison {
        id: "cached-study",
        suite: Suite::Steps,
        ours: &CACHED,
        peer: &STUDY,
        policies: &[&["first-4+embeddings"], &["head-only"]],
        scale: &STEPS,
        encoders: &[],
    },
    on_device("device-16-f32", [&GPU_16_F32, &TORCH_16_F32], &STEPS_OF_16),
    on_device("device-16-bf16", [&GPU_16_BF16, &TORCH_16_BF16], &STEPS_OF_16),
    on_device("device-64-f32", [&GPU_64_F32, &TORCH_64_F32], &STEPS_OF_64),
    on_device("device-64-bf16", [&GPU_64_BF16, &TORCH_64_BF16], &STEPS_OF_64),
    Comparison {
        id: "reading",
        suite: Suite::Reading,
        ours: &OURS,
        peer: &PYTHON,
        policies: &[&[]],
        scale: &STEPS,
        encoders: &[],
    },
    Comparison {
        id: "tagging-pipeline",
        suite: Suite::Tagging,
        ours: &TAGGER,
        peer: &PIPELINE,
        policies: &[&["none"]],
        scale: &TAGGING,
        encoders: &[],
    },
    Comparison {
        id: "tagging-bf16-pipeline",
        suite: Suite::Tagging,
        ours: &TAGGER_BF16,
        peer: &PIPELINE,
        policies: &[&["none"]],
        scale: &TAGGING,
        encoders: &[],
    },
    Comparison {
        id: "tagging-sorted",
        suite: Suite::Tagging,
        ours: &TAGGER,
        peer: &FORWARD,
        policies: &[&["none"]],
        scale: &TAGGING,
        encoders: &[],
    },
    Comparison {
        id: "start-f32-study",
        suite: Suite::Starts,
        ours: &F32,
        peer: &STUDY,
        policies: &[&["none"]],
        scale: &START,
        encoders: &[],
    },
    Comparison {
        id: "run-f32-study",
        suite: Suite::Runs,
        ours: &F32,
        peer: &STUDY,
        policies: &[&["none"], &["first-4"]],
        scale: &RUN,
        encoders: &[],
    },
    Comparison {
        id: "run-cached-study",
        suite: Suite::Runs,
        ours: &CACHED,
        peer: &STUDY,
        policies: &[&["first-4+embeddings"], &["head-only"]],
        scale: &RUN,
        encoders: &[],
    },
    Comparison {
        id: "short-sweep-f32-study",
        suite: Suite::ShortSweeps,
        ours: &F32,
        peer: &STUDY,
        policies: &[STUDY_POLICIES],
        scale: &SHORT_SWEEP,
        encoders: &[MINILM],
    },
    Comparison {
        id: "short-sweep-bf16-study",
        suite: Suite::ShortSweeps,
        ours: &BF16,
        peer: &STUDY,
        policies: &[STUDY_POLICIES],
        scale: &SHORT_SWEEP,
        encoders: &[MINILM],
    },
    Comparison {
        id: "short-sweep-cached-study",
        suite: Suite::ShortSweeps,
        ours: &CACHED,
        peer: &STUDY,
        policies: &[FROZEN_EMBEDDINGS],
        scale: &ONE_LANGUAGE,
        encoders: &[MINILM],
    },
    Comparison {
        id: "short-sweep-cached-bf16-study",
        suite: Suite::ShortSweeps,
        ours: &CACHED_BF16,
        peer: &STUDY,
        policies: &[FROZEN_EMBEDDINGS],
        scale: &ONE_LANGUAGE,
        encoders: &[MINILM],
    },
    Comparison {
        id: "sweep-f32-study",
        suite: Suite::Sweeps,
        ours: &F32,
        peer: &STUDY,
        policies: &[STUDY_POLICIES],
        scale: &SWEEP,
        encoders: &[MINILM],
    },
    Comparison {
        id: "sweep-bf16-study",
        suite: Suite::Sweeps,
        ours: &BF16,
        peer: &STUDY,
        policies: &[STUDY_POLICIES],
        scale: &SWEEP,
        encoders: &[MINILM],
    },
    Comparison {
        id: "sweep-cached-study",
        suite: Suite::Sweeps,
        ours: &CACHED,
        peer: &STUDY,
        policies: &[FROZEN_EMBEDDINGS],
        scale: &SWEEP_OF_3,
        encoders: &[MINILM],
    },
    Comparison {
        id: "sweep-cached-bf16-study",
        suite: Suite::Sweeps,
        ours: &CACHED_BF16,
        peer: &STUDY,
        policies: &[FROZEN_EMBEDDINGS],
        scale: &SWEEP_OF_3,
        encoders: &[MINILM],
    },
];

const fn bar(comparison: &'static str, measure: Measure, must: f64, aim: f64) -> Bar {
    Bar { comparison, measure, policy: None, encoder: None, isa: None, held: Held::Ratio, must, aim }
}

/// A bar for our own figure with this encoder.
const fn own(comparison: &'static str, measure: Measure, encoder: &'static str, most: f64) -> Bar {
    Bar { encoder: Some(encoder), held: Held::Ours, ..bar(comparison, measure, most, most) }
}

const fn of_policy(policy: &'static str, bar: Bar) -> Bar {
    Bar { policy: Some(policy), ..bar }
}

/// All bars; the first one that matches a row applies. Those of the suite `device` are for GPUs, the others for two cores.
pub(crate) const BARS: &[Bar] = &[
    Bar { isa: Some("avx2"), ..of_policy("none", bar("f32-study", Measure::Step, 3.5, 4.3)) },
    of_policy("none", bar("f32-study", Measure::Step, 4.0, 8.0)),
    of_policy("all", bar("f32-study", Measure::Step, 4.0, 8.0)),
    of_policy("first-4", bar("f32-study", Measure::Step, 4.0, 8.0)),
    of_policy("alternating", bar("f32-study", Measure::Step, 4.0, 8.0)),
    Bar { encoder: Some(MDISTILBERT), ..of_policy("none", bar("f32-study", Measure::Memory, 2.0, 3.0)) },
    bar("f32-bf16-grouped", Measure::Step, 1.3, 1.8),
    bar("bf16-bf16-grouped", Measure::Step, 2.3, 3.0),
    bar("device-16-f32", Measure::Step, 1.0, 1.0),
    bar("device-16-bf16", Measure::Step, 1.0, 1.0),
    bar("device-64-f32", Measure::Step, 1.25, 1.25),
    bar("device-64-bf16", Measure::Step, 1.25, 1.25),
    bar("tagging-pipeline", Measure::Tag, 4.0, 5.0),
    bar("tagging-bf16-pipeline", Measure::Tag, 4.0, 5.0),
    bar("tagging-sorted", Measure::Tag, 2.0, 2.5),
    own("start-f32-study", Measure::Start, MINILM, 0.5),
    own("start-f32-study", Measure::Start, MDISTILBERT, 1.0),
    of_policy("first-4+embeddings", bar("run-cached-study", Measure::Wall, 8.0, 16.0)),
    of_policy("head-only", bar("run-cached-study", Measure::Wall, 12.0, 40.0)),
    bar("sweep-f32-study", Measure::Wall, 5.0, 10.0),
    bar("sweep-bf16-study", Measure::Wall, 7.0, 10.0),
    bar("sweep-cached-study", Measure::Wall, 10.0, 25.0),
    bar("sweep-cached-bf16-study", Measure::Wall, 10.0, 25.0),
    bar("reading", Measure::Align, 3.0, 8.0),
];

/// The bar of a row, if it has one.
pub(crate) fn bar_of(
    comparison: &str,
    measure: Measure,
    policy: &str,
    encoder: &str,
    isa: &str,
) -> Option<Bar> {
    let fits = |bar: &&Bar| {
        bar.comparison == comparison
            && bar.measure == measure
            && bar.policy.is_none_or(|only| only == policy)
            && bar.encoder.is_none_or(|only| only == encoder)
            && bar.isa.is_none_or(|only| only == isa)
    };
    BARS.iter().find(fits).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bar_has_a_row_to_hold_on() {
        for bar in BARS {
            let of_it = |comparison: &&Comparison| comparison.id == bar.comparison;
            let comparison = COMPARISONS.iter().find(of_it).expect(bar.comparison);
            assert!(comparison.suite.measures().contains(&bar.measure), "{bar:?}");
            let mut rows = comparison.policies.iter();
            assert!(bar.policy.is_none_or(|policy| rows.any(|row| row == &[policy])), "{bar:?}");
            let [lower, higher] =
                if bar.held == Held::Ratio { [bar.must, bar.aim] } else { [bar.aim, bar.must] };
            assert!(lower <= higher, "{bar:?}");
        }
        for (at, comparison) in COMPARISONS.iter().enumerate() {
            assert!(!COMPARISONS[..at].iter().any(|before| before.id == comparison.id), "{}", comparison.id);
        }
    }

    #[test]
    fn a_bar_holds_where_it_says() {
        let on = |isa, policy, encoder, measure| {
            bar_of("f32-study", measure, policy, encoder, isa).map(|b| b.must)
        };
        let must = |policy, encoder, measure| on("avx512+bf16", policy, encoder, measure);
        assert_eq!(on("avx2", "none", MINILM, Measure::Step), Some(3.5));
        assert_eq!(must("none", MINILM, Measure::Step), Some(4.0));
        assert_eq!(must("first-2", MINILM, Measure::Step), None);
        assert_eq!(must("none", MDISTILBERT, Measure::Memory), Some(2.0));
        assert_eq!(must("none", MINILM, Measure::Memory), None);
    }

    #[test]
    fn a_bar_holds_a_ratio_or_our_own_figure() {
        let ratio = bar("f32-study", Measure::Step, 4.0, 8.0);
        assert_eq!(ratio.shown(), "4x, 8x");
        let verdicts = [Some(8.0), Some(4.0), Some(3.9), None].map(|found| ratio.verdict(Some(1.0), found));
        assert_eq!(verdicts, ["aim reached", "reached", "SHORT", ""]);
        let own = Bar { aim: 0.25, ..own("start-f32-study", Measure::Start, MINILM, 0.5) };
        assert_eq!(own.shown(), "0.5 s, 0.25 s");
        let verdicts = [Some(0.25), Some(0.5), Some(0.51), None].map(|found| own.verdict(found, Some(9.0)));
        assert_eq!(verdicts, ["aim reached", "reached", "SHORT", ""]);
    }
}
