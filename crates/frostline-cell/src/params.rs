//! `frostline params`: counts an encoder's parameters and the trainable ones under a policy, and predicts the
//! cost of a training step. All of it follows from shapes; milliseconds need a [`crate::calibration`].

use std::fmt::Write as _;

use frostline_freeze::{Group, LayerDecay, Timeline};
use frostline_model::{EncoderConfig, HeadKind, HeadShape, ParameterSource, hugging_face_name};
use frostline_record::{Accounts, Cost, PredictedMemory};
use serde::Serialize;

/// Predictions about a policy without training.
#[derive(Clone, Debug, Serialize)]
pub struct Outlook {
    /// The policy.
    pub policy: String,
    /// The trainable parameters.
    #[serde(flatten)]
    pub accounts: Accounts,
    /// Whether the prediction is for a run that reads the policy's constant prefix from a cache.
    pub cached_prefix: bool,
    /// The cost of a step.
    pub cost: Cost,
    /// Time of a step on this machine, in milliseconds, if it was calibrated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_ms: Option<f64>,
    /// Maximum number of sentences per step that fit into the given memory; 0 if not even one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_sentences: Option<u64>,
    /// Bytes of the parameters on the device, of the word table only the rows that the data need.
    pub parameter_bytes: u64,
    /// Every parameter, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Vec<Listed>>,
}

/// One parameter: whether it is trained, from when, and at which rate.
#[derive(Clone, Debug, Serialize)]
pub struct Listed {
    /// The path of the parameter.
    pub path: String,
    /// The name that lists show, by [`Naming`].
    pub name: String,
    /// The shape of the parameter.
    pub shape: Vec<usize>,
    /// The epoch or step, counted from 0, from which it is trained; `None` if it never is.
    pub learns_from: Option<u64>,
    /// The peak learning rate; 0 if the parameter is never trained.
    pub lr: f64,
}

/// How parameters are called.
#[derive(Clone, Copy, Debug)]
pub struct Naming<'a> {
    /// The names of the heads' tasks, in the model's order.
    pub heads: &'a [&'a str],
    /// Whether to use the names of Hugging Face's models, if they exist.
    pub hugging_face: bool,
}

impl Naming<'_> {
    /// Returns the name of a parameter: its path, or for a head its task's name and the layer. Hugging Face has
    /// no name for what is added to blocks, and the same names for the heads of several tasks, so these keep
    /// theirs.
    #[must_use]
    pub fn of(self, path: &str, encoder: &EncoderConfig) -> String {
        let head = path.strip_prefix("heads.").and_then(|rest| rest.split_once('.'));
        let task =
            head.and_then(|(number, rest)| Some((self.heads.get(number.parse::<usize>().ok()?)?, rest)));
        match task {
            _ if self.hugging_face
                && (task.is_none() || self.heads.len() == 1)
                && !is_added(encoder, path) =>
            {
                hugging_face_name(encoder, path).0
            }
            Some((task, rest)) => format!("{task}.{}", rest.strip_prefix("classifier.").unwrap_or(rest)),
            None => path.into(),
        }
    }
}

/// Returns whether a policy adds this parameter to the encoder, so that no file has a name for it.
fn is_added(encoder: &EncoderConfig, path: &str) -> bool {
    encoder.extras.parameters(encoder).iter().any(|(added, _)| added == path)
}

/// Returns the names of the parameters that are initialised at random because the encoder's files lack them: of
/// heads and of parameters that a policy adds, or of the whole model if it starts at random.
pub(crate) fn initialised_names(
    encoder: &EncoderConfig,
    heads: &[HeadShape],
    naming: Naming<'_>,
    source: &dyn ParameterSource,
) -> Vec<String> {
    let pooled = |path: &str| {
        let head = path.strip_prefix("heads.").and_then(|rest| rest.split_once(".dense."));
        let (number, kind) = head?;
        let is_pooler = heads.get(number.parse::<usize>().ok()?)?.kind == HeadKind::Pooler;
        is_pooler.then(|| format!("pooler.{kind}"))
    };
    let is_read =
        |path: &str| !is_added(encoder, path) && source.has(pooled(path).as_deref().unwrap_or(path));
    let all = encoder.parameters(heads).into_iter().map(|(path, _)| path);
    all.filter(|path| !is_read(path)).map(|path| naming.of(&path, encoder)).collect()
}

