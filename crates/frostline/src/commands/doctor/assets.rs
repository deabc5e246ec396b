//! Disk, cache, encoders and treebanks: what is there, what is missing, and the command that gets it.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use frostline_assets::{AssetError, Places, embedded};
use frostline_files::{Space, can_write_into};
use frostline_record::Plan;
use frostline_sweep::BuiltIn;

use super::{print_fix, print_line};

/// The plan whose inputs are looked for: the study that most start with.
const PLAN: &str = "paper";

/// Less than this is little: its two treebanks, its encoder and some saved models.
const LITTLE: u64 = 4 << 30;

/// The most models of the shared cache that are listed.
const MOST_MODELS: usize = 10;

/// Every place and input.
pub(super) fn show_assets(out: &mut dyn Write, places: &Places) -> Result<()> {
    show_disk(out)?;
    show_cache(out, places.cache.as_deref())?;
    show_hub_models(out, places)?;
    for name in places.encoders() {
        let found = places.encoder(&name, true).map(drop);
        show_asset(out, "encoder", &name, found, places)?;
    }
    for name in places.datasets() {
        let found = places.dataset(&name).map(drop);
        show_asset(out, "dataset", &name, found, places)?;
    }
    show_missing_inputs(out, places)?;
    if places.models.is_none() || places.data.is_none() {
        print_line(out, "more", "--models DIR and --data DIR show yours")?;
    }
    Ok(())
}

/// Shows the current folder, into which a sweep writes by default.
fn show_disk(out: &mut dyn Write) -> Result<()> {
    let here = Path::new(".");
    let space = Space::of(here);
    let shown = space.map_or_else(|| "unknown".into(), format_space);
    if !can_write_into(here) {
        print_line(out, "disk", &format!("{shown} in the current folder, which cannot be written"))?;
        return print_fix(out, "go to a folder of yours, or give `frostline sweep` one with --out DIR");
    }
    print_line(out, "disk", &format!("{shown} in the current folder"))?;
    if space.is_some_and(|space| space.free < LITTLE) {
        print_fix(out, "give `frostline sweep` a folder on another disk with --out DIR")?;
    }
    Ok(())
}

fn show_cache(out: &mut dyn Write, cache: Option<&Path>) -> Result<()> {
    let Some(cache) = cache else {
        print_line(out, "cache", "none, since neither FROSTLINE_CACHE nor HOME is set")?;
        return print_fix(out, "export FROSTLINE_CACHE=DIR");
    };
    let place = cache.display();
    if !can_write_into(cache) {
        print_line(out, "cache", &format!("{place}: cannot be written"))?;
        return print_fix(out, "export FROSTLINE_CACHE=DIR, a folder that you may write");
    }
    if !cache.is_dir() {
        return print_line(out, "cache", &format!("{place}: empty; `frostline fetch` makes it"));
    }
    let space = Space::of(cache);
    let free = space.map_or_else(String::new, |space| format!(", {} there", format_space(space)));
    print_line(
        out,
        "cache",
        &format!("{place}: {} in it, can be written{free}", format_gib(folder_bytes(cache))),
    )?;
    if space.is_some_and(|space| space.free < LITTLE) {
        print_fix(out, "export FROSTLINE_CACHE=DIR, a folder on another disk")?;
    }
    Ok(())
}

/// The cache that is shared with `huggingface_hub`. Its models may be of any kind, so they are listed and not checked.
fn show_hub_models(out: &mut dyn Write, places: &Places) -> Result<()> {
    let models = places.hub_models();
    let Some(hub) = places.hub.as_deref().filter(|_| !models.is_empty()) else { return Ok(()) };
    let shown = models.iter().take(MOST_MODELS).cloned().collect::<Vec<_>>().join(", ");
    let more = models.len().saturating_sub(MOST_MODELS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    print_line(out, "hub", &format!("{}, shared with huggingface_hub: {shown}{more}", hub.display()))
}

/// `12.3 of 50.0 GiB free`.
fn format_space(space: Space) -> String {
    format!("{} of {} free", format_gib(space.free).trim_end_matches(" GiB"), format_gib(space.total))
}

fn format_gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

/// The bytes of all files below a folder; links are not followed.
fn folder_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => folder_bytes(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// One encoder or dataset, and how it becomes complete.
fn show_asset(
    out: &mut dyn Write,
    kind: &str,
    name: &str,
    found: std::result::Result<(), AssetError>,
    places: &Places,
) -> Result<()> {
    let Err(error) = found else { return print_line(out, kind, &format!("{name}: complete")) };
    print_line(out, kind, &format!("{name}: {error}"))?;
    if cached_folder(name, places).is_some() { print_fix(out, &fetch_hint(name, places)) } else { Ok(()) }
}

/// What the plan reads and no place has.
fn show_missing_inputs(out: &mut dyn Write, places: &Places) -> Result<()> {
    let Some(built_in) = BuiltIn::find(PLAN) else { return Ok(()) };
    let plan = Plan::parse(built_in.text, PLAN)?;
    let outside = |name: &String| !name.starts_with(embedded::PREFIX);
    let encoders: BTreeSet<String> =
        plan.cells()?.variants().map(|settings| settings.encoder.name).filter(outside).collect();
    let absent_encoders = encoders.into_iter().filter(|name| places.encoder(name, true).is_err());
    let datasets = plan.treebanks.values().filter(|name| outside(name));
    let absent_datasets = datasets.filter(|name| places.dataset(name).is_err()).cloned();
    let absent: Vec<String> = absent_datasets.chain(absent_encoders).collect();
    if absent.is_empty() {
        return print_line(out, "plan", &format!("{PLAN}: all that it reads is here"));
    }
    for name in &absent {
        print_line(out, "plan", &format!("{PLAN} reads {name}, which is not here, or not complete"))?;
        print_fix(out, &fetch_hint(name, places))?;
    }
    Ok(())
}

/// Returns the input's folder in the cache, if that is the one that is read: folders that were given come first.
fn cached_folder(name: &str, places: &Places) -> Option<PathBuf> {
    let cache = places.cache.as_deref()?;
    if [&places.data, &places.models].into_iter().flatten().any(|given| given.join(name).exists()) {
        return None;
    }
    ["treebanks", "encoders"]
        .map(|kind| cache.join(kind).join(name))
        .into_iter()
        .find(|folder| folder.is_dir())
}

/// Returns the command that downloads it, or the places in which a build that cannot download looks for it. What is
/// in the cache and not as it should be is not downloaded again while it is there.
fn fetch_hint(name: &str, places: &Places) -> String {
    let command = if cfg!(feature = "fetch") {
        format!("frostline fetch {name}")
    } else {
        "build with `--features fetch`, or give its folder with --models DIR or --data DIR".into()
    };
    match cached_folder(name, places) {
        Some(folder) => format!("delete {}, then: {command}", folder.display()),
        None => command,
    }
}
