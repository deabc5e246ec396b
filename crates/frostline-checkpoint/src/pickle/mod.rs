//! A pickle machine that only builds data. It imports nothing and calls nothing: a name is kept as text, and a call of a name that
//! is not one of torch's own becomes an object with that name.
//!
//! Values are in one list and refer to each other by position, so that no depth of nesting can exhaust the stack.

mod calls;
mod machine;
mod value;

pub(crate) use machine::unpickle;
pub(crate) use value::{Node, Pickle, PickleValue, StorageId, TensorSpec};
