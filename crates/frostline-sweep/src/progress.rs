//! The display of progress while cells run: live bars on a terminal, plain lines elsewhere.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use frostline_record::{Cell, EpochRow, Event, Job, Loaded, PrefixEvent, Record, Settings, StepEvent};
use frostline_report::visible;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::cell_description::{describe_parameters, describe_throughput};
use crate::executor::Observer;
use crate::live::{FIRST_STEPS, LOADING};
use crate::notices::{Notices, OnlyFaults};
use crate::output::{self, OutputKind};
use crate::sample_sentence;
use crate::units::{count_noun, format_clock, format_rate, group_thousands};

/// Chooses how the progress of these jobs is shown, as the command line asks: on a display, as JSON, or faults only.
/// The data are perhaps synthetic, and `done` cells of the sweep were done before.
pub(crate) fn choose_observer(synthetic: bool, jobs: &[Job], done: usize) -> Box<dyn Observer> {
    match output::output_kind() {
        OutputKind::Text => Box::new(ProgressScreen::new(synthetic, jobs, done)),
        OutputKind::Json => Box::new(Notices::default()),
        OutputKind::Quiet => Box::new(OnlyFaults),
    }
}

/// The progress display of one sweep.
#[derive(Debug)]
struct ProgressScreen {
    bars: Option<ProgressBars>,
    synthetic: bool,
    /// The number of cells in the sweep.
    cells: usize,
    /// The number of cells that are done or have failed.
    finished: usize,
    title_width: usize,
    shown_sample: bool,
    running: BTreeMap<String, RunningCell>,
    /// The seconds that each finished cell of this command took.
    spent_s: Vec<f64>,
}

#[derive(Debug)]
struct ProgressBars {
    all: MultiProgress,
    sweep: ProgressBar,
}

/// A cell that is running.
#[derive(Debug)]
struct RunningCell {
    title: String,
    /// The stages in order, each with its name and the last of its epochs, counted over all stages.
    stages: Vec<(String, u32)>,
    started: Instant,
    left_s: Option<f64>,
    /// Whether a plain line about the prefix was printed.
    printed_prefix: bool,
    /// The process that had begun it and has died.
    from: Option<String>,
    /// The last point of the loss curve.
    last: Option<StepEvent>,
    /// The last epoch's number, with its mean loss and its accuracy on dev.
    row: Option<(u32, f64, f64)>,
    bar: Option<ProgressBar>,
}

impl ProgressScreen {
    fn new(synthetic: bool, jobs: &[Job], done: usize) -> Self {
        let cells = done + jobs.len();
        let bars = std::io::stderr().is_terminal().then(|| ProgressBars::new(cells, done));
        Self {
            bars,
            synthetic,
            cells,
            finished: done,
            title_width: jobs.iter().map(|job| job.cell.title().chars().count()).max().unwrap_or(0),
            shown_sample: false,
            running: BTreeMap::new(),
            spent_s: Vec::new(),
        }
    }

    /// A cell's data and model are loaded. For the first cell, a sample sentence is shown.
    fn show_loaded(&mut self, loaded: &Loaded) {
        if !std::mem::replace(&mut self.shown_sample, true) {
            let text = self.about_first(loaded);
            self.print_above_bars(&text);
        }
        let Some(running) = self.running.get_mut(&loaded.id) else { return };
        if let Some(bar) = &running.bar {
            bar.set_length(loaded.steps);
            bar.set_position(loaded.resumed);
            bar.set_message(FIRST_STEPS);
        }
        let text = goes_on(running.from.take().as_deref(), loaded);
        if let Some(text) = text.map(|text| format!("{}: {text}", running.title)) {
            self.print_line(&text);
        }
    }

    fn about_first(&self, loaded: &Loaded) -> String {
        let [train, dev, test] = loaded.sentences;
        let synthetic = if self.synthetic { " (synthetic)" } else { "" };
        let title = self.running.get(&loaded.id).map_or("", |running| &running.title);
        let width = console::Term::stdout().size_checked().map_or(100, |(_, columns)| columns.into());
        format!(
            "first     {title}: {} train, {} dev, {} test sentences{synthetic}; {} tags; {} steps\n{}{}",
            group_thousands(train),
            group_thousands(dev),
            group_thousands(test),
            loaded.tags.len(),
            group_thousands(loaded.steps),
            describe_parameters(loaded),
            sample_sentence::render_sample(&loaded.sample, width)
        )
    }

