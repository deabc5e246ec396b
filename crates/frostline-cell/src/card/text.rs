//! The text of a model card, below its metadata.

use anyhow::Result;
use frostline_record::{Accounts, Precision, Select, Settings, Switch};
use frostline_score::wilson;

use super::{Card, front, usage};

/// Returns the text.
///
/// # Errors
/// If the settings of a stage do not belong together.
pub(super) fn write_body(card: &Card) -> Result<String> {
    let mut out = format!("# {}\n\n", card.title());
    if card.is_synthetic() {
        out += "> **SYNTHETIC DATA.** The sentences were made up by a program. This model and its scores say nothing about \
                any real language; do not use it for one.\n\n";
    }
    out += &write_introduction(card);
    let sections = [
        ("What was frozen", describe_frozen(card)),
        ("Training", describe_training(card)?),
        ("Scores", write_scores(card)),
        ("Limitations", write_limitations(card)),
        ("Use", usage::usage_section(card)),
        ("Licences", write_licences(card)),
        ("Citing the data", write_citation(card)),
    ];
    for (title, text) in sections {
        out += &format!("\n## {title}\n\n{text}");
    }
    Ok(out)
}

fn write_introduction(card: &Card) -> String {
    let unit = if card.labels_words() { "each word" } else { "each sentence" };
    let start =
        if card.encoder.is_random { "a randomly drawn encoder of the shape of" } else { "the encoder" };
    let frozen = if card.is_frozen() { "a part was frozen" } else { "nothing was frozen" };
    format!(
        "Predicts `{}` of {unit}. Trained on {} from {start} {}, of which {frozen}. One run of a study made by \
         Frostline {}; this card was written from the run's record.\n",
        inline_code(&card.settings.labels),
        code_span(&card.data[0].name),
        code_span(&card.encoder.name),
        card.record.made_by.version
    )
}

fn describe_frozen(card: &Card) -> String {
    let mut out =
        String::from("| stage | frozen | trainable parameters | of | share |\n|---|---|---:|---:|---:|\n");
    for stage in &card.result.stages {
        let Accounts { total, trainable, .. } = stage.accounts;
        out += &format!(
            "| {} | {} | {} | {} | {:.2} % |\n",
            table_cell(&stage.name),
            code_span(&stage.policy),
            separate_thousands(trainable),
            separate_thousands(total),
            100.0 * trainable as f64 / total.max(1) as f64
        );
    }
    let check = &card.last().freezing;
    out.push('\n');
    if check.frozen > 0 {
        out += &format!(
            "After the last stage {} frozen tensors were compared with those before it: all are bit-identical. ",
            separate_thousands(check.frozen)
        );
    }
    let unmoved = match check.unmoved.len() {
        0 => String::new(),
        some => format!(", {some} did not"),
    };
    out += &format!("{} trainable tensors moved{unmoved}.\n", separate_thousands(check.moved));
    if let Some(audit) = card.audit {
        out += &format!("\n{audit}\n");
    }
    out
}

fn describe_training(card: &Card) -> Result<String> {
    let settings = &card.record.cell.settings;
    let made = &card.record.made_by;
    let train = &card.facts.train;
    let mut out = format!(
        "Learned from {} sentences with {} labelled {}. Seed {}.\n\n| setting |",
        separate_thousands(train.sentences),
        separate_thousands(train.words),
        if card.labels_words() { "words" } else { "sentences" },
        settings.seed
    );
    let stages = settings.in_stages()?;
    let rows: Vec<Vec<(&str, String)>> = stages.iter().map(|(_, stage)| important_settings(stage)).collect();
    out += &stages.iter().map(|(name, _)| format!(" {} |", table_cell(name))).collect::<String>();
    out += &format!("\n|---|{}\n", "---|".repeat(stages.len()));
    for (at, (name, _)) in rows[0].iter().enumerate() {
        let values: String = rows.iter().map(|row| format!(" {} |", row[at].1)).collect();
        out += &format!("| `{name}` |{values}\n");
    }
    let revision = match made.revision.as_str() {
        "" => String::new(),
        revision => format!(", revision `{}`", inline_code(revision)),
    };
    out += &format!(
        "\nComputed by Frostline {} (code `{}`{revision}) with the backend `{}` on the instruction set `{}`: with these, \
         the same settings give the same bits. The cell's id is `{}`; its `record.json` has all settings and the SHA-256 \
         of every input.\n",
        made.version, card.record.cell.code, made.backend, made.isa, card.record.cell.id
    );
    Ok(out)
}

