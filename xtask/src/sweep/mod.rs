//! `cargo xtask sweep`: a study from its plan to its report. The whole story is in [`sweep`].
//!
//! Whatever can be found wrong before a cell starts is found before anything is written.

mod crew;
mod data;
mod folder;
mod inputs;
mod list;
mod outcome;
mod progress;
mod sample;
mod sets;
mod study;
mod worker;

use crate::args::SweepArgs;
use crate::fault::Result;
use crate::runner::Runner;
use crate::sweep::crew::Crew;
use crate::sweep::folder::Folder;
use crate::sweep::progress::Screen;
use crate::sweep::study::Study;
use crate::{Ending, report};

/// Runs a study.
pub(crate) fn sweep(args: &SweepArgs) -> Result<Ending> {
    let mut study = Study::read(args)?;
    let sources = inputs::find(&mut study, args)?;
    if args.list {
        list::print(&study, &sources, args);
        return Ok(Ending::Done);
    }
    if args.data_report {
        let runner = Runner::prepare(args.backend, args.runner.as_deref())?;
        list::introduce(&study, &sources, &runner);
        let cells = study.cells(&sources, &runner);
        data::print(&study, &cells, &runner.data(&cells)?);
        return Ok(Ending::Done);
    }
    let out = study.folder(args);
    folder::check(&out)?;
    let runner = Runner::prepare(args.backend, args.runner.as_deref())?;
    list::introduce(&study, &sources, &runner);

    // Once, but for a search, which decides from a round's records what the next one runs.
    loop {
        let cells = study.cells(&sources, &runner);
        runner.check(&cells)?;
        let folder =
            if args.verify { Folder::passing(cells)? } else { Folder::open(&out, study.sweep(cells))? };
        let crew = Crew::new(&runner, &study, args, folder.logs());
        let place = folder.prefix_place(&study.plan.prefix_cache, crew.size())?;
        let jobs = folder.jobs(place.as_ref(), study.plan.checkpoints)?;
        let mut screen = Screen::new(&study, &jobs, folder.done());
        let outcome = crew.work(jobs, &mut screen)?;
        drop(screen);
        let whole = !args.verify && !outcome.interrupted;
        if whole && study.goes_on(folder.cells(), |cell| folder.record(cell))? {
            continue;
        }
        folder.clear_prefixes(&study.plan.prefix_cache, &outcome);
        if whole {
            report::write(folder.path())?;
        }
        return Ok(folder.close(&outcome));
    }
}
