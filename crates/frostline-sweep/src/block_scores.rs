//! Scores of each encoder's blocks on each treebank of a plan, before anything is trained: for `frostline score-blocks`, and for
//! policies that choose blocks by them.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::bail;
use frostline_record::{
    BlockOrders, BlockScore, BlockScores, Cell, CellScores, ScoreJob, Settings, Sweep, rank_blocks,
};
use frostline_report::{block_score_figure, block_score_table, visible};

use crate::block_orders::{OrderTable, ScoredData, computed_scores};
use crate::ending::Ending;
use crate::fault::{Blame as _, CommandResult};
use crate::inputs::StudyInputs;
use crate::output::{OutputKind, output_kind, print_output};
use crate::program::Program;
use crate::study::PlannedStudy;
use crate::units::count_noun;

/// Train sentences whose gradients decide which blocks a policy chooses.
const SENTENCES: usize = 256;

/// Scores the blocks of each encoder on each treebank among these cells, and prints tables; or JSON if the output is to be that. With
/// a folder, JSON and a figure are written there too.
///
/// # Errors
/// If the cells cannot be loaded or the folder cannot be written.
pub(crate) fn print_scores(
    study: &PlannedStudy,
    cells: &[Cell],
    program: &Program,
    sentences: usize,
    folder: Option<&Path>,
) -> CommandResult<Ending> {
    if let Some(folder) = folder {
        frostline_files::create_folder(folder).blame_environment()?;
    }
    let cells = distinct_cells(cells);
    let scores = program.score_blocks(ScoreJob { cells: cells.clone(), sentences })?;
    let title = |cell: &Cell| format!("{} on {}", cell.settings.encoder.name, cell.settings.lang);
    let named: Vec<(String, &BlockScores)> =
        scores.iter().zip(&cells).map(|(scores, cell)| (title(cell), scores)).collect();
    let rows: Vec<serde_json::Value> =
        scores.iter().zip(&cells).map(|(scores, cell)| json_row(cell, scores)).collect();
    let json = serde_json::to_string_pretty(&rows).map_err(anyhow::Error::from).blame_environment()? + "\n";
    if let Some(folder) = folder {
        let figure = block_score_figure(&named, &study.plan.name, study.plan.synthetic);
        for (name, text) in [("block_scores.json", &json), ("block_scores.svg", &figure)] {
            frostline_files::write(&folder.join(name), text.as_bytes()).blame_environment()?;
        }
    }
    print_output(|out| {
        use std::io::Write as _;
        if output_kind() == OutputKind::Json {
            return out.write_all(json.as_bytes());
        }
        for (title, scores) in &named {
            writeln!(out, "\n{}\n{}", write_heading(title, scores), block_score_table(scores).trim_end())?;
        }
        match folder {
            Some(folder) => writeln!(out, "\nwritten   {}", folder.join("block_scores.{json,svg}").display()),
            None => Ok(()),
        }
    })
}

/// Above a table: what was scored, on how much.
fn write_heading(title: &str, scores: &BlockScores) -> String {
    format!(
        "{}: {} of train, {} of training; {:.1} s",
        visible(title),
        count_noun(scores.sentences.len(), "sentence"),
        count_noun(scores.drift_steps as usize, "step"),
        scores.seconds
    )
}

/// The scores with what they are of, in place of the cell's hash.
fn json_row(cell: &Cell, scores: &BlockScores) -> serde_json::Value {
    let mut row = serde_json::json!(scores);
    let object = row.as_object_mut().expect("a struct is an object");
    object.remove("cell");
    object.insert("lang".into(), serde_json::json!(cell.settings.lang));
    object.insert("encoder".into(), serde_json::json!(cell.settings.encoder.name));
    object.insert("probe_gain".into(), serde_json::json!(scores.probe_gains()));
    row
}

/// The first cell of each encoder and treebank: policies and further seeds change neither.
fn distinct_cells(cells: &[Cell]) -> Vec<Cell> {
    let mut seen: Vec<ScoredData> = Vec::new();
    let mut is_new = |cell: &&Cell| {
        let scored = ScoredData::of_cell(&cell.settings);
        let new = !seen.contains(&scored);
        if new {
            seen.push(scored);
        }
        new
    };
    cells.iter().filter(|cell| is_new(cell)).cloned().collect()
}

/// Returns whether a policy of the study needs scores that have to be computed.
pub(crate) fn needs_scores(study: &PlannedStudy) -> bool {
    study.grid.variants().any(|settings| !computed_scores(&settings).is_empty())
}

