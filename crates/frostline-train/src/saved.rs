//! A run's state as bytes: parameters, the optimiser's moments, and the place in the data. A run that is
//! resumed from it ends as if it had never stopped, bit for bit. The caller writes and reads the file.

use std::collections::{BTreeMap, BTreeSet};

use frostline_model::Values;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde::{Deserialize, Serialize};

use crate::TrainError;
use crate::optimizer::SavedMoments;
use crate::progress::Progress;

/// A run's state, to be resumed.
#[derive(Clone, Debug)]
pub struct Saved {
    pub(crate) progress: Progress,
    pub(crate) model: BTreeMap<String, Values>,
    /// The best epoch's parameters so far, where a run asks for the best.
    pub(crate) best: BTreeMap<String, Values>,
    pub(crate) moments: BTreeMap<String, SavedMoments>,
}

impl Saved {
    /// Whether this is of a model with these parameters.
    ///
    /// # Errors
    /// Names a parameter that one of the two lacks, or whose moments are of another size.
    pub(crate) fn check<'a>(&self, paths: impl Iterator<Item = &'a String>) -> Result<(), TrainError> {
        let paths: BTreeSet<&String> = paths.collect();
        let fail = |reason: String| Err(TrainError::Checkpoint { reason });
        for values in [&self.model, &self.best].into_iter().filter(|values| !values.is_empty()) {
            let saved: BTreeSet<&String> = values.keys().collect();
            if let Some(path) = paths.symmetric_difference(&saved).next() {
                return fail(format!("it is of another model, since only one of the two has `{path}`"));
            }
        }
        for (path, (_, moments)) in &self.moments {
            let numbers = self.model.get(path).map(|values| values.data.len());
            if moments.iter().any(|moment| Some(moment.len()) != numbers) {
                return fail(format!("the moments of `{path}` are not of its size"));
            }
        }
        Ok(())
    }
}

/// What stands in the file's header.
#[derive(Serialize, Deserialize)]
struct Header {
    progress: Progress,
    /// Each parameter's steps.
    steps: BTreeMap<String, u64>,
    note: String,
}

const KEY: &str = "frostline";

impl Saved {
    /// Steps taken.
    #[must_use]
    pub fn step(&self) -> u64 {
        self.progress.step
    }

    /// A safetensors file that carries a note of the caller's.
    ///
    /// # Panics
    /// Never: shapes and sizes of the tensors agree.
    #[must_use]
    pub fn to_bytes(&self, note: &str) -> Vec<u8> {
        let steps = self.moments.iter().map(|(path, (steps, _))| (path.clone(), *steps)).collect();
        let header = Header { progress: self.progress.clone(), steps, note: note.into() };
        let header = serde_json::to_string(&header).expect("plain data always serialises");
        let mut tensors: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
        let bytes = |data: &[f32]| data.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
        for (kind, all) in [("model", &self.model), ("best", &self.best)] {
            for (path, Values { shape, data }) in all {
                tensors.push((format!("{kind}/{path}"), shape.clone(), bytes(data)));
            }
        }
        for (path, (_, moments)) in &self.moments {
            for (kind, data) in ["first", "second"].into_iter().zip(moments) {
                tensors.push((format!("{kind}/{path}"), vec![data.len()], bytes(data)));
            }
        }
        let views = tensors.iter().map(|(name, shape, bytes)| {
            (
                name,
                TensorView::new(Dtype::F32, shape.clone(), bytes).expect("as many bytes as its shape says"),
            )
        });
        safetensors::serialize(views, Some([(KEY.to_string(), header)].into())).expect("views are sound")
    }

    /// Reads what [`Saved::to_bytes`] wrote, and its note.
    ///
    /// # Errors
    /// Where the bytes are no such file.
    pub fn from_bytes(bytes: &[u8]) -> Result<(Self, String), TrainError> {
        let fail = |reason: String| TrainError::Checkpoint { reason };
        let file = SafeTensors::deserialize(bytes).map_err(|error| fail(error.to_string()))?;
        let (_, about) = SafeTensors::read_metadata(bytes).map_err(|error| fail(error.to_string()))?;
        let header = about.metadata().as_ref().and_then(|all| all.get(KEY)).cloned();
        let header = header.ok_or_else(|| fail("no run's checkpoint".into()))?;
        let header: Header = serde_json::from_str(&header).map_err(|error| fail(error.to_string()))?;
        let (mut model, mut best) = (BTreeMap::new(), BTreeMap::new());
        let mut moments: BTreeMap<String, SavedMoments> =
            header.steps.into_iter().map(|(path, steps)| (path, (steps, [vec![], vec![]]))).collect();
        for (name, view) in file.iter() {
            if view.dtype() != Dtype::F32 {
                return Err(fail(format!("the tensor `{name}` is {:?}, expected F32", view.dtype())));
            }
            let quads = view.data().as_chunks::<4>().0;
            let data: Vec<f32> = quads.iter().map(|quad| f32::from_le_bytes(*quad)).collect();
            let (kind, path) = name.split_once('/').ok_or_else(|| fail(format!("the tensor `{name}`")))?;
            match kind {
                "first" | "second" => {
                    let entry = moments.get_mut(path).ok_or_else(|| fail(format!("the tensor `{name}`")))?;
                    entry.1[usize::from(kind == "second")] = data;
                }
                "best" | "model" => {
                    let values = Values { shape: view.shape().to_vec(), data };
                    let into = if kind == "best" { &mut best } else { &mut model };
                    into.insert(path.into(), values);
                }
                _ => return Err(fail(format!("the tensor `{name}`"))),
            }
        }
        Ok((Self { progress: header.progress, model, best, moments }, header.note))
    }
}
