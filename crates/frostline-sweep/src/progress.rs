//! The display of progress while cells run: live bars on a terminal, plain lines elsewhere.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use frostline_record::{Cell, EpochRow, Event, Job, Loaded, PrefixEvent, Record, Settings, StepEvent};
use frostline_report::visible;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::executor::Observer;
use crate::facts::{parameters, throughput};
use crate::live::{FIRST_STEPS, LOADING};
use crate::notices::{Notices, OnlyFaults};
use crate::sample;
use crate::say::{self, Output};
use crate::units::{clock, counted, grouped, short};

/// Says how these jobs go, as the command line asks for: on a display, as JSON, or faults only. The data are perhaps
/// synthetic, and `done` cells of the sweep were done before.
pub(crate) fn observer(synthetic: bool, jobs: &[Job], done: usize) -> Box<dyn Observer> {
    match say::output() {
        Output::Text => Box::new(Screen::new(synthetic, jobs, done)),
        Output::Json => Box::new(Notices::default()),
        Output::Quiet => Box::new(OnlyFaults),
    }
}

/// The progress display of one sweep.
#[derive(Debug)]
struct Screen {
    bars: Option<Bars>,
    synthetic: bool,
    /// The number of cells in the sweep.
    cells: usize,
    /// The number of cells that are done or have failed.
    finished: usize,
    title_width: usize,
    shown_sample: bool,
    running: BTreeMap<String, Running>,
    /// The seconds that each finished cell of this command took.
    spent_s: Vec<f64>,
}

#[derive(Debug)]
struct Bars {
    all: MultiProgress,
    sweep: ProgressBar,
}

