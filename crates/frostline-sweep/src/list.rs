//! The description of a study that is printed before anything runs: plan, data, encoder, program, cells.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

use frostline_assets::licence_of;
use frostline_record::{Bits, FindLr, Input, Inputs, Precision, SearchSettings, Settings};
use frostline_report::visible;

use crate::fault::{Result, environment};
use crate::forecast::Costs;
use crate::inputs::Sources;
use crate::place;
use crate::program::Program;
use crate::study::Study;
use crate::units::{bytes, counted, grouped};

/// `frostline plan`: writes the inputs, and the cells with what they are predicted to cost, where that was asked.
///
/// # Errors
/// Where `out` cannot be written.
pub(crate) fn write(
    study: &Study,
    sources: &Sources,
    folder: &Path,
    costs: Option<&Costs>,
    out: &mut impl Write,
) -> io::Result<()> {
    let inputs = header(study) + &origins(study, sources);
    writeln!(out, "{}folder    {}", visible(&inputs), visible(&place::shown(folder)))?;
    cells(study, costs, out)?;
    write!(out, "{}", costs.map_or_else(String::new, |costs| costs.summary(study.grid.len())))
}

/// Prints the inputs and the worker program before the cells run.
pub(crate) fn introduce(study: &Study, sources: &Sources, program: &Program) {
    say!("{}{}{}", header(study), origins(study, sources), about(study, program).trim_end());
}

fn about(study: &Study, program: &Program) -> String {
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
                counted(study.grid.len(), "cell"),
                about.isa
            );
        }
    }
    text
}

/// Whether a program on this machine can compute what the study asks for: TF32 is never replaced by something else.
pub(crate) fn check_precision(study: &Study, program: &Program) -> Result<()> {
    let (asked, isa) = (|settings: &Settings| settings.train.precision, &program.about.isa);
    let cells = study.grid.iter().filter(|settings| asked(settings) == Precision::Tf32).count();
    if cells > 0 && !Precision::Tf32.is_native_in(isa) {
        return environment(format!(
            "train.precision is `tf32` in {} of {}, which the backend {} ({isa}) lacks: it needs `cuda` on a GPU whose \
             tensor cores have TF32; use f32 or bf16",
            cells,
            counted(study.grid.len(), "cell"),
            program.backend
        ));
    }
    Ok(())
}

fn header(study: &Study) -> String {
    let plan = &study.plan;
    let mut text = format!("plan      {} ({})", plan.name, study.origin);
    let axes = plan.axes().into_iter().map(|axis| format!("{} {axis}", plan.grid[axis].len()));
    let axes: Vec<String> = axes.collect();
    let _ = write!(text, ": {}", counted(study.grid.len(), "cell"));
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
        let _ = writeln!(text, "          with {change}{}", exceptions(study, change));
    }
    if let Some(search) = &study.search {
        let sets = counted(search.sets(), "set");
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
            counted(rungs, "rung")
        );
    }
    if plan.synthetic {
        text.push_str("          SYNTHETIC DATA: made by a grammar, it says nothing about a real language\n");
    }
    text
}

/// What keeps its own value of a setting that was changed: stages, policies, languages; empty if nothing does.
fn exceptions(study: &Study, change: &str) -> String {
    let path = change.split('=').next().unwrap_or_default().trim();
    let plan = &study.plan;
    let stages =
        plan.settings.stages_with(path).into_iter().map(|(name, value)| (format!("stage `{name}`"), value));
    let own = plan.own_settings().filter(|(_, own, _)| own == path);
    let all = stages.chain(own.map(|(name, _, value)| (format!("`{name}`"), value)));
    let each: Vec<String> = all.map(|(name, value)| format!("{name} keeps {value}")).collect();
    if each.is_empty() { String::new() } else { format!(" ({})", each.join(", ")) }
}

fn origins(study: &Study, sources: &Sources) -> String {
    let mut text = String::new();
    for (lang, treebank) in &sources.treebanks {
        let synthetic = if study.plan.synthetic { ", synthetic" } else { "" };
        let _ = writeln!(text, "data      {lang} = {} ({}{synthetic})", treebank.name, treebank.origin);
        for (split, input) in splits(&treebank.files) {
            let sentences = treebank.sentences.get(split).copied().unwrap_or(0);
            let _ = writeln!(
                text,
                "          {split:<10} {:>7} sentences  {}",
                grouped(sentences as u64),
                file(input)
            );
        }
        text += &licence(&treebank.files);
    }
    for (name, encoder) in &sources.encoders {
        let _ = writeln!(text, "encoder   {name} ({}): {}", encoder.origin, counted(encoder.blocks, "block"));
        for (role, input) in &encoder.files {
            let _ = writeln!(text, "          {role:<10} {}", file(input));
        }
        text += &licence(&encoder.files);
        if !encoder.files.contains_key("weights") {
            text.push_str("          weights    drawn at random from the config and each cell's seed\n");
        }
    }
    text
}

/// A line with the licence that the files beside these state; empty if there is none.
fn licence(files: &Inputs) -> String {
    let folder = files.values().next().and_then(|input| Path::new(&input.path).parent());
    let found = folder.and_then(licence_of);
    found.map_or(String::new(), |found| {
        format!("          licence    {} ({})\n", found.name, found.files.join(", "))
    })
}

fn splits(files: &Inputs) -> impl Iterator<Item = (&'static str, &Input)> {
    ["train", "dev", "test"].into_iter().filter_map(|split| files.get(split).map(|input| (split, input)))
}

fn file(input: &Input) -> String {
    format!("{:>9}  sha256 {}  {}", bytes(input.bytes), &input.sha256[..12], input.path)
}

fn cells(study: &Study, costs: Option<&Costs>, out: &mut impl Write) -> io::Result<()> {
    for (number, settings) in study.grid.iter().enumerate() {
        let Settings { lang, policy, seed, .. } = &settings;
        let cost = costs.map_or_else(String::new, |costs| costs.of_cell(number));
        let (axes, own) = (axes(study, &settings), own(study, &settings));
        writeln!(out, "{:>4}  {lang} {policy} seed {seed}{axes}{own}{cost}", number + 1)?;
    }
    Ok(())
}

/// What a cell's policy and language have of their own, each after a space.
fn own(study: &Study, settings: &Settings) -> String {
    let of_policy = study.plan.own_of_policy(&settings.policy);
    let own = of_policy.into_iter().chain(study.plan.own_of_lang(&settings.lang));
    own.map(|(path, value)| format!(" {path}={value}")).collect()
}

/// A cell's values on the plan's axes other than language, policy and seed, each after a space.
pub(crate) fn axes(study: &Study, settings: &Settings) -> String {
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
