//! The description of a study that is printed before anything runs: plan, data, encoder, program, cells.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

use frostline_assets::licence_of;
use frostline_record::{Bits, FIRST_SEEDS, FindLr, Input, Inputs, Precision, SearchSettings, Settings};
use frostline_report::visible;

use crate::fault::{CommandResult, environment_fault};
use crate::forecast::Costs;
use crate::inputs::StudyInputs;
use crate::place;
use crate::program::Program;
use crate::study::PlannedStudy;
use crate::units::{count_noun, format_bytes, group_thousands};

/// `frostline plan`: writes the inputs and the cells, with their predicted cost if it was asked for.
///
/// # Errors
/// If `out` cannot be written.
pub(crate) fn write_plan(
    study: &PlannedStudy,
    sources: &StudyInputs,
    folder: &Path,
    costs: Option<&Costs>,
    out: &mut impl Write,
) -> io::Result<()> {
    let inputs = describe_study(study) + &describe_origins(study, sources);
    writeln!(out, "{}folder    {}", visible(&inputs), visible(&place::shown_path(folder)))?;
    write_cells(study, costs, out)?;
    write!(out, "{}", costs.map_or_else(String::new, |costs| costs.summary_lines(cell_range(study))))
}

/// Prints the inputs and the worker program before the cells run.
pub(crate) fn print_inputs(study: &PlannedStudy, sources: &StudyInputs, program: &Program) {
    say!(
        "{}{}{}",
        describe_study(study),
        describe_origins(study, sources),
        describe_program(study, program).trim_end()
    );
}

fn describe_program(study: &PlannedStudy, program: &Program) -> String {
    let about = &program.about;
    let mut text = format!(
        "program   frostline {} on {} ({}), code {}\n",
        about.version,
        program.backend,
        about.isa,
        &about.code[..about.code.len().min(12)]
    );
    for precision in [Precision::Bf16, Precision::F16] {
        let asked = study.grid.iter().filter(|settings| settings.train.precision == precision).count();
        let name = precision.name();
        if asked > 0 && !precision.is_native_in(&about.isa) {
            let here = match (about.bits, precision) {
                (Bits::Reproducible, Precision::Bf16) if about.amx => {
                    "the same bits are computed without it, which is no faster than f32; --backend amx \
                     is, with other bits"
                }
                (Bits::Reproducible, Precision::Bf16) => {
                    "the same bits are computed without it, which is no faster than f32"
                }
                _ => "computes in f32 here",
            };
            let _ = writeln!(
                text,
                "precision {name} is asked for by {asked} of {}, but {} has no native {name}: {here}",
                count_noun(study.grid.len(), "cell"),
                about.isa
            );
        }
    }
    text
}

/// Whether a program on this machine can compute what the study asks for: TF32 is never replaced by something else.
pub(crate) fn check_precision(study: &PlannedStudy, program: &Program) -> CommandResult<()> {
    let (asked, isa) = (|settings: &Settings| settings.train.precision, &program.about.isa);
    let cells = study.grid.iter().filter(|settings| asked(settings) == Precision::Tf32).count();
    if cells > 0 && !Precision::Tf32.is_native_in(isa) {
        return environment_fault(format!(
            "train.precision is `tf32` in {} of {}, which the backend {} ({isa}) lacks: it needs `cuda` on a GPU whose \
             tensor cores have TF32; use f32 or bf16",
            cells,
            count_noun(study.grid.len(), "cell"),
            program.backend
        ));
    }
    Ok(())
}

/// The least and the most cells that a study may run.
fn cell_range(study: &PlannedStudy) -> [usize; 2] {
    let cells = study.grid.len();
    if !study.plan.decide.is_on() {
        return [cells; 2];
    }
    let least = cells / study.grid.seeds() * FIRST_SEEDS;
    match study.plan.decide.cells {
        0 => [least, cells],
        limit => [least, cells.min(limit.max(least))],
    }
}

fn describe_study(study: &PlannedStudy) -> String {
    let plan = &study.plan;
    let mut text = format!("plan      {} ({})", plan.name, study.origin);
    let axes = plan.axes().into_iter().map(|axis| format!("{} {axis}", plan.grid[axis].len()));
    let axes: Vec<String> = axes.collect();
    let _ = write!(text, ": {}", count_noun(study.grid.len(), "cell"));
    if !axes.is_empty() {
        let _ = write!(text, " = {}", axes.join(" x "));
    }
    let twins = study.twins.len() * study.grid.seeds();
    if twins > 0 {
        let _ = write!(text, ", without {twins} that are the same as others");
    }
    text.push('\n');
    if let Some(option) = study.chosen_by {
        let _ = writeln!(
            text,
            "          chosen because {option} is given and --plan is not; --plan demo runs the demo, --plan FILE your own"
        );
    }
    for change in &study.overrides {
        let _ = writeln!(text, "          with {change}{}", list_exceptions(study, change));
    }
    if study.plan.decide.is_on() {
        let (seeds, [least, most]) = (study.grid.seeds(), cell_range(study));
        let _ = writeln!(
            text,
            "decide    starts with {FIRST_SEEDS} of {seeds} seeds and stops when it knows ({}): {least} to {most} cells",
            study.plan.decide.question.name()
        );
    }
    if let Some(search) = &study.search {
        let sets = count_noun(search.count_sets(), "set");
        let _ = writeln!(
            text,
            "greedy    each round freezes one more block, {sets} of blocks in all; this is the first round"
        );
    }
    if plan.search.is_on() {
        let SearchSettings { rates, rungs, seed, .. } = plan.search;
        let _ = writeln!(
            text,
            "find-lr   first a search for learning rates, {rates} or more for each policy{} in {}, seed {seed}; its cells are \
             not among these",
            if plan.search.lr == FindLr::Lang { " in each language" } else { "" },
            count_noun(rungs, "rung")
        );
    }
    if plan.synthetic {
        text.push_str("          SYNTHETIC DATA: made by a grammar, it says nothing about a real language\n");
    }
    text
}

