//! Finds or computes the outputs of a cell's constant prefix, in a worker's memory or in a mapped file that
//! several workers share. This module defines the key of a prefix.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use frostline_files::claim::{Attempt, CLAIM, Claimant, Disk, LEASE, Owner, WorkClaim};
use frostline_files::{Identity, Writer};
use frostline_kernels::Kernels;
use frostline_model::Network;
use frostline_record::{
    Cell, DataSettings, Event, Init, PrefixEvent, PrefixPlace, PrefixState, PrefixUse, Settings, sha256,
};
use frostline_train::{Dataset, View, compute_prefix};

use crate::corpus::seed_chooses;
use crate::data::{CellData, TaskData};
use crate::prefix_rows::{KeptPrefixes, MappedRows, PrefixRows, PrefixValues};
use crate::stop;

/// Subwords per batch of filling: enough that nothing is lost on small products.
const FILL_TOKENS: usize = 4096;

/// The shortest time between two reports of how far a prefix is.
const PACE: Duration = Duration::from_millis(500);

/// A stage's splits above its constant prefix, or the whole splits if there is none to read.
pub(crate) struct Splits {
    blocks: usize,
    hidden: usize,
    /// Train, dev and test of each task.
    rows: Vec<[Option<Arc<PrefixRows>>; 3]>,
    /// How the prefix was obtained, for the record.
    pub used: PrefixUse,
}

impl Splits {
    /// Returns a task's split as the training loop wants it; 0 is train, 1 dev, 2 test.
    pub fn view<'a>(&'a self, data: &'a Dataset, task: usize, split: usize) -> View<'a> {
        let prefix = self.rows[task][split].as_ref().map(|rows| rows.prefix(self.blocks, self.hidden));
        View { data, prefix }
    }

    /// Checks that the rows read are still the computed ones.
    ///
    /// # Errors
    /// If a file was changed while it was read.
    pub fn check_unchanged(&self) -> Result<()> {
        check_unchanged(self.rows.iter().flatten().flatten())
    }
}

fn check_unchanged<'a>(mut rows: impl Iterator<Item = &'a Arc<PrefixRows>>) -> Result<()> {
    ensure!(
        rows.all(|rows| rows.is_unchanged()),
        "a file of the prefix cache was changed while the cell read it; run the sweep again"
    );
    Ok(())
}

/// A stage of a cell that may read its constant prefix.
pub(crate) struct PrefixRequest<'a> {
    pub cell: &'a Cell,
    /// The place of stored prefixes; `None` if none are kept.
    pub place: Option<&'a PrefixPlace>,
    /// Blocks of the prefix that nothing has changed and nothing will.
    pub constant: Option<usize>,
    /// The stage's.
    pub settings: &'a Settings,
    pub data: &'a CellData,
    /// The part of the machine on which bits depend, see [`crate::version`].
    pub machine: &'a str,
}