/// Returns every parameter of an encoder with heads, and when it is trained.
#[must_use]
pub fn list(
    encoder: &EncoderConfig,
    (heads, naming): (&[HeadShape], Naming<'_>),
    timeline: &Timeline,
    lr: f64,
    rates: LayerDecay,
) -> Vec<Listed> {
    let listed = |(path, shape): (String, Vec<usize>)| {
        let mut moments = std::iter::once((0, timeline.at(0))).chain(timeline.changes());
        let learns_from = moments.find(|(_, policy)| !policy.freezes(&path)).map(|(step, _)| step);
        let lr = if learns_from.is_some() { lr * rates.of(Group::of(&path)) } else { 0.0 };
        let name = naming.of(&path, encoder);
        Listed { path, name, shape, learns_from, lr }
    };
    encoder.parameters(heads).into_iter().map(listed).collect()
}

/// Returns two lists as lines, of trainable and of frozen parameters; empty if they were not requested.
#[must_use]
pub fn listing(outlook: &Outlook) -> String {
    let Some(parameters) = &outlook.parameters else { return String::new() };
    let wide = parameters.iter().map(|one| one.name.len()).max().unwrap_or(0);
    let (trainable, frozen): (Vec<&Listed>, Vec<&Listed>) =
        parameters.iter().partition(|one| one.learns_from.is_some());
    let mut out = String::new();
    for (what, list) in [("trainable", trainable), ("frozen", frozen)] {
        let numbers = list.iter().map(|one| one.shape.iter().product::<usize>() as u64).sum();
        let _ = writeln!(
            out,
            "\n{}, {what}: {} parameters in {}",
            outlook.policy,
            group_thousands(numbers),
            count_tensors(&list)
        );
        for Listed { name, shape, learns_from, lr, .. } in list {
            let shape = shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(" x ");
            let state = match learns_from {
                None => String::new(),
                Some(0) => format!("  at {lr:.3e}"),
                Some(from) => format!("  at {lr:.3e} from {from}"),
            };
            let _ = writeln!(out, "  {name:<wide$} {shape:>14}{state}");
        }
    }
    out
}

/// `1 tensor`, `4 tensors`.
fn count_tensors(list: &[&Listed]) -> String {
    format!("{} tensor{}", list.len(), if list.len() == 1 { "" } else { "s" })
}

/// One policy: its accounts group by group, and its cost.
#[must_use]
pub fn table(outlook: &Outlook) -> String {
    let (accounts, cost) = (&outlook.accounts, &outlook.cost);
    let mut out = format!("{:<12} {:>15} {:>15} {:>9}\n", "", "parameters", "trainable", "share");
    let mut row = |name: &str, total: u64, trainable: u64| {
        let share = trainable_percent(total, trainable);
        let _ = writeln!(
            out,
            "{name:<12} {:>15} {:>15} {share:>7.2} %",
            group_thousands(total),
            group_thousands(trainable)
        );
    };
    for group in &accounts.groups {
        row(&group.group, group.total, group.trainable);
    }
    row("total", accounts.total, accounts.trainable);
    let (gflop, saved) = (three_digits(cost.gflop_per_step), saved_percent(cost));
    let time =
        outlook.step_ms.map_or_else(String::new, |ms| format!(", {} ms on this machine", three_digits(ms)));
    let _ = writeln!(
        out,
        "\npredicted    {gflop} GFLOP per step, time saved {saved:.1} % of a step of none{time}"
    );
    if let Some(kept) = &cost.memory {
        let [all, parameters, gradients, moments, activations] =
            [outlook.memory(), outlook.parameter_bytes, kept.gradients, kept.moments, kept.activations]
                .map(bytes_in_mib);
        let _ = writeln!(
            out,
            "memory       {all} MiB: parameters {parameters}, gradients {gradients}, moments {moments}, activations of a \
             step {activations}"
        );
    }
    if let Some(most) = outlook.most_sentences {
        let _ = writeln!(
            out,
            "fits         {most} sentences per step; train.accumulate takes a larger one in parts"
        );
    }
    out + &describe_premises(outlook)
}

/// Several policies, one row each.
#[must_use]
pub fn comparison(outlooks: &[Outlook]) -> String {
    let wide = outlooks.iter().map(|o| o.policy.len()).chain([12]).max().unwrap_or(12);
    let heads = ["trainable", "share", "GFLOP/step", "time saved", "memory MiB"];
    let mut heads: Vec<(&str, usize)> = heads.into_iter().zip([15, 9, 12, 11, 11]).collect();
    let measured = outlooks.iter().any(|one| one.step_ms.is_some());
    let limited = outlooks.iter().any(|one| one.most_sentences.is_some());
    heads.extend(measured.then_some(("step ms", 9)));
    heads.extend(limited.then_some(("fit", 7)));
    let mut out = format!("{:<wide$}", "frozen");
    for (head, width) in heads {
        let _ = write!(out, " {head:>width$}");
    }
    out.push('\n');
    for outlook in outlooks {
        let Outlook { policy, accounts, cost, .. } = outlook;
        let (trainable, share) =
            (group_thousands(accounts.trainable), trainable_percent(accounts.total, accounts.trainable));
        let (gflop, saved) = (three_digits(cost.gflop_per_step), saved_percent(cost));
        let _ = write!(
            out,
            "{policy:<wide$} {trainable:>15} {share:>7.2} % {gflop:>12} {saved:>9.1} % {:>11}",
            bytes_in_mib(outlook.memory())
        );
        if measured {
            let _ = write!(out, " {:>9}", outlook.step_ms.map_or_else(|| "–".into(), three_digits));
        }
        if limited {
            let _ = write!(out, " {:>7}", outlook.most_sentences.unwrap_or_default());
        }
        out.push('\n');
    }
    out += "\ntime saved   predicted, in percent of a step of none\n\
            memory MiB   predicted, of the processor or the GPU: parameters, gradients, moments and activations\n";
    if measured {
        out += "step ms      predicted for this machine, from steps that were timed on it\n";
    }
    if limited {
        out += "fit          sentences per step that fit into --memory; train.accumulate takes a larger step in parts\n";
    }
    out + &outlooks.first().map_or_else(String::new, describe_premises)
}

/// Returns the percentage of the time of a step of `none` that a step is predicted to save.
fn saved_percent(cost: &Cost) -> f64 {
    100.0 * (1.0 - 1.0 / cost.predicted_speedup)
}

/// Returns a description of the prediction's conditions.
fn describe_premises(Outlook { cost, cached_prefix, .. }: &Outlook) -> String {
    let cached = if *cached_prefix { "; the constant prefix read from a cache" } else { "" };
    let (subwords, words) = (cost.subwords_per_step, cost.speaking_per_step);
    format!(
        "workload     {subwords:.0} subwords and {words:.0} words per step; a subword attends to {:.1} on average; \
         {} rows of the word table{cached}\n",
        cost.context_subwords,
        group_thousands(cost.word_rows)
    )
}

impl Outlook {
    /// Bytes of a step in all.
    fn memory(&self) -> u64 {
        self.parameter_bytes + self.cost.memory.as_ref().map_or(0, PredictedMemory::total)
    }
}

/// Returns the most sentences of a step that fit into so many bytes. `needs` gives the bytes of a step of so
/// many sentences, and must not fall as these grow.
#[must_use]
pub fn fitting(bytes: u64, needs: impl Fn(u64) -> u64) -> u64 {
    let fits = |sentences: u64| needs(sentences) <= bytes;
    if !fits(1) {
        return 0;
    }
    let too_many = (1..40).map(|power| 1 << power).find(|&sentences| !fits(sentences)).unwrap_or(1 << 40);
    let (mut most, mut too_many) = (too_many / 2, too_many);
    while too_many - most > 1 {
        let middle = most.midpoint(too_many);
        *if fits(middle) { &mut most } else { &mut too_many } = middle;
    }
    most
}

/// Bytes in MiB.
fn bytes_in_mib(bytes: u64) -> u64 {
    (bytes as f64 / f64::from(1u32 << 20)).round() as u64
}

/// Returns the trainable share in percent.
fn trainable_percent(total: u64, trainable: u64) -> f64 {
    100.0 * trainable as f64 / total.max(1) as f64
}

/// Three digits to see, also of very little work.
fn three_digits(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v => format!("{v:.4}"),
    }
}

