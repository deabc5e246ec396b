//! Numbers that kernels read: row numbers, labels, boundaries of sentences, identities of rows, hidden states.
//!
//! A processor reads them where they are. A device gets all numbers that were [shared](share) in one transfer, when it
//! first needs one of them.
// Where lists lie in a transfer matters to devices alone.
#![cfg_attr(not(feature = "gpu"), allow(dead_code))]

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A list of numbers below 2³²: rows of a table, labels.
#[derive(Clone)]
pub struct Index {
    values: Arc<[u32]>,
    place: ListPlace,
}

/// The identity of every row of a packed matrix, so that a row's dropout mask depends only on its
/// sentence and position.
#[derive(Clone)]
pub struct Rows {
    identities: Arc<[u64]>,
    place: ListPlace,
}

/// A matrix that comes with a batch, such as hidden states that were computed before. Whoever reads it takes the numbers.
pub struct Values {
    numbers: Numbers,
    shape: [usize; 2],
    place: ListPlace,
}

/// Numbers until they are taken.
type Numbers = Arc<Mutex<Vec<f32>>>;

/// Where a list lies among those that it is transferred with.
#[derive(Clone)]
pub(crate) struct ListPlace {
    together: Arc<Together>,
    number: usize,
}

/// Lists that are transferred together.
struct Together {
    lists: Vec<List>,
    /// What a device has of them.
    copy: OnceLock<Box<dyn Any + Send + Sync>>,
}

/// One of them.
#[derive(Clone)]
enum List {
    Index(Arc<[u32]>),
    Identities(Arc<[u64]>),
    Values(Numbers),
}

/// A list that shares its transfer with others.
pub enum Shared<'a> {
    /// Row numbers, labels or boundaries.
    Index(&'a mut Index),
    /// Identities.
    Rows(&'a mut Rows),
    /// A matrix.
    Values(&'a mut Values),
}

/// Lets a device receive all of these in one transfer.
pub fn share<'a>(lists: impl IntoIterator<Item = Shared<'a>>) {
    let lists: Vec<Shared<'a>> = lists.into_iter().collect();
    let together = Together::new(lists.iter().map(|list| match list {
        Shared::Index(index) => List::Index(index.values.clone()),
        Shared::Rows(rows) => List::Identities(rows.identities.clone()),
        Shared::Values(values) => List::Values(values.numbers.clone()),
    }));
    for (number, list) in lists.into_iter().enumerate() {
        let place = ListPlace { together: together.clone(), number };
        match list {
            Shared::Index(index) => index.place = place,
            Shared::Rows(rows) => rows.place = place,
            Shared::Values(values) => values.place = place,
        }
    }
}

impl Together {
    fn new(lists: impl Iterator<Item = List>) -> Arc<Self> {
        Arc::new(Self { lists: lists.collect(), copy: OnceLock::new() })
    }
}

impl ListPlace {
    fn alone(list: List) -> Self {
        Self { together: Together::new(std::iter::once(list)), number: 0 }
    }
}

impl From<Vec<u32>> for Index {
    fn from(values: Vec<u32>) -> Self {
        let values: Arc<[u32]> = values.into();
        Self { place: ListPlace::alone(List::Index(values.clone())), values }
    }
}

impl Deref for Index {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.values
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.values.fmt(f)
    }
}

impl Rows {
    /// Rows with these identities.
    #[must_use]
    pub fn new(identities: Vec<u64>) -> Self {
        let identities: Arc<[u64]> = identities.into();
        Self { place: ListPlace::alone(List::Identities(identities.clone())), identities }
    }

    /// The identities.
    #[must_use]
    pub fn identities(&self) -> &[u64] {
        &self.identities
    }

    /// The identities of some of the rows.
    #[must_use]
    pub fn select(&self, rows: &[u32]) -> Self {
        Self::new(rows.iter().map(|&row| self.identities[row as usize]).collect())
    }
}

impl PartialEq for Rows {
    fn eq(&self, other: &Self) -> bool {
        self.identities == other.identities
    }
}

impl Eq for Rows {}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.identities.fmt(f)
    }
}

impl Values {
    /// A matrix of these rows, one after the other.
    ///
    /// # Panics
    /// If there are not as many numbers as the shape says.
    #[must_use]
    pub fn new(numbers: Vec<f32>, shape: [usize; 2]) -> Self {
        assert_eq!(numbers.len(), shape[0] * shape[1], "the numbers of {shape:?}");
        let numbers: Numbers = Arc::new(Mutex::new(numbers));
        Self { place: ListPlace::alone(List::Values(numbers.clone())), numbers, shape }
    }

    /// Rows and columns.
    #[must_use]
    pub const fn shape(&self) -> [usize; 2] {
        self.shape
    }

    /// The numbers, without a copy.
    pub(crate) fn into_numbers(self) -> Vec<f32> {
        taken(&self.numbers)
    }
}

fn taken(numbers: &Numbers) -> Vec<f32> {
    std::mem::take(&mut numbers.lock().unwrap_or_else(PoisonError::into_inner))
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} numbers", self.shape)
    }
}

#[cfg(feature = "gpu")]
pub(crate) use device::{DeviceList, TransferLayout};