    /// A cell's constant prefix is being computed: shown in the live bar, or once as a plain line.
    fn show_prefix(&mut self, prefix: &PrefixEvent) {
        let Some(running) = self.running.get_mut(&prefix.id) else { return };
        let what = match prefix.blocks {
            0 => "frozen embeddings".into(),
            blocks => format!("frozen embeddings and {}", count_noun(blocks as usize, "block")),
        };
        let text = match prefix.share {
            Some(_) => format!("computing once what its {what} make of the data"),
            None => format!("waiting for another worker, which computes what its {what} make of the data"),
        };
        match (&running.bar, prefix.share) {
            (Some(bar), Some(1.0..)) => bar.set_message(FIRST_STEPS),
            (Some(bar), Some(share)) => bar.set_message(format!("{:.0} %, {text}", 100.0 * share)),
            (Some(bar), None) => bar.set_message(text),
            (None, _) if !std::mem::replace(&mut running.printed_prefix, true) => {
                note!("[{:>3}/{}] {}: {text}", self.finished + 1, self.cells, running.title);
            }
            (None, _) => {}
        }
    }

    /// Progress inside a cell.
    fn show_step(&mut self, step: &StepEvent) {
        if let Some(running) = self.running.get_mut(&step.id) {
            running.left_s = Some(step.left_s);
            running.last = Some(step.clone());
            if let Some(bar) = &running.bar {
                bar.set_length(step.steps);
                bar.set_position(step.step);
                bar.set_message(running.epoch_state(step.epoch));
            } else {
                let (finished, cells) = (self.finished + 1, self.cells);
                let StepEvent { step: at, steps, epoch, loss_nats, .. } = step;
                note!(
                    "[{finished:>3}/{cells}] {}: step {at} of {steps}, epoch {epoch}, loss {loss_nats:.3}",
                    running.title
                );
            }
        }
        self.update_estimate();
    }

    /// An epoch of a cell ended.
    fn show_epoch(&mut self, id: &str, row: &EpochRow) {
        let Some(running) = self.running.get_mut(id) else { return };
        running.row = Some((row.epoch, row.train_loss_nats, row.dev.accuracy()));
        match &running.bar {
            Some(bar) => {
                bar.set_position(row.step);
                bar.set_message(running.epoch_state(row.epoch));
            }
            None => note!(
                "[{:>3}/{}] {}: {}",
                self.finished + 1,
                self.cells,
                running.title,
                running.epoch_state(row.epoch)
            ),
        }
    }

    fn close_bar(&mut self, cell: &Cell) -> f64 {
        self.finished += 1;
        let Some(running) = self.running.remove(&cell.id) else { return 0.0 };
        if let (Some(bars), Some(bar)) = (&self.bars, &running.bar) {
            bar.finish_and_clear();
            bars.all.remove(bar);
        }
        let seconds = running.started.elapsed().as_secs_f64();
        self.spent_s.push(seconds);
        seconds
    }

    fn print_line(&mut self, line: &str) {
        let line = format!("[{:>3}/{}] {line}", self.finished, self.cells);
        match &self.bars {
            Some(bars) => {
                let _ = bars.all.println(visible(&line));
                bars.sweep.set_position(self.finished as u64);
            }
            None => note!("{line}"),
        }
        self.update_estimate();
    }

    fn print_above_bars(&self, text: &str) {
        match &self.bars {
            Some(bars) => bars.all.suspend(|| say!("{}", text.trim_end())),
            None => say!("{}", text.trim_end()),
        }
    }

    /// Updates the estimate of the sweep's remaining time.
    fn update_estimate(&self) {
        if let (Some(bars), Some(left)) = (&self.bars, self.left_s()) {
            bars.sweep.set_message(format!("{} left", format_clock(left)));
        }
    }