/// `1234567` as `1,234,567`.
fn group_thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use frostline_model::{Extras, LoraShape, Matrix, ModelError};

    use super::*;

    /// An encoder's files: everything of it, with a pooler or without.
    struct Files {
        pooler: bool,
    }

    impl ParameterSource for Files {
        fn has(&self, path: &str) -> bool {
            assert!(!path.contains(".lora."), "{path} has no name in files");
            path.starts_with("encoder.") || (self.pooler && path.starts_with("pooler."))
        }

        fn values(&self, path: &str, _: &[usize]) -> Result<Vec<f32>, ModelError> {
            unreachable!("{path} is only asked for by name")
        }
    }

    #[test]
    fn what_the_files_lack_is_named() {
        let config = r#"{"model_type": "bert", "vocab_size": 30, "hidden_size": 8, "num_hidden_layers": 1,
            "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 64, "type_vocab_size": 2}"#;
        let encoder = EncoderConfig::parse(config, "test").expect("a config");
        let pooler = HeadShape { kind: HeadKind::Pooler, ..HeadShape::linear(2) };
        let heads = [pooler, HeadShape::linear(4)];
        let named = |heads: &[HeadShape], names: &[&str], hugging_face, pooler| {
            initialised_names(&encoder, heads, Naming { heads: names, hugging_face }, &Files { pooler })
        };
        let own = ["mood.weight", "mood.bias", "ner.weight", "ner.bias"];
        assert_eq!(named(&heads, &["mood", "ner"], false, true), own);
        let with_dense = named(&heads, &["mood", "ner"], false, false);
        assert_eq!(with_dense[..2], ["mood.dense.weight", "mood.dense.bias"]);
        assert_eq!(with_dense[2..], own);
        // Hugging Face has one classifier; the names of several are ours.
        assert_eq!(named(&heads, &["mood", "ner"], true, true), own);
        let one = named(&heads[1..], &["ner"], true, true);
        assert_eq!(one, ["classifier.weight", "classifier.bias"]);
        let shape = LoraShape {
            rank: 2,
            alpha: 4.0,
            matrices: vec![Matrix::Query],
            blocks: vec![0],
            normed_blocks: vec![],
        };
        let extras = Extras { lora: Some(shape), ..Extras::default() };
        let encoder = EncoderConfig { extras, ..encoder.clone() };
        let naming = Naming { heads: &["ner"], hugging_face: false };
        let with_lora = initialised_names(&encoder, &heads[1..], naming, &Files { pooler: true });
        assert_eq!(with_lora.len(), 4, "{with_lora:?}");
        assert!(with_lora.iter().any(|name| name.contains(".lora.")), "{with_lora:?}");
    }

    #[test]
    fn as_many_sentences_fit_as_are_said_to() {
        let needs = |sentences: u64| 100 + 10 * sentences.min(7) + 3 * sentences;
        for bytes in [0, 112, 113, 126, 190, 191, 193, 194, 5000] {
            let most = super::fitting(bytes, needs);
            assert!(most == 0 || needs(most) <= bytes, "{bytes}: {most}");
            assert!(needs(most + 1) > bytes, "{bytes}: {most}");
        }
    }

    #[test]
    fn thousands_are_grouped() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (134_741_770, "134,741,770")];
        for (number, text) in cases {
            assert_eq!(super::group_thousands(number), text);
        }
    }
}
