//! The values of a pickle.

use std::ops::Range;

use crate::DType;

/// A value. Text, bytes and nodes are positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PickleValue {
    /// `None`.
    None,
    /// A truth value.
    Bool(bool),
    /// An integer of at most 64 bits.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// Text, or bytes: a range of the pickle.
    Text(u32, u32),
    /// A value with parts.
    Node(u32),
    /// A value that no checkpoint needs, such as an integer of more than 64 bits.
    Other,
}

/// A value with parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// A list, a tuple or a set.
    List(Vec<PickleValue>),
    /// A dictionary.
    Dict(Vec<(PickleValue, PickleValue)>),
    /// A class or a function, by the ranges of its module and its name.
    Global(Range<usize>, Range<usize>),
    /// A storage.
    Storage(StorageId),
    /// A tensor.
    Tensor(TensorSpec),
    /// What another name would have made.
    Object {
        /// The class or the function.
        class: PickleValue,
        /// The arguments.
        args: PickleValue,
        /// The attributes; `Value::None` without any.
        state: PickleValue,
        /// Items, if it behaves as a dictionary.
        items: Vec<(PickleValue, PickleValue)>,
    },
}

/// The bytes of tensors that share memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StorageId {
    /// The key, such as `3` for the entry `data/3`.
    pub key: PickleValue,
    /// The type of the elements; `None` for bytes without a type.
    pub dtype: Option<DType>,
    /// The number of elements.
    pub count: u64,
}

/// A tensor's place in its storage.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TensorSpec {
    /// The node of the storage.
    pub storage: u32,
    /// The type of the elements.
    pub dtype: DType,
    /// The first element.
    pub offset: u64,
    /// The sizes of the dimensions.
    pub shape: Vec<u64>,
    /// Distances between elements.
    pub strides: Vec<u64>,
    /// Whether it is a `Parameter`.
    pub is_parameter: bool,
}

/// What a pickle contains.
#[derive(Debug)]
pub(crate) struct Pickle<'a> {
    pub bytes: &'a [u8],
    pub nodes: Vec<Node>,
    pub root: PickleValue,
    /// The number of bytes up to the end of the pickle.
    pub length: usize,
}

impl<'a> Pickle<'a> {
    /// Returns a value's parts.
    pub fn value_node(&self, value: PickleValue) -> Option<&Node> {
        match value {
            PickleValue::Node(place) => self.nodes.get(place as usize),
            _ => None,
        }
    }

    /// Returns a value as text.
    pub fn value_text(&self, value: PickleValue) -> Option<&'a str> {
        let PickleValue::Text(from, to) = value else { return None };
        self.bytes.get(from as usize..to as usize).and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    /// Returns the elements of a list or a tuple.
    pub fn value_list(&self, value: PickleValue) -> Option<&[PickleValue]> {
        match self.value_node(value) {
            Some(Node::List(items)) => Some(items),
            // `torch.Size` and other classes of tuples have one argument.
            Some(Node::Object { args, .. }) => match self.value_node(*args) {
                Some(Node::List(args)) if args.len() == 1 => match self.value_node(args[0]) {
                    Some(Node::List(items)) => Some(items),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the pairs of a dictionary or of an object that behaves as one.
    pub fn value_pairs(&self, value: PickleValue) -> Option<&[(PickleValue, PickleValue)]> {
        match self.value_node(value)? {
            Node::Dict(pairs) => Some(pairs),
            Node::Object { items, .. } if !items.is_empty() => Some(items),
            _ => None,
        }
    }

    /// Returns the value of a key of a dictionary, or of an attribute of an object.
    pub fn get(&self, value: PickleValue, key: &str) -> Option<PickleValue> {
        let find = |pairs: &[(PickleValue, PickleValue)]| {
            pairs.iter().rev().find(|(name, _)| self.value_text(*name) == Some(key)).map(|(_, value)| *value)
        };
        if let Some(found) = self.value_pairs(value).and_then(find) {
            return Some(found);
        }
        let state = match self.value_node(value)? {
            Node::Object { state, .. } => *state,
            _ => return None,
        };
        // A state is a dictionary, or a pair of dictionaries for classes with slots.
        match self.value_node(state)? {
            Node::Dict(pairs) => find(pairs),
            Node::List(states) => states.iter().filter_map(|state| self.value_pairs(*state)).find_map(find),
            _ => None,
        }
    }

    /// Returns the list of sizes, offsets or strides.
    pub fn value_sizes(&self, value: PickleValue) -> Option<Vec<u64>> {
        let one = |value: &PickleValue| match value {
            PickleValue::Int(number) => u64::try_from(*number).ok(),
            _ => None,
        };
        self.value_list(value)?.iter().map(one).collect()
    }

    /// Returns the full name of a class or a function.
    pub fn global_name(&self, value: PickleValue) -> Option<String> {
        let Some(Node::Global(module, name)) = self.value_node(value) else { return None };
        let text = |range: &Range<usize>| String::from_utf8_lossy(&self.bytes[range.clone()]).into_owned();
        Some(format!("{}.{}", text(module), text(name)))
    }
}