    /// The estimated seconds until the sweep ends: the remaining time of the running cells, plus the mean known time
    /// for each waiting cell, divided by the number of running cells.
    fn left_s(&self) -> Option<f64> {
        let now: Vec<&RunningCell> = self.running.values().collect();
        let whole = |running: &&RunningCell| Some(running.started.elapsed().as_secs_f64() + running.left_s?);
        let known: Vec<f64> = self.spent_s.iter().copied().chain(now.iter().filter_map(whole)).collect();
        let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
        let rest = |running: &RunningCell| running.left_s.unwrap_or(mean);
        let waiting = self.cells.saturating_sub(self.finished + now.len()) as f64;
        let work = waiting * mean + now.iter().map(|running| rest(running)).sum::<f64>();
        (!known.is_empty()).then(|| work / now.len().max(1) as f64)
    }

    fn clear_bars(&self) {
        if let Some(bars) = &self.bars {
            let _ = bars.all.clear();
            bars.all.set_draw_target(indicatif::ProgressDrawTarget::hidden());
        }
    }
}

impl Observer for ProgressScreen {
    fn job_started(&mut self, job: &Job, from: Option<&str>) {
        let bar = self.bars.as_ref().map(|bars| bars.add_cell_bar(&job.cell.title(), self.title_width));
        let running = RunningCell {
            title: job.cell.title(),
            stages: list_stages(&job.cell.settings),
            started: Instant::now(),
            left_s: None,
            printed_prefix: false,
            from: from.map(Into::into),
            last: None,
            row: None,
            bar,
        };
        self.running.insert(job.cell.id.clone(), running);
    }

    fn cell_progressed(&mut self, event: &Event) {
        match event {
            Event::Loaded(loaded) => self.show_loaded(loaded),
            Event::Prefix(prefix) => self.show_prefix(prefix),
            Event::Step(step) => self.show_step(step),
            Event::Epoch { id, row } => self.show_epoch(id, row),
            Event::Dev { .. }
            | Event::Ready(_)
            | Event::Done { .. }
            | Event::Late { .. }
            | Event::Failed { .. }
            | Event::Answer(_)
            | Event::Refused { .. } => {}
        }
    }

    fn cell_done(&mut self, cell: &Cell, record: Option<&Record>) {
        let seconds = self.close_bar(cell);
        let scores = record.and_then(|record| record.result.as_ref()).map(|result| {
            let score = |(split, score): (&String, &frostline_record::Score)| {
                format!("{split} {:.2} %", 100.0 * score.accuracy())
            };
            result.scores().iter().map(score).collect::<Vec<_>>().join(", ")
        });
        let scores = scores.unwrap_or_else(|| "one step taken, no record".into());
        let speed =
            record.and_then(describe_throughput).map_or_else(String::new, |speed| format!("; {speed}"));
        self.print_line(&format!("{}: done in {}, {scores}{speed}", cell.title(), format_clock(seconds)));
    }

    fn cell_failed(&mut self, cell: &Cell, error: &str) {
        self.close_bar(cell);
        self.print_line(&format!("{}: FAILED: {error}", cell.title()));
    }

    fn cell_retried(&mut self, cell: &Cell, error: &str) {
        self.close_bar(cell);
        self.finished -= 1;
        self.print_line(&format!("{}: failed, will be run again: {error}", cell.title()));
    }

    fn cell_recorded_elsewhere(&mut self, cell: &Cell, error: Option<&str>) {
        self.close_bar(cell);
        let how = error.map_or("recorded".into(), |error| format!("FAILED: {error}"));
        self.print_line(&format!("{}: {how}, by another process", cell.title()));
    }

    fn cell_lost(&mut self, cell: &Cell) {
        self.close_bar(cell);
        self.finished -= 1;
        self.print_line(&format!(
            "{}: another process has it now; nothing of it is recorded here",
            cell.title()
        ));
    }

    fn sweep_interrupted(&mut self) {
        self.clear_bars();
        note!("stopping  the workers store where their cells are, and end; Ctrl-C again ends them at once");
    }
}

