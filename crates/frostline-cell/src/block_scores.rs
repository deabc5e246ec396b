//! Scores of an encoder's blocks on a cell's data, before any cell is trained.
//!
//! Gradients, probes and a short run take sentences of train alone. What is drawn is drawn by one seed for all cells.

use std::collections::HashMap;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use burn::module::AutodiffModule as _;
use frostline_freeze::{Group, Policy, Timeline};
use frostline_kernels::backend::{self, Work};
use frostline_kernels::{Kernels, Train};
use frostline_model::{EncoderConfig, Network, snapshot};
use frostline_random::Stream;
use frostline_record::{BlockScores, Cell, Init, Precision, ScoreJob, Settings};
use frostline_train::{
    Dataset, Probe, ProbeConfig, Run, RunEvent, layer_features, relative_changes, score_gradients, train,
};

use crate::blocks::encoder_blocks;
use crate::corpora;
use crate::data::CellData;
use crate::heads::head_names;
use crate::shared::SharedData;
use crate::turns::{load_data, make_network};

/// The seed of heads, sentences and the short run.
const SEED: u64 = 0;

/// For probes: as many times the sentences of gradients, of which a third is scored.
const PROBED: usize = 3;

/// Scores the blocks of each cell's encoder.
///
/// # Errors
/// If the cells cannot be loaded, the backend cannot run here, or a loss is no number.
pub(crate) fn score_cells(
    job: &ScoreJob,
    backend: &str,
    shared: &mut SharedData,
) -> Result<Vec<BlockScores>> {
    ensure!(job.sentences > 0, "no sentences: give at least one");
    backend::on(backend, Scoring { job, shared })?
}

struct Scoring<'a> {
    job: &'a ScoreJob,
    shared: &'a mut SharedData,
}

impl Work for Scoring<'_> {
    type Output = Result<Vec<BlockScores>>;

    fn run<B: Train>(self, device: &B::Device) -> Self::Output {
        let Self { job, shared } = self;
        let mut all: Vec<BlockScores> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        for cell in &job.cells {
            let drawn = (cell.settings.encoder.init == Init::Random).then_some(cell.settings.seed);
            let key = serde_json::to_string(&(corpora::data_key(cell, false)?, drawn))?;
            let scores = match known.get(&key) {
                Some(place) => BlockScores { cell: cell.id.clone(), ..all[*place].clone() },
                None => score_cell::<B>(cell, job.sentences, shared, device).with_context(|| {
                    format!("scores of {} on {}", cell.settings.encoder.name, cell.settings.lang)
                })?,
            };
            known.entry(key).or_insert(all.len());
            all.push(scores);
        }
        Ok(all)
    }
}

fn score_cell<B: Train>(
    cell: &Cell,
    sentences: usize,
    shared: &mut SharedData,
    device: &B::Device,
) -> Result<BlockScores> {
    let clock = Instant::now();
    let data = load_data(cell, shared)?;
    let encoder = &data.encoder;
    ensure!(
        !encoder_blocks(encoder).share_weights(),
        "blocks of this encoder have the same weights, so that no block can be chosen by its score"
    );
    // Cells of all seeds that learn from the same data have the same scores.
    let mut scored = cell.clone();
    if scored.settings.encoder.init == Init::Pretrained {
        scored.settings.seed = SEED;
    }
    scored.settings.train.precision = Precision::F32;
    let model = make_network::<B>(&scored, &data, encoder, shared, device)?;
    let settings = scored.settings;
    let examples = &data.main().train.examples;
    let drawn = Stream::new(SEED, "block scores").permutation(examples.len());
    let chosen = &drawn[..sentences.min(drawn.len())];
    let set = train_subset(&data, chosen);
    let places: Vec<usize> = (0..set.examples.len()).collect();
    let batches: Vec<Vec<usize>> = places.chunks(settings.train.batch).map(<[usize]>::to_vec).collect();
    let task = frostline_train::Task { head: data.main().head, ..Run::task((&set).into(), (&set).into()) };
    let gradients = score_gradients(model.clone(), encoder, &settings, task, &batches)?;
    ensure!(
        gradients.sentences > 0,
        "no word of the {} sentences drawn from train has a label",
        chosen.len()
    );
    let probed = &drawn[..(PROBED * sentences).min(drawn.len())];
    let probe_accuracy = probe_layers(&model.valid(), &data, probed, &settings);
    let (drift, drift_steps) = measure_drift(model, &data, &set, &settings)?;
    Ok(BlockScores {
        cell: cell.id.clone(),
        sentences: chosen.to_vec(),
        batch: settings.train.batch,
        fisher: gradients.fisher,
        relative_gradient: gradients.relative_norm,
        signal_to_noise: gradients.signal_to_noise,
        probed: probed.to_vec(),
        probe_accuracy,
        drift,
        drift_steps,
        seconds: clock.elapsed().as_secs_f64(),
    })
}