/// A cell that is running.
#[derive(Debug)]
struct Running {
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

impl Screen {
    fn new(synthetic: bool, jobs: &[Job], done: usize) -> Self {
        let cells = done + jobs.len();
        let bars = std::io::stderr().is_terminal().then(|| Bars::new(cells, done));
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
    fn loaded(&mut self, loaded: &Loaded) {
        if !std::mem::replace(&mut self.shown_sample, true) {
            let text = self.about_first(loaded);
            self.print(&text);
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
            grouped(train),
            grouped(dev),
            grouped(test),
            loaded.tags.len(),
            grouped(loaded.steps),
            parameters(loaded),
            sample::render(&loaded.sample, width)
        )
    }

    /// A cell's constant prefix is being computed: shown in the live bar, or once as a plain line.
    fn prefix(&mut self, prefix: &PrefixEvent) {
        let Some(running) = self.running.get_mut(&prefix.id) else { return };
        let what = match prefix.blocks {
            0 => "frozen embeddings".into(),
            blocks => format!("frozen embeddings and {}", counted(blocks as usize, "block")),
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
    fn step(&mut self, step: &StepEvent) {
        if let Some(running) = self.running.get_mut(&step.id) {
            running.left_s = Some(step.left_s);
            running.last = Some(step.clone());
            if let Some(bar) = &running.bar {
                bar.set_length(step.steps);
                bar.set_position(step.step);
                bar.set_message(running.state(step.epoch));
            } else {
                let (finished, cells) = (self.finished + 1, self.cells);
                let StepEvent { step: at, steps, epoch, loss_nats, .. } = step;
                note!(
                    "[{finished:>3}/{cells}] {}: step {at} of {steps}, epoch {epoch}, loss {loss_nats:.3}",
                    running.title
                );
            }
        }
        self.tick();
    }

    /// An epoch of a cell ended.
    fn epoch(&mut self, id: &str, row: &EpochRow) {
        let Some(running) = self.running.get_mut(id) else { return };
        running.row = Some((row.epoch, row.train_loss_nats, row.dev.accuracy()));
        match &running.bar {
            Some(bar) => {
                bar.set_position(row.step);
                bar.set_message(running.state(row.epoch));
            }
            None => note!(
                "[{:>3}/{}] {}: {}",
                self.finished + 1,
                self.cells,
                running.title,
                running.state(row.epoch)
            ),
        }
    }

    fn end(&mut self, cell: &Cell) -> f64 {
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
        self.tick();
    }

    fn print(&self, text: &str) {
        match &self.bars {
            Some(bars) => bars.all.suspend(|| say!("{}", text.trim_end())),
            None => say!("{}", text.trim_end()),
        }
    }

    /// Updates the estimate of the sweep's remaining time.
    fn tick(&self) {
        if let (Some(bars), Some(left)) = (&self.bars, self.left_s()) {
            bars.sweep.set_message(format!("{} left", clock(left)));
        }
    }

    /// The estimated seconds until the sweep ends: the remaining time of the running cells, plus the mean known time
    /// for each waiting cell, divided by the number of running cells.
    fn left_s(&self) -> Option<f64> {
        let now: Vec<&Running> = self.running.values().collect();
        let whole = |running: &&Running| Some(running.started.elapsed().as_secs_f64() + running.left_s?);
        let known: Vec<f64> = self.spent_s.iter().copied().chain(now.iter().filter_map(whole)).collect();
        let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
        let rest = |running: &Running| running.left_s.unwrap_or(mean);
        let waiting = self.cells.saturating_sub(self.finished + now.len()) as f64;
        let work = waiting * mean + now.iter().map(|running| rest(running)).sum::<f64>();
        (!known.is_empty()).then(|| work / now.len().max(1) as f64)
    }

    fn clear(&self) {
        if let Some(bars) = &self.bars {
            let _ = bars.all.clear();
            bars.all.set_draw_target(indicatif::ProgressDrawTarget::hidden());
        }
    }
}

impl Observer for Screen {
    fn started(&mut self, job: &Job, from: Option<&str>) {
        let bar = self.bars.as_ref().map(|bars| bars.cell(&job.cell.title(), self.title_width));
        let running = Running {
            title: job.cell.title(),
            stages: stages(&job.cell.settings),
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

    fn progress(&mut self, event: &Event) {
        match event {
            Event::Loaded(loaded) => self.loaded(loaded),
            Event::Prefix(prefix) => self.prefix(prefix),
            Event::Step(step) => self.step(step),
            Event::Epoch { id, row } => self.epoch(id, row),
            Event::Dev { .. }
            | Event::Ready(_)
            | Event::Done { .. }
            | Event::Late { .. }
            | Event::Failed { .. }
            | Event::Answer(_)
            | Event::Refused { .. } => {}
        }
    }

    fn done(&mut self, cell: &Cell, record: Option<&Record>) {
        let seconds = self.end(cell);
        let scores = record.and_then(|record| record.result.as_ref()).map(|result| {
            let score = |(split, score): (&String, &frostline_record::Score)| {
                format!("{split} {:.2} %", 100.0 * score.accuracy())
            };
            result.scores().iter().map(score).collect::<Vec<_>>().join(", ")
        });
        let scores = scores.unwrap_or_else(|| "one step taken, no record".into());
        let speed = record.and_then(throughput).map_or_else(String::new, |speed| format!("; {speed}"));
        self.print_line(&format!("{}: done in {}, {scores}{speed}", cell.title(), clock(seconds)));
    }

    fn failed(&mut self, cell: &Cell, error: &str) {
        self.end(cell);
        self.print_line(&format!("{}: FAILED: {error}", cell.title()));
    }

    fn retried(&mut self, cell: &Cell, error: &str) {
        self.end(cell);
        self.finished -= 1;
        self.print_line(&format!("{}: failed, will be run again: {error}", cell.title()));
    }

    fn elsewhere(&mut self, cell: &Cell, error: Option<&str>) {
        self.end(cell);
        let how = error.map_or("recorded".into(), |error| format!("FAILED: {error}"));
        self.print_line(&format!("{}: {how}, by another process", cell.title()));
    }

    fn lost(&mut self, cell: &Cell) {
        self.end(cell);
        self.finished -= 1;
        self.print_line(&format!(
            "{}: another process has it now; nothing of it is recorded here",
            cell.title()
        ));
    }

    fn interrupted(&mut self) {
        self.clear();
        note!("stopping  the workers store where their cells are, and end; Ctrl-C again ends them at once");
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Bars {
    fn new(cells: usize, done: usize) -> Self {
        let all = MultiProgress::new();
        let style = "sweep {bar:24} {pos}/{len} cells  {elapsed_precise} elapsed  {wide_msg}";
        let sweep = all.add(ProgressBar::new(cells as u64).with_position(done as u64));
        sweep.set_style(ProgressStyle::with_template(style).expect("a fixed template"));
        sweep.enable_steady_tick(Duration::from_secs(1));
        Self { all, sweep }
    }

    fn cell(&self, title: &str, width: usize) -> ProgressBar {
        let style = "{prefix} {bar:8} {pos}/{len}  {wide_msg}";
        let bar = ProgressBar::new(0).with_prefix(format!("{title:<width$}")).with_message(LOADING);
        bar.set_style(ProgressStyle::with_template(style).expect("a fixed template"));
        let bar = self.all.insert_before(&self.sweep, bar);
        bar.tick();
        bar
    }
}

impl Running {
    /// What is known about an epoch: nothing of another stage, and no loss of another epoch.
    fn state(&self, epoch: u32) -> String {
        let mut parts = Vec::new();
        if let Some(step) = &self.last {
            parts.push(format!("{} left", clock(step.left_s)));
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
            parts.push(format!("{} tokens/s", short(step.tokens_per_s)));
        }
        parts.join(", ")
    }

    /// The stage that has this epoch.
    fn stage_of(&self, epoch: u32) -> Option<usize> {
        self.stages.iter().position(|(_, last)| epoch <= *last)
    }
}

/// Where a cell goes on that was begun before, and from whom it was taken over; nothing of one that simply begins.
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
fn stages(settings: &Settings) -> Vec<(String, u32)> {
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

    fn running(stages: &str) -> Running {
        let settings: Settings = toml::from_str(stages).unwrap();
        let stages = super::stages(&settings);
        Running {
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

    fn step(epoch: u32, loss_nats: f64) -> StepEvent {
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
        running.last = Some(step(1, 2.5));
        shown.push(running.state(1));
        running.row = Some((1, 2.25, 0.5));
        shown.push(running.state(1));
        // The second stage ends an epoch before the curve has a point of it, then has one.
        shown.push(running.state(2));
        running.row = Some((2, 1.25, 0.75));
        shown.push(running.state(2));
        running.last = Some(step(3, 1.0));
        shown.push(running.state(3));
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
        let mut screen = Screen::new(false, &[], 0);
        let bar = Bars::new(1, 0).cell("en none seed 1", 20);
        let shown = |_: &Screen| bar.message();
        screen.shown_sample = true;
        let cell = Running { bar: Some(bar.clone()), ..running("train.epochs = 2") };
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
        screen.progress(&Event::Loaded(loaded));
        assert_eq!((shown(&screen).as_str(), bar.position(), bar.length()), (FIRST_STEPS, 30, Some(90)));
        let prefix = |share| Event::Prefix(PrefixEvent { id: "a1".into(), blocks: 2, share: Some(share) });
        screen.progress(&prefix(0.5));
        assert!(shown(&screen).starts_with("50 %, computing once"), "{}", shown(&screen));
        screen.progress(&prefix(1.0));
        assert_eq!(shown(&screen), FIRST_STEPS);
        screen.progress(&Event::Step(StepEvent { id: "a1".into(), ..step(1, 2.5) }));
        assert!(shown(&screen).contains("epoch 1/2, loss 2.500"), "{}", shown(&screen));
    }

    #[test]
    fn a_run_without_stages_names_none() {
        let mut running = running("train.epochs = 2");
        running.row = Some((1, 0.5, 0.875));
        insta::assert_snapshot!(running.state(1), @"epoch 1/2, dev 87.50 %, loss 0.500");
    }
}