impl Drop for ProgressScreen {
    fn drop(&mut self) {
        self.clear_bars();
    }
}

impl ProgressBars {
    fn new(cells: usize, done: usize) -> Self {
        let all = MultiProgress::new();
        let style = "sweep {bar:24} {pos}/{len} cells  {elapsed_precise} elapsed  {wide_msg}";
        let sweep = all.add(ProgressBar::new(cells as u64).with_position(done as u64));
        sweep.set_style(ProgressStyle::with_template(style).expect("a fixed template"));
        sweep.enable_steady_tick(Duration::from_secs(1));
        Self { all, sweep }
    }

    fn add_cell_bar(&self, title: &str, width: usize) -> ProgressBar {
        let style = "{prefix} {bar:8} {pos}/{len}  {wide_msg}";
        let bar = ProgressBar::new(0).with_prefix(format!("{title:<width$}")).with_message(LOADING);
        bar.set_style(ProgressStyle::with_template(style).expect("a fixed template"));
        let bar = self.all.insert_before(&self.sweep, bar);
        bar.tick();
        bar
    }
}

impl RunningCell {
    /// Returns what is known about an epoch: nothing of another stage, and no loss of another epoch.
    fn epoch_state(&self, epoch: u32) -> String {
        let mut parts = Vec::new();
        if let Some(step) = &self.last {
            parts.push(format!("{} left", format_clock(step.left_s)));
        }
        let stage = self.stage_of(epoch);
        let name = stage
            .filter(|_| self.stages.len() > 1)
            .map_or(String::new(), |at| format!("{}, ", self.stages[at].0));
        let epochs = self.stages.last().map_or(0, |(_, last)| *last);
        parts.push(format!("{name}epoch {epoch}/{epochs}"));
        let row = self.row.filter(|(of, ..)| self.stage_of(*of) == stage);
        if let Some((_, _, dev)) = row {
            parts.push(format!("dev {:.2} %", 100.0 * dev));
        }
        // At an epoch's end its own mean: its steps may be too few for a point of the curve.
        let ended = row.filter(|(of, ..)| *of == epoch).map(|(_, loss, _)| loss);
        let point = self.last.as_ref().filter(|step| step.epoch == epoch).map(|step| step.loss_nats);
        if let Some(loss) = ended.or(point) {
            parts.push(format!("loss {loss:.3}"));
        }
        if let Some(step) = &self.last {
            parts.push(format!("{} tokens/s", format_rate(step.tokens_per_s)));
        }
        parts.join(", ")
    }

    /// The stage that has this epoch.
    fn stage_of(&self, epoch: u32) -> Option<usize> {
        self.stages.iter().position(|(_, last)| epoch <= *last)
    }
}

/// Describes from which step a resumed cell continues, and from whom it was taken over; empty for a new cell.
fn goes_on(from: Option<&str>, loaded: &Loaded) -> Option<String> {
    let place = format!("goes on after step {} of {}", loaded.resumed, loaded.steps);
    match (from, loaded.resumed) {
        (None, 0) => None,
        (None, _) => Some(place),
        (Some(from), 0) => Some(format!(
            "taken over from {from}, which no longer runs; it starts anew, since it has no checkpoint for this processor"
        )),
        (Some(from), _) => Some(format!("taken over from {from}, which no longer runs; it {place}")),
    }
}

