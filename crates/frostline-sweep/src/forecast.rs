//! What the cells of a study are predicted to cost on this machine, for `frostline plan`.

use std::fmt::Write as _;
use std::path::Path;

use frostline_record::{Forecast, ForecastJob};

use crate::fault::CommandResult;
use crate::inputs::StudyInputs;
use crate::packing;
use crate::program::Program;
use crate::request::SweepRequest;
use crate::study::PlannedStudy;
use crate::units::{count_noun, format_bytes, format_clock, group_thousands};
use crate::workers::shared_threads;

/// The most settings that are predicted: each may need other data to be read.
const MOST: usize = 1_000;

/// What cells are predicted to cost.
pub(crate) enum Costs {
    /// The program was not asked, for this reason.
    Unknown(String),
    /// Costs of the first seed's cells; the cells of other seeds repeat them in the same order.
    Known { each: Vec<Forecast>, jobs: usize, threads: usize },
}

impl Costs {
    /// Asks the program. A fault that it finds is the reason why there is no answer: a list says what there is.
    pub(crate) fn ask_program(
        study: &PlannedStudy,
        sources: &StudyInputs,
        out: &Path,
        program: impl FnOnce() -> CommandResult<Program>,
        request: &SweepRequest,
        calibrate: bool,
    ) -> Self {
        let all = study.grid.len();
        let settings = all / study.grid.seeds();
        if settings > MOST {
            return Self::Unknown(format!("for more than {} settings", group_thousands(MOST as u64)));
        }
        let ask = || {
            let program = program()?;
            let mut cells = sources.make_cells(study, &program);
            let jobs = packing::choose_jobs(study.plan.jobs, &cells, out, &program, request);
            let threads = shared_threads(jobs, request.threads);
            cells.truncate(settings);
            let prefix_cache = study.plan.prefix_cache.enabled.is_on();
            let each = program.forecast_cells(ForecastJob { cells, threads, calibrate, prefix_cache })?;
            Ok(Self::Known { each, jobs, threads })
        };
        ask().unwrap_or_else(|fault: crate::fault::Fault| Self::Unknown(format!("{:#}", fault.error)))
    }

    /// The end of a cell's line.
    pub(crate) fn of_cell(&self, number: usize) -> String {
        let Self::Known { each, .. } = self else { return String::new() };
        let Some(Forecast { steps, seconds, bytes: memory, .. }) = each.get(number % each.len().max(1))
        else {
            return String::new();
        };
        let time = seconds.map_or_else(String::new, |seconds| format!(", about {}", format_clock(seconds)));
        format!(": {}{time}, {}", count_noun(*steps as usize, "step"), format_bytes(*memory))
    }

    /// Returns the last lines, for the least and the most cells that may run.
    pub(crate) fn summary_lines(&self, cells: [usize; 2]) -> String {
        let mut text = String::new();
        match self {
            Self::Unknown(reason) => {
                let _ = writeln!(text, "costs     not predicted: {reason}");
            }
            Self::Known { each, jobs, threads } => {
                let times: Option<Vec<f64>> = each.iter().map(|forecast| forecast.seconds).collect();
                let Some(times) = times else {
                    text += "time      not predicted, since no steps were timed on this machine; --calibrate does it, once, in some \
                             seconds\n";
                    return text;
                };
                let mean = times.iter().sum::<f64>() / times.len().max(1) as f64;
                let [shortest, longest] = cells.map(|cells| format_clock(mean * cells as f64 / *jobs as f64));
                let time = match cells {
                    [least, most] if least < most => {
                        format!("{shortest} to {longest} for training and scoring {least} to {most} cells")
                    }
                    _ => format!("{longest} for training and scoring all"),
                };
                let _ = writeln!(
                    text,
                    "time      about {time}, {} at a time on {}",
                    count_noun(*jobs, "cell"),
                    count_noun(*threads, "thread")
                );
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known_costs(seconds: [Option<f64>; 2], jobs: usize) -> Costs {
        let each = seconds.map(|seconds| Forecast {
            cell: String::new(),
            steps: 160,
            seconds,
            parameters: [0; 2],
            bytes: 812_000_000,
            in_parts: Vec::new(),
        });
        Costs::Known { each: each.to_vec(), jobs, threads: 2 }
    }

    #[test]
    fn cells_of_every_seed_cost_the_same() {
        let costs = known_costs([Some(60.0), Some(30.0)], 1);
        let lines: Vec<String> = (0..4).map(|number| costs.of_cell(number)).collect();
        let [first, second] = [": 160 steps, about 1:00, 812.0 MB", ": 160 steps, about 0:30, 812.0 MB"];
        assert_eq!(lines, [first, second, first, second]);
        let all = "time      about 3:00 for training and scoring all, 1 cell at a time on 2 threads\n";
        assert_eq!(costs.summary_lines([4, 4]), all);
        let some = "time      about 1:30 to 3:00 for training and scoring 2 to 4 cells, 1 cell at a time on 2 threads\n";
        assert_eq!(costs.summary_lines([2, 4]), some);
        assert!(known_costs([Some(60.0), Some(30.0)], 2).summary_lines([4, 4]).contains("about 1:30 "));
    }

    #[test]
    fn without_a_calibration_memory_is_known() {
        let costs = known_costs([Some(60.0), None], 1);
        assert_eq!(costs.of_cell(1), ": 160 steps, 812.0 MB");
        assert!(costs.summary_lines([2, 2]).contains("--calibrate"));
        let unknown = Costs::Unknown("for more than 1,000 settings".into());
        assert_eq!(unknown.of_cell(0), "");
        assert_eq!(unknown.summary_lines([2, 2]), "costs     not predicted: for more than 1,000 settings\n");
    }
}