/// Returns these train sentences of the headline.
fn train_subset(data: &CellData, places: &[usize]) -> Dataset {
    let examples = places.iter().map(|place| data.main().train.examples[*place].clone());
    Dataset { examples: examples.collect(), unseen_tags: Vec::new() }
}

/// Returns the accuracies of logistic regressions on the output of each layer, fitted to two thirds of the sentences and scored on
/// the others; empty if one of the parts has no label.
fn probe_layers<B: Kernels>(
    model: &Network<B>,
    data: &CellData,
    places: &[usize],
    settings: &Settings,
) -> Vec<f64> {
    let (fitted, scored) = places.split_at(places.len() * 2 / 3);
    let [fitted, scored] = [fitted, scored].map(|places| train_subset(data, places));
    let labels: Vec<u32> = fitted.examples.iter().flat_map(crate::baselines::gold_labels).collect();
    let can_score = scored.examples.iter().flat_map(crate::baselines::gold_labels).next().is_some();
    if labels.is_empty() || !can_score {
        return Vec::new();
    }
    let encoder: &EncoderConfig = &data.encoder;
    let [rows, scored_rows] =
        [&fitted, &scored].map(|set| layer_features(model, encoder, set.into(), settings));
    // The default tolerance leaves a fit on few words so far from the optimum that it labels some of them differently.
    let config = ProbeConfig { tolerance: 1e-6, ..ProbeConfig::default() };
    let accuracy = |(rows, scored_rows): (&Vec<f32>, &Vec<f32>)| {
        let probe = Probe::fit(rows, encoder.hidden, &labels, data.main().tags.len(), &config);
        probe.evaluate(&scored, scored_rows).tally.accuracy_all_words()
    };
    rows.iter().zip(&scored_rows).map(accuracy).collect()
}

/// Trains everything for one pass over the sentences, and returns how far each block went, with the number of steps.
fn measure_drift<B: Train>(
    model: Network<B>,
    data: &CellData,
    set: &Dataset,
    settings: &Settings,
) -> Result<(Vec<f64>, u64)> {
    let mut settings = settings.clone();
    settings.train.epochs = 1;
    let policy = Policy::none().resolve(data.encoder.depth, &head_names(&settings))?;
    let start = snapshot(&model);
    // A run scores dev once; one sentence is enough for what is read of it here.
    let dev = Dataset { examples: set.examples[..1].to_vec(), unseen_tags: Vec::new() };
    let task = frostline_train::Task { head: data.main().head, ..Run::task(set.into(), (&dev).into()) };
    let (timeline, tasks) = (Timeline::from(policy), [task]);
    let run = Run::new(&settings, &data.encoder, &timeline, &tasks);
    let finished = train(&run, model, None, &mut |_: RunEvent<'_>| {})?;
    let changes = relative_changes(&start, &snapshot(&finished.model));
    let of_block = |block| changes.get(&Group::Block(block)).copied().unwrap_or(0.0);
    Ok(((0..data.encoder.depth).map(of_block).collect(), finished.steps))
}

#[cfg(all(test, feature = "flex"))]
mod tests {
    use super::*;
    use crate::demo_cell::demo_cell;

    #[test]
    fn blocks_are_scored_alike_each_time_whatever_the_policy() {
        let score = |policy: &str| {
            let cell = demo_cell(|settings| {
                settings.policy = policy.parse().expect("a policy");
                settings.data.first = 40;
            });
            let job = ScoreJob { cells: vec![cell], sentences: 24 };
            let scores = score_cells(&job, "flex", &mut SharedData::default()).expect("scores").remove(0);
            BlockScores { cell: String::new(), seconds: 0.0, ..scores }
        };
        let scores = score("none");
        assert_eq!(scores, score("first-2+lora"));
        assert_eq!((scores.sentences.len(), scores.probe_accuracy.len()), (24, scores.fisher.len() + 1));
        assert_eq!(scores.named_scores().len(), 5);
        assert!(scores.named_scores().iter().all(|(_, values)| values.iter().all(|value| value.is_finite())));
        assert!(scores.drift.iter().all(|change| *change > 0.0) && scores.drift_steps > 0, "{scores:?}");
    }
}