impl PrefixRequest<'_> {
    /// Finds or computes the cell's prefixes, if it has a constant one, and reports progress.
    ///
    /// # Errors
    /// If a file cannot be written or read.
    pub fn splits<B: Kernels>(
        &self,
        model: &Network<B>,
        kept: &mut KeptPrefixes,
        tell: &mut dyn FnMut(Event),
    ) -> Result<Splits> {
        let dropout = &self.settings.dropout;
        let state = match (self.constant, self.place) {
            (None, _) => PrefixState::None,
            _ if dropout.encoder.is_on() && dropout.frozen.is_on() => PrefixState::DropoutActs,
            (_, None) => PrefixState::SwitchedOff,
            _ => PrefixState::Shared,
        };
        let blocks = self.constant.unwrap_or(0);
        let used = PrefixUse { blocks: blocks as u32, state, fill_ms: 0.0 };
        let hidden = self.data.encoder.hidden;
        let none = || [None, None, None];
        let rows = self.data.tasks.iter().map(|_| none()).collect();
        let mut splits = Splits { blocks, hidden, rows, used };
        let (PrefixState::Shared, Some(place)) = (state, self.place) else {
            return Ok(splits);
        };
        let clock = Instant::now();
        let sets = || self.data.tasks.iter().flat_map(TaskData::splits).flatten();
        let mut progress = PrefixProgress {
            id: &self.cell.id,
            blocks: used.blocks,
            done: 0,
            of: sets().map(Dataset::subwords).sum(),
            reported: None,
            tell,
        };
        let (mut finished, limit, mut held) = (0, place.memory_mib << 20, 0);
        for (slots, task) in splits.rows.iter_mut().zip(&self.data.tasks) {
            for ((slot, role), set) in slots.iter_mut().zip(["train", "dev", "test"]).zip(task.splits()) {
                let Some(set) = set else { continue };
                let key = self.key(task, role, blocks)?;
                let rows = match kept.find(&key) {
                    Some(rows) => rows,
                    None => {
                        let mut fill = Fill { request: self, model, set, blocks, lower: None };
                        let fits = held + fill.bytes() <= limit;
                        if fits {
                            kept.make_room(limit - fill.bytes());
                        }
                        fill.lower = self.lower(task, role, blocks, kept)?;
                        let folder = (!fits).then_some(Path::new(&place.folder));
                        let (rows, computed) = fill.at(folder, &key, &mut progress)?;
                        if computed {
                            splits.used.state = PrefixState::Computed;
                        }
                        kept.keep(key, rows)
                    }
                };
                held += rows.bytes_in_memory();
                *slot = Some(rows);
                // Count the rows even if they were found and not computed.
                finished += set.subwords();
                progress.done = finished;
            }
        }
        splits.used.fill_ms = clock.elapsed().as_secs_f64() * 1e3;
        Ok(splits)
    }

    /// Returns the longest shorter prefix of a split in the cache, with its number of blocks, to start from.
    fn lower(
        &self,
        task: &TaskData,
        split: &str,
        blocks: usize,
        kept: &mut KeptPrefixes,
    ) -> Result<Option<(usize, Arc<PrefixRows>)>> {
        for lower in (0..blocks).rev() {
            if let Some(rows) = kept.find(&self.key(task, split, lower)?) {
                return Ok(Some((lower, rows)));
            }
        }
        Ok(None)
    }

    /// Hash of all that a split's prefix depends on.
    fn key(&self, task: &TaskData, split: &str, blocks: usize) -> Result<String> {
        let Cell { settings, inputs, backend, code, .. } = self.cell;
        let from_seed = settings.encoder.init == Init::Random;
        let dataset = settings.dataset_of(&task.settings);
        let input = |split: &str| inputs.get(&settings.role(dataset, split)).map(|input| &input.sha256);
        // The file that the split is, or is cut from, and how.
        let DataSettings { first, fraction, sample, draw, cut_test, cut_dev, train_from_dev, .. } =
            settings.data;
        let genres = (&settings.data.leave_out, &settings.data.scored_genre);
        let from_dev = input("train").is_none().then_some(train_from_dev);
        let cut = (cut_test > 0.0 || cut_dev > 0.0).then_some((cut_test, cut_dev));
        let (file, how, drawn) = match split {
            "train" => {
                let drawn = seed_chooses(&settings.data) || from_dev.is_some() || cut.is_some();
                let chosen = Some((first, fraction, sample, draw));
                (input("train").or(input("dev")), (chosen, from_dev, cut, split), drawn)
            }
            "dev" if cut_dev > 0.0 => (input("train"), (None, from_dev, cut, split), true),
            "dev" => (input("dev"), (None, from_dev, None, split), from_dev.is_some()),
            _ => match cut.filter(|_| cut_test > 0.0) {
                Some(_) => (input("train").or(input("dev")), (None, from_dev, cut, split), true),
                None => (input("test"), (None, None, None, ""), false),
            },
        };
        let scored = match split {
            "train" => 1.0,
            "dev" => settings.data.dev_fraction,
            _ => settings.data.test_fraction,
        };
        let chosen = (file, how, scored, drawn.then_some(settings.seed));
        let of_encoder = ["config", "tokenizer", "tokenizer-config", "vocabulary"];
        let read = inputs
            .iter()
            .filter(|(name, _)| of_encoder.contains(&name.as_str()) || name.starts_with("weights"));
        let files: Vec<_> = read.map(|(name, input)| (name, &input.sha256)).collect();
        let data = (settings.data.max_length, settings.data.lowercase, genres, chosen);
        let seed = from_seed.then_some(settings.seed);
        let text = serde_json::to_string(&(
            backend,
            code,
            self.machine,
            settings.train.precision,
            blocks,
            files,
            data,
            seed,
        ))?;
        Ok(sha256(text.as_bytes())[..32].to_string())
    }
}

/// One split's prefix, to be computed unless a file holds it already.
struct Fill<'a, 'r, B: Kernels> {
    request: &'a PrefixRequest<'r>,
    model: &'a Network<B>,
    set: &'a Dataset,
    blocks: usize,
    /// The output of fewer blocks, and their number.
    lower: Option<(usize, Arc<PrefixRows>)>,
}

impl<B: Kernels> Fill<'_, '_, B> {
    fn bytes(&self) -> u64 {
        4 * (self.set.subwords() * self.request.data.encoder.hidden) as u64
    }

    /// Returns the rows, in a file if there is a folder for it, and whether they were computed now.
    fn at(
        &self,
        folder: Option<&Path>,
        key: &str,
        progress: &mut PrefixProgress,
    ) -> Result<(Arc<PrefixRows>, bool)> {
        let (values, computed) = match folder {
            None => {
                let mut values = Vec::with_capacity((self.bytes() / 4) as usize);
                self.compute(progress, &mut |rows| {
                    values.extend_from_slice(rows);
                    Ok(())
                })?;
                (PrefixValues::Memory(values), true)
            }
            Some(folder) => {
                let (map, computed) = self.mapped(folder, key, progress)?;
                (PrefixValues::Mapped(map), computed)
            }
        };
        Ok((Arc::new(PrefixRows { values, starts: self.set.starts() }), computed))
    }

