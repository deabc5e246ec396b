//! What a step costs, from steps in turns.

use frostline_record::Load;

use crate::facts::{self, FactTable};
use crate::number::{listed, plural};
use crate::page::Page;
use crate::study::turns::MeasuredLoad;
use crate::study::{CellGroup, Study, distinct};

/// What "Time saved" is, for "How to read the tables".
pub(super) const READING: &str = "**Time saved** is how much less time a training step takes than with `none`, in percent of that. After \
     training, the policies of a language took steps in turns: in one process, on the same batches, in an order drawn for \
     each round, so that whatever else the machine did slowed all of them. It is 1 minus the median of the rounds' \
     ratios, with a 95 % interval that assumes no distribution (Thompson, 1936). On a busy machine these are ratios of the \
     steps' processor time, since steps of a few milliseconds wait for a processor as long whatever they compute; an eighth of the saving is \
     then added to each side of its interval. \
     *not measurable here*: the interval \
     includes 0 and is wider than 4 points. A dash: its steps were not taken in turns, for example since what learns changes on the \
     way. Training times of cells are no measure of a saving: they hold whatever else the machine did.";

/// Why there is no "Time saved", if no steps were taken in turns.
pub(super) fn why_untimed(study: &Study) -> String {
    let next = if study.sweep.timed_groups(|_| true).is_empty() {
        "Steps cannot be taken in turns here: that takes two policies in which the same parameters learn from the first step to the last."
    } else {
        "The same sweep command without `--no-timing` takes the steps and writes the report again."
    };
    format!(
        "**Time saved is not measured here**, since there are no times of steps that were taken in turns. Training times of \
         single cells do not show it: they hold whatever else the machine did. {next} **Time saved, predicted** is how much less \
         time a training step should take than with `none`, in percent of that: predicted from the work that is left, for \
         Frostline's own kernels on two processor cores."
    )
}

/// The section of a language.
pub(super) fn write_section(study: &Study, lang: &str, page: &mut Page) {
    page.section(3, "What a step costs");
    page.table(facts::table(study, FactTable::Turns, Some(lang)));
    let costs = || study.groups_of(lang).filter_map(|group| study.step_cost(group));
    let on_gpu = costs().any(|cost| cost.on_gpu);
    page.paragraph(
        "The policies took steps in turns on the same batches; times are medians. The prediction is the cost model's, made before any step \
         was taken, for Frostline's own kernels on two processor cores.",
    );
    let measured = costs().any(|cost| cost.peak_mib.is_some());
    page.paragraph(match (on_gpu, measured) {
        (false, _) => {
            "Peak memory is of a process that read the data and took three steps of this policy alone, on the longest \
             sentences."
        }
        (true, true) => {
            "Peak GPU memory is the most that was in use at once, as the GPU's allocator counts it, while a process took \
             three steps of this policy alone, on the longest sentences. What the allocator holds beyond that is not in it."
        }
        (true, false) => {
            "The GPU's memory was not measured here: these files hold only the memory of the process, which is not the \
             GPU's and is not shown. The same sweep command writes it once `timings/` is removed."
        }
    });
    if costs().any(|cost| cost.cpu_ms.is_some()) {
        page.paragraph(
            "The machine was busy, so time saved is **processor time**: what all threads of a step used together, which can \
             be more than the step took. That is not quite time, so an eighth of the saving is added to each side of their intervals.",
        );
    }
    let predicts_memory =
        |group: &CellGroup| group.forecast.as_ref().is_some_and(|of| of.memory_mib().is_some());
    if study.groups_of(lang).any(predicts_memory) {
        page.paragraph(
            "**Predicted step memory**: gradients and AdamW's moments of what learns, and the activations that backward \
             needs, in a step on the longest sentences (docs/policies.md has the formula). The peak also holds the data and the \
             model, and on a processor the program, which are the same for all policies.",
        );
    }
    if study.groups_of(lang).any(|group| study.step_cost(group).is_none() && group.times.is_some()) {
        page.paragraph(
            "A dash: steps are not alike, since what learns changes on the way, or its steps were not timed. What such a \
             policy saves is not measured here.",
        );
    }
}

/// A caveat if the machine had other work.
pub(super) fn busy_caveat(study: &Study) -> Option<String> {
    let all = &study.step_costs.loads;
    let waiting = |one: &&MeasuredLoad| one.load.others.is_none() && one.load.before > Some(1.0);
    let mut parts = Vec::new();
    // The share that other programs took is more informative than how many wanted to run.
    let waited = all.iter().filter(waiting).filter_map(|one| Some((one.load.before?, one.threads)));
    if let Some((load, threads)) = waited.max_by(|a, b| a.0.total_cmp(&b.0)) {
        parts.push(format!(
            "{load:.1} processes wanted to run before the steps were timed, on {}",
            plural(threads, "thread")
        ));
    }
    let most =
        |share: fn(&Load) -> Option<f64>| all.iter().filter_map(|one| share(&one.load)).reduce(f64::max);
    for (who, share) in
        [("programs", most(Load::much_by_others)), ("virtual machines", most(Load::much_stolen))]
    {
        parts.extend(
            share.map(|share| format!("other {who} took {:.0} % of the processors' time", 100.0 * share)),
        );
    }
    let busy = all.iter().filter(|one| one.load.is_busy() || waiting(one));
    let (by_cpu_time, by_time): (Vec<_>, Vec<_>) = busy.partition(|one| one.by_cpu_time);
    let told = |loads: &[&MeasuredLoad], words: &str| {
        let langs = distinct(loads.iter().map(|one| one.lang.clone()));
        let place = if loads.len() < all.len() { format!(" in {}", listed(&langs)) } else { String::new() };
        (!loads.is_empty()).then(|| format!("Savings{place} {words}"))
    };
    let savings = [
        told(
            &by_cpu_time,
            "are of the processor time of steps in turns, which waiting for a processor hardly changes",
        ),
        told(
            &by_time,
            "are of the time of steps in turns; other work hardly changes their ratios unless a step takes only a few \
             milliseconds",
        ),
    ];
    let savings = savings.into_iter().flatten().collect::<Vec<_>>().join(". ");
    (!parts.is_empty()).then(|| {
        format!(
            "The machine was busy: {}. {savings}. Training times and other times of whole cells are facts of that day \
             only.",
            parts.join("; ")
        )
    })
}