/// Returns the settings that readers look for first.
fn important_settings(stage: &Settings) -> Vec<(&'static str, String)> {
    let Settings { train, optimizer, schedule, data, dropout, .. } = stage;
    let switch = |on: Switch| if on.is_on() { "on" } else { "off" }.to_string();
    let json = |value: &dyn Fn() -> serde_json::Result<String>| value().unwrap_or_default().replace('"', "");
    vec![
        ("train.epochs", train.epochs.to_string()),
        ("train.batch", train.batch.to_string()),
        ("train.precision", train.precision.name().into()),
        ("train.select", if train.select == Select::Best { "best" } else { "last" }.into()),
        ("optimizer.kind", json(&|| serde_json::to_string(&optimizer.kind))),
        ("optimizer.lr", optimizer.lr.to_string()),
        ("optimizer.layer_decay", optimizer.layer_decay.to_string()),
        ("optimizer.head_factor", optimizer.head_factor.to_string()),
        ("optimizer.weight_decay", optimizer.decay().to_string()),
        ("schedule.kind", json(&|| serde_json::to_string(&schedule.kind))),
        ("schedule.warmup", schedule.warmup.to_string()),
        ("dropout.head", dropout.head.to_string()),
        ("dropout.encoder", switch(dropout.encoder)),
        ("data.max_length", data.max_length.to_string()),
        ("data.lowercase", data.lowercase.to_string()),
    ]
}

fn write_scores(card: &Card) -> String {
    let unit = if card.labels_words() { "words" } else { "sentences" };
    let mut out =
        format!("| split | {unit} | right | accuracy | 95 % interval | F1 |\n|---|---:|---:|---:|---|---|\n");
    for (split, score) in card.outcome().into_iter().flat_map(|outcome| &outcome.scores) {
        let f1 = front::f1(card, split, score);
        let interval = wilson(score.correct, score.words, 0.95);
        out += &format!(
            "| {} | {} | {} | {:.2} % | {:.2} to {:.2} % | {} |\n",
            table_cell(split),
            separate_thousands(score.words),
            separate_thousands(score.correct),
            100.0 * score.accuracy(),
            100.0 * interval.low,
            100.0 * interval.high,
            f1.map_or("–".into(), |(name, value)| format!("{:.2} % ({name})", 100.0 * value))
        );
    }
    out.push('\n');
    if card.labels_words() {
        out += "All words count: one that was cut off, or whose tag train lacks, is wrong. ";
    }
    out += &format!("Intervals are Wilson's, which take {unit} as independent. ");
    out += "This is one run with one seed; the study's report compares seeds and policies.\n";
    out
}

fn write_limitations(card: &Card) -> String {
    let cell = &card.record.cell;
    let mut items = Vec::new();
    if card.is_synthetic() {
        items.push(
            "**Trained or scored on synthetic sentences.** Nothing follows for any real language.".into(),
        );
    }
    items.extend(cell.weights_caveat().map(String::from));
    items.push(format!(
        "It knows only the labels of its train split: {}.",
        card.facts.tags.iter().map(|tag| code_span(tag)).collect::<Vec<_>>().join(", ")
    ));
    if cell.settings.data.lowercase {
        items.push(
            "It was trained on lowercased words: lowercase its input too. `frostline tag` does so by itself."
                .into(),
        );
    }
    items.push(format!(
        "In training, sentences were cut off after {} subwords, special tokens included.",
        cell.settings.data.max_length
    ));
    let precision = card.record.made_by.computes_in(cell.settings.train.precision);
    if precision != Precision::F32 {
        items.push(format!(
            "Operands of linear layers were rounded to {}; in f32 a few labels may differ.",
            precision.name()
        ));
    }
    if !card.outcome().is_some_and(|outcome| outcome.scores.contains_key("test")) {
        items.push("It was not scored on a test split; dev may have been used to choose settings.".into());
    }
    items.push("Text of another kind than the train split is usually labelled worse.".into());
    items.into_iter().map(|item: String| format!("- {item}\n")).collect()
}

fn write_licences(card: &Card) -> String {
    let mut out = String::from(
        "As the files beside them state it. Under which licence this model may be passed on follows from all of these.\n\n",
    );
    for (what, source) in
        std::iter::once(("encoder", &card.encoder)).chain(card.data.iter().map(|data| ("data", data)))
    {
        out += &format!("- {what} {}: {}\n", code_span(&source.name), inline_code(source.licence_text()));
    }
    out
}

fn write_citation(card: &Card) -> String {
    let mut out = String::new();
    for source in &card.data {
        let name = code_span(&source.name);
        out += &match (&source.treebank, source.is_embedded) {
            (Some(_), _) => format!(
                "- {name}: as its own README says. Universal Dependencies as a whole: Marie-Catherine de Marneffe, \
                 Christopher D. Manning, Joakim Nivre and Daniel Zeman, 2021, *Universal Dependencies*, Computational \
                 Linguistics 47(2), pages 255–308.\n"
            ),
            (None, true) => format!("- {name}: nothing to cite; a program made it up.\n"),
            (None, false) => format!("- {name}: as its authors ask; Frostline knows of no citation.\n"),
        };
    }
    out
}

/// Text in backquotes, which cannot end them.
fn code_span(text: &str) -> String {
    format!("`{}`", inline_code(text))
}

/// Returns text for use inside backquotes or a table: one line, without characters that would end it.
fn inline_code(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect::<String>()
        .replace('`', "'")
        .replace('|', "\\|")
}

/// Text of a table's cell.
fn table_cell(text: &str) -> String {
    inline_code(text).replace('<', "&lt;")
}

/// Returns a count with commas.
fn separate_thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