/// Lists what keeps its own value of a changed setting: stages, policies, languages; empty if nothing does.
fn list_exceptions(study: &PlannedStudy, change: &str) -> String {
    let path = change.split('=').next().unwrap_or_default().trim();
    let plan = &study.plan;
    let stages =
        plan.settings.stages_with(path).into_iter().map(|(name, value)| (format!("stage `{name}`"), value));
    let own = plan.own_settings().filter(|(_, own, _)| own == path);
    let all = stages.chain(own.map(|(name, _, value)| (format!("`{name}`"), value)));
    let each: Vec<String> = all.map(|(name, value)| format!("{name} keeps {value}")).collect();
    if each.is_empty() { String::new() } else { format!(" ({})", each.join(", ")) }
}

fn describe_origins(study: &PlannedStudy, sources: &StudyInputs) -> String {
    let mut text = String::new();
    for (lang, treebank) in &sources.treebanks {
        let synthetic = if study.plan.synthetic { ", synthetic" } else { "" };
        let _ = writeln!(text, "data      {lang} = {} ({}{synthetic})", treebank.name, treebank.origin);
        for (split, input) in split_files(&treebank.files) {
            let sentences = treebank.sentences.get(split).copied().unwrap_or(0);
            let _ = writeln!(
                text,
                "          {split:<10} {:>7} sentences  {}",
                group_thousands(sentences as u64),
                describe_file(input)
            );
        }
        text += &licence_line(&treebank.files);
    }
    for (name, encoder) in &sources.encoders {
        let _ = writeln!(
            text,
            "encoder   {name} ({}): {}",
            encoder.origin,
            count_noun(encoder.blocks.depth(), "block")
        );
        for (role, input) in &encoder.files {
            let _ = writeln!(text, "          {role:<10} {}", describe_file(input));
        }
        text += &licence_line(&encoder.files);
        if !encoder.files.contains_key("weights") {
            text.push_str("          weights    drawn at random from the config and each cell's seed\n");
        }
    }
    text
}

/// Returns a line with the licence that the files next to these state; empty if there is none.
fn licence_line(files: &Inputs) -> String {
    let folder = files.values().next().and_then(|input| Path::new(&input.path).parent());
    let found = folder.and_then(licence_of);
    found.map_or(String::new(), |found| {
        format!("          licence    {} ({})\n", found.name, found.files.join(", "))
    })
}

fn split_files(files: &Inputs) -> impl Iterator<Item = (&'static str, &Input)> {
    ["train", "dev", "test"].into_iter().filter_map(|split| files.get(split).map(|input| (split, input)))
}

fn describe_file(input: &Input) -> String {
    format!("{:>9}  sha256 {}  {}", format_bytes(input.bytes), &input.sha256[..12], input.path)
}

fn write_cells(study: &PlannedStudy, costs: Option<&Costs>, out: &mut impl Write) -> io::Result<()> {
    for (number, settings) in study.grid.iter().enumerate() {
        let Settings { lang, policy, seed, .. } = &settings;
        let cost = costs.map_or_else(String::new, |costs| costs.of_cell(number));
        let (axes, own) = (axis_values(study, &settings), own_settings(study, &settings));
        writeln!(out, "{:>4}  {lang} {policy} seed {seed}{axes}{own}{cost}", number + 1)?;
    }
    Ok(())
}

/// Returns the own settings of a cell's policy and language, each after a space.
fn own_settings(study: &PlannedStudy, settings: &Settings) -> String {
    let of_policy = study.plan.own_of_policy(&settings.policy);
    let own = of_policy.into_iter().chain(study.plan.own_of_lang(&settings.lang));
    own.map(|(path, value)| format!(" {path}={value}")).collect()
}

/// Returns a cell's values on the plan's axes other than language, policy and seed, each after a space.
pub(crate) fn axis_values(study: &PlannedStudy, settings: &Settings) -> String {
    let extra_axes = study.plan.extra_axes();
    if extra_axes.is_empty() {
        return String::new();
    }
    let mut text = String::new();
    for axis in extra_axes {
        if let Some(value) = settings.get(axis) {
            let _ = write!(text, " {axis}={value}");
        }
    }
    text
}