/// The stages in order, each with its name and the last of its epochs, counted over all stages.
fn list_stages(settings: &Settings) -> Vec<(String, u32)> {
    let stages = settings.in_stages().unwrap_or_default();
    let end = |last: &mut u32, (name, stage): (frostline_record::FileName, Settings)| {
        *last += stage.train.epochs;
        Some((name.to_string(), *last))
    };
    stages.into_iter().scan(0, end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(stages: &str) -> RunningCell {
        let settings: Settings = toml::from_str(stages).unwrap();
        let stages = super::list_stages(&settings);
        RunningCell {
            title: "en none seed 1".into(),
            stages,
            started: Instant::now(),
            left_s: None,
            printed_prefix: false,
            from: None,
            last: None,
            row: None,
            bar: None,
        }
    }

    fn step_event(epoch: u32, loss_nats: f64) -> StepEvent {
        StepEvent {
            id: String::new(),
            step: 1,
            steps: 9,
            epoch,
            loss_nats,
            lr: 1e-3,
            tokens_per_s: 2e3,
            left_s: 5.0,
            peak_rss_mib: None,
        }
    }

    #[test]
    fn a_stage_does_not_show_what_the_one_before_it_reached() {
        let mut running = running(
            "[[stages]]\nname = 'head'\ntrain.epochs = 1\n[[stages]]\nname = 'full'\ntrain.epochs = 2\n\
             [[stages]]\nname = 'score'\ntrain.epochs = 0",
        );
        let mut shown = Vec::new();
        // A point of the curve within the first stage, and its end.
        running.last = Some(step_event(1, 2.5));
        shown.push(running.epoch_state(1));
        running.row = Some((1, 2.25, 0.5));
        shown.push(running.epoch_state(1));
        // The second stage ends an epoch before the curve has a point of it, then has one.
        shown.push(running.epoch_state(2));
        running.row = Some((2, 1.25, 0.75));
        shown.push(running.epoch_state(2));
        running.last = Some(step_event(3, 1.0));
        shown.push(running.epoch_state(3));
        insta::assert_snapshot!(shown.join("\n"), @r"
        0:05 left, head, epoch 1/3, loss 2.500, 2.0k tokens/s
        0:05 left, head, epoch 1/3, dev 50.00 %, loss 2.250, 2.0k tokens/s
        0:05 left, full, epoch 2/3, 2.0k tokens/s
        0:05 left, full, epoch 2/3, dev 75.00 %, loss 1.250, 2.0k tokens/s
        0:05 left, full, epoch 3/3, dev 75.00 %, loss 1.000, 2.0k tokens/s
        ");
    }

    /// The first point of the loss curve may come minutes after the first step.
    #[test]
    fn a_cell_that_is_loaded_does_not_say_that_it_loads() {
        let mut screen = ProgressScreen::new(false, &[], 0);
        let bar = ProgressBars::new(1, 0).add_cell_bar("en none seed 1", 20);
        let shown = |_: &ProgressScreen| bar.message();
        screen.shown_sample = true;
        let cell = RunningCell { bar: Some(bar.clone()), ..running("train.epochs = 2") };
        screen.running.insert("a1".into(), cell);
        assert_eq!(shown(&screen), LOADING);
        let sample = frostline_record::Sample { words: vec![], subwords: vec![], labels: vec![] };
        let loaded = Loaded {
            id: "a1".into(),
            steps: 90,
            sentences: [1, 1, 0],
            tags: Vec::new(),
            accounts: frostline_record::Accounts { total: 1, trainable: 1, groups: Vec::new() },
            sample,
            load_ms: 1.0,
            resumed: 30,
            initialised: Vec::new(),
            stages: Vec::new(),
        };
        screen.cell_progressed(&Event::Loaded(loaded));
        assert_eq!((shown(&screen).as_str(), bar.position(), bar.length()), (FIRST_STEPS, 30, Some(90)));
        let prefix = |share| Event::Prefix(PrefixEvent { id: "a1".into(), blocks: 2, share: Some(share) });
        screen.cell_progressed(&prefix(0.5));
        assert!(shown(&screen).starts_with("50 %, computing once"), "{}", shown(&screen));
        screen.cell_progressed(&prefix(1.0));
        assert_eq!(shown(&screen), FIRST_STEPS);
        screen.cell_progressed(&Event::Step(StepEvent { id: "a1".into(), ..step_event(1, 2.5) }));
        assert!(shown(&screen).contains("epoch 1/2, loss 2.500"), "{}", shown(&screen));
    }

    #[test]
    fn a_run_without_stages_names_none() {
        let mut running = running("train.epochs = 2");
        running.row = Some((1, 0.5, 0.875));
        insta::assert_snapshot!(running.epoch_state(1), @"epoch 1/2, dev 87.50 %, loss 0.500");
    }
}