/// Finds the orders that the study's policies need. An earlier run in the folder has them; otherwise they are computed.
///
/// # Errors
/// If a score cannot be computed.
pub(crate) fn find_orders(
    study: &PlannedStudy,
    sources: &StudyInputs,
    program: &Program,
    folder: &Path,
) -> CommandResult<OrderTable> {
    let mut wanted: Vec<(Cell, BTreeSet<BlockScore>)> = Vec::new();
    for settings in study.grid.iter() {
        let scores = computed_scores(&settings);
        if scores.is_empty() {
            continue;
        }
        let known = wanted.iter_mut().find(|(cell, _)| is_same_data(&cell.settings, &settings));
        match known {
            Some((_, all)) => all.extend(scores),
            None => wanted.push((sources.make_cell(study, program, settings), scores)),
        }
    }
    let before = Sweep::read(folder).map_or_else(|_| Vec::new(), |sweep| sweep.cells);
    let mut table = OrderTable::default();
    let mut missing: Vec<(Cell, BTreeSet<BlockScore>)> = Vec::new();
    for (cell, scores) in wanted {
        let orders = orders_before(&before, &cell);
        if scores.iter().all(|score| orders.contains_key(score)) {
            table.add_orders(&cell.settings, orders);
        } else {
            missing.push((cell, scores));
        }
    }
    if missing.is_empty() {
        return Ok(table);
    }
    say!(
        "scores    of blocks, for policies that choose by them, on at most {}",
        count_noun(SENTENCES, "train sentence")
    );
    let cells: Vec<Cell> = missing.iter().map(|(cell, _)| cell.clone()).collect();
    let found = program.score_blocks(ScoreJob { cells, sentences: SENTENCES })?;
    for ((cell, scores), found) in missing.iter().zip(&found) {
        table.add_orders(&cell.settings, orders_of_scores(cell, scores, found).blame_plan()?);
    }
    Ok(table)
}

/// Scores the blocks of each cell of a study over sets of blocks that freezes nothing, so that the report can compare scores with
/// what freezing cost. Those of an earlier run in the folder are kept, and with `known_only` no others are computed. If
/// scoring fails, the study runs without scores.
pub(crate) fn score_sets(
    study: &PlannedStudy,
    cells: &[Cell],
    program: &Program,
    folder: &Path,
    known_only: bool,
) -> Vec<CellScores> {
    let freezes_nothing =
        |cell: &&Cell| cell.settings.policy.as_str() == "none" && cell.settings.stages.is_empty();
    let scored: Vec<&Cell> = cells.iter().filter(freezes_nothing).collect();
    if !study.covers_sets || scored.is_empty() {
        return Vec::new();
    }
    let mut known = Sweep::read(folder).map_or_else(|_| Vec::new(), |sweep| sweep.block_scores);
    known.retain(|scores| scored.iter().any(|cell| cell.id == scores.cell));
    let is_new = |cell: &&Cell| known.iter().all(|scores| scores.cell != cell.id);
    let missing: Vec<Cell> = scored.into_iter().filter(is_new).cloned().collect();
    if missing.is_empty() || known_only {
        return known;
    }
    say!(
        "scores    of blocks before training, for the report, on at most {}",
        count_noun(SENTENCES, "train sentence")
    );
    match program.score_blocks(ScoreJob { cells: missing, sentences: SENTENCES }) {
        Ok(found) => known.extend(found.iter().map(CellScores::from)),
        Err(fault) => note!("the blocks were not scored: {:#}", fault.error),
    }
    known
}

fn is_same_data(a: &Settings, b: &Settings) -> bool {
    a.seed == b.seed && ScoredData::of_cell(a) == ScoredData::of_cell(b)
}

/// The orders that cells of an earlier run of the same code had on the same files.
fn orders_before(before: &[Cell], cell: &Cell) -> BlockOrders {
    let same = before.iter().filter(|other| {
        is_same_data(&other.settings, &cell.settings)
            && (&other.inputs, &other.code, &other.backend) == (&cell.inputs, &cell.code, &cell.backend)
    });
    let orders = same.flat_map(|other| other.block_orders.clone());
    orders.filter(|(score, _)| *score != BlockScore::Random).collect()
}

fn orders_of_scores(
    cell: &Cell,
    scores: &BTreeSet<BlockScore>,
    found: &BlockScores,
) -> anyhow::Result<BlockOrders> {
    let mut orders = BlockOrders::new();
    for score in scores {
        let values = found.of_score(*score);
        if values.is_empty() {
            let (name, lang) = (score.name(), &cell.settings.lang);
            bail!(
                "{lang} has too few train sentences with labels for the policies `{name}-K`; choose another score"
            );
        }
        orders.insert(*score, rank_blocks(&values));
    }
    Ok(orders)
}