/// How a device sees the numbers.
#[cfg(feature = "gpu")]
mod device {
    use super::{Any, Index, List, ListPlace, Rows, Together, Values, taken};

    /// Lists start at multiples of so many numbers, since devices bind parts of a buffer at multiples of 256 bytes.
    const ALIGNED: usize = 64;

    /// The words of a transfer, and where in it each list lies.
    pub(crate) struct TransferLayout {
        /// All lists, one after the other. An index is followed by the order of its places: first all places of the
        /// smallest number, ascending, then those of the next one. An identity is two words, the low one first.
        pub words: Vec<u32>,
        /// The first word of each list, and of an index's order.
        starts: Vec<[usize; 2]>,
    }

    /// A list of numbers that a device can have.
    pub(crate) trait DeviceList {
        fn place(&self) -> &ListPlace;
        /// Words of the list.
        fn words(&self) -> usize;

        /// The device's copy of everything that is transferred with this list, made at the first call, and the first
        /// words of the list and of its order.
        fn on_device<T: Any + Send + Sync>(
            &self,
            transfer: impl FnOnce(TransferLayout) -> (T, Starts),
        ) -> (&T, [usize; 2]) {
            let ListPlace { together, number } = self.place();
            let copy = together.copy.get_or_init(|| Box::new(transfer(TransferLayout::of(together))));
            let (copy, starts) =
                copy.downcast_ref::<(T, Starts)>().expect("a process computes on one kind of device");
            (copy, starts[*number])
        }
    }

    /// The first words of each list and of its order.
    pub(crate) type Starts = Vec<[usize; 2]>;

    impl TransferLayout {
        fn of(together: &Together) -> Self {
            let (mut words, mut starts) = (Vec::new(), Vec::new());
            let mut push = |list: &mut dyn Iterator<Item = u32>| {
                let start = words.len();
                words.extend(list);
                words.resize(words.len().max(start + 1).next_multiple_of(ALIGNED), 0);
                start
            };
            for list in &together.lists {
                starts.push(match list {
                    List::Index(values) => {
                        let mut order: Vec<u32> = (0..values.len() as u32).collect();
                        order.sort_by_key(|&at| values[at as usize]);
                        [push(&mut values.iter().copied()), push(&mut order.into_iter())]
                    }
                    List::Identities(values) => {
                        let mut halves =
                            values.iter().flat_map(|&value| [value as u32, (value >> 32) as u32]);
                        [push(&mut halves); 2]
                    }
                    List::Values(numbers) => [push(&mut taken(numbers).into_iter().map(f32::to_bits)); 2],
                });
            }
            Self { words, starts }
        }

        /// The words and the places of the lists.
        pub fn into_parts(self) -> (Vec<u32>, Starts) {
            (self.words, self.starts)
        }
    }

    impl DeviceList for Index {
        fn place(&self) -> &ListPlace {
            &self.place
        }

        fn words(&self) -> usize {
            self.len()
        }
    }

    impl DeviceList for Values {
        fn place(&self) -> &ListPlace {
            &self.place
        }

        fn words(&self) -> usize {
            self.shape[0] * self.shape[1]
        }
    }

    impl DeviceList for Rows {
        fn place(&self) -> &ListPlace {
            &self.place
        }

        fn words(&self) -> usize {
            2 * self.identities.len()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_lists_keep_their_numbers_and_one_place() {
        let (mut index, mut rows) = (Index::from(vec![3, 1, 2]), Rows::new(vec![1 << 40, 7]));
        share([Shared::Index(&mut index), Shared::Rows(&mut rows)]);
        assert_eq!(&*index, [3, 1, 2]);
        assert_eq!(rows.identities(), [1 << 40, 7]);
        assert!(Arc::ptr_eq(&index.place.together, &rows.place.together));
        assert_eq!((index.place.number, rows.place.number), (0, 1));
    }

    #[test]
    fn a_matrix_is_read_once() {
        let mut values = Values::new(vec![1.0, 2.0], [1, 2]);
        share([Shared::Values(&mut values)]);
        assert_eq!(values.shape(), [1, 2]);
        assert_eq!(values.into_numbers(), [1.0, 2.0]);
    }

    #[cfg(feature = "gpu")]
    #[test]
    fn a_transfer_has_each_list_at_a_place_that_can_be_bound() {
        let (mut index, mut rows) = (Index::from(vec![3, 1, 3, 2]), Rows::new(vec![5 + (1 << 32)]));
        let mut values = Values::new(vec![1.5], [1, 1]);
        share([Shared::Index(&mut index), Shared::Rows(&mut rows), Shared::Values(&mut values)]);
        let (words, [start, order]) = index.on_device(TransferLayout::into_parts);
        assert_eq!(words[start..start + 4], [3, 1, 3, 2]);
        assert_eq!(words[order..order + 4], [1, 3, 0, 2]);
        let (again, [start, _]) = rows.on_device::<Vec<u32>>(|_| unreachable!("there is one transfer"));
        assert_eq!(again[start..start + 2], [5, 1]);
        let (again, [place, _]) = values.on_device::<Vec<u32>>(|_| unreachable!("there is one transfer"));
        assert_eq!((again[place], place % 64), (1.5f32.to_bits(), 0));
        assert!([start, order].iter().all(|start| start % 64 == 0));
    }
}