    /// Returns the file of this key, which one process writes under a claim while others wait. It is whole or
    /// absent: a crash leaves only a file with another name.
    fn mapped(&self, folder: &Path, key: &str, progress: &mut PrefixProgress) -> Result<(MappedRows, bool)> {
        let shown = || {
            format!(
                "{}: the prefix cache cannot be written; free some disk, or switch it off with prefix_cache.enabled = \"off\" in the plan",
                folder.display()
            )
        };
        frostline_files::create_own_folder(folder).with_context(shown)?;
        let path = folder.join(format!("{key}.f32"));
        let claimant = Claimant::new(Disk, Owner::this_process("frostline worker", LEASE));
        let (mut computed, mut waits) = (false, false);
        let mut damaged = None;
        loop {
            // A process that waits for the replacement of a damaged file reads it once.
            let now = Identity::of(&path).ok();
            if now.is_some() && now != damaged {
                if let Some(map) = self.map(&path, key).with_context(shown)? {
                    return Ok((map, computed));
                }
                damaged = now;
            }
            ensure!(!computed, "{}: differs from what was written; check the disk", path.display());
            match claimant.attempt(&folder.join(format!("{key}{CLAIM}"))).with_context(shown)? {
                Attempt::Claimed(claim, _) => {
                    let written = self.write(&path, key, &claimant, &claim, progress);
                    let released = claimant.release(&claim);
                    computed = written.with_context(shown)?;
                    released.with_context(shown)?;
                }
                Attempt::Busy(_) => {
                    if !std::mem::replace(&mut waits, true) {
                        progress.waits();
                    }
                    stop::end_if_asked();
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
        }
    }

    /// Returns the rows of a file; nothing if it is missing, damaged or another prefix's.
    fn map(&self, path: &Path, key: &str) -> Result<Option<MappedRows>> {
        if !path.exists() {
            return Ok(None);
        }
        let map = MappedRows::open(path, key)?.filter(|rows| rows.bytes() == self.bytes());
        if map.is_none() {
            tracing::warn!("{}: damaged, so it is computed again", path.display());
        }
        Ok(map)
    }

    /// Computes the file. Returns whether it is there now, unless another process has the claim and writes it.
    fn write(
        &self,
        path: &Path,
        key: &str,
        claimant: &Claimant<Disk>,
        claim: &WorkClaim,
        progress: &mut PrefixProgress,
    ) -> Result<bool> {
        // Another process may have written it since it was looked for.
        if self.map(path, key)?.is_some() {
            return Ok(false);
        }
        let mut out = Writer::create_sealed(path)?;
        let mut touched = Instant::now();
        self.compute(progress, &mut |rows| {
            if touched.elapsed() > LEASE / 6 {
                touched = Instant::now();
                // If it is lost, the end tells.
                let _ = claimant.keep(claim);
            }
            for value in rows {
                out.write_all(&value.to_ne_bytes())?;
            }
            Ok(())
        })?;
        out.write_all(key.as_bytes())?;
        // A file that others have mapped must not be replaced.
        if !claimant.keep(claim)? {
            return Ok(false);
        }
        out.finish()?;
        Ok(true)
    }

    fn compute(
        &self,
        progress: &mut PrefixProgress,
        take: &mut dyn FnMut(&[f32]) -> Result<()>,
    ) -> Result<()> {
        let PrefixRequest { data, settings, .. } = self.request;
        let mut settings = (*settings).clone();
        settings.eval.batch_tokens = FILL_TOKENS;
        progress.add(0);
        let mut take = |rows: &[f32]| {
            progress.add(rows.len() / data.encoder.hidden);
            take(rows)
        };
        let prefix = self.lower.as_ref().map(|(blocks, rows)| rows.prefix(*blocks, data.encoder.hidden));
        let view = View { data: self.set, prefix };
        compute_prefix(self.model, &data.encoder, view, self.blocks, &settings, &mut take)?;
        check_unchanged(self.lower.iter().map(|(_, rows)| rows))
    }
}

/// The progress of a cell's prefix, and the receiver of its reports.
struct PrefixProgress<'a> {
    id: &'a str,
    blocks: u32,
    /// Subwords whose prefix is there, of all.
    done: usize,
    of: usize,
    /// When it was reported last.
    reported: Option<Instant>,
    tell: &'a mut dyn FnMut(Event),
}

impl PrefixProgress<'_> {
    fn add(&mut self, subwords: usize) {
        self.done += subwords;
        if self.reported.is_none_or(|last| last.elapsed() >= PACE) {
            self.reported = Some(Instant::now());
            self.report(Some(self.done as f64 / self.of.max(1) as f64));
        }
    }

    fn waits(&mut self) {
        self.report(None);
    }

    fn report(&mut self, share: Option<f64>) {
        (self.tell)(Event::Prefix(PrefixEvent { id: self.id.into(), blocks: self.blocks, share }));
    }
}
