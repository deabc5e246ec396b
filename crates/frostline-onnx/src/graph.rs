//! A graph under construction: nodes in the order of computation, and the constants that they read.

use std::collections::HashMap;

use crate::proto::{
    AttributeProto, DimensionProto, FLOAT_ATTRIBUTE, INT_ATTRIBUTE, INTS_ATTRIBUTE, NodeProto, Size,
    TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
};
use crate::tensor::{Data, Kind, Tensor};

/// The name of an input, a constant or the result of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Value(String);

/// The size of a dimension.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Dim {
    /// The number of sentences of a call.
    Batch,
    /// The number of positions of a call.
    Sequence,
    /// The same in every call.
    Fixed(usize),
}

/// Nodes, constants, inputs and outputs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub nodes: Vec<NodeProto>,
    pub tensors: Vec<Tensor>,
    pub inputs: Vec<ValueInfoProto>,
    pub outputs: Vec<ValueInfoProto>,
    /// Shapes of results that a reader of the file cannot infer.
    pub shapes: Vec<ValueInfoProto>,
    /// The number of results and constants that have a name, or begin with it.
    pub names: HashMap<String, usize>,
}

impl Graph {
    /// Adds an input.
    pub fn input(&mut self, name: &str, kind: Kind, dims: &[Dim]) -> Value {
        self.inputs.push(value_info(name, kind, dims));
        Value(name.into())
    }

    /// Adds a node with one result, which is named after its place in the model and the operator.
    pub fn node(
        &mut self,
        place: &str,
        operator: &str,
        inputs: &[&Value],
        attributes: &[AttributeProto],
    ) -> Value {
        let name = format!("{place}/{operator}");
        let name = match self.count(&name) {
            0 => name,
            before => format!("{name}_{before}"),
        };
        self.nodes.push(NodeProto {
            input: inputs.iter().map(|value| value.0.clone()).collect(),
            output: vec![name.clone()],
            name: Some(name.clone()),
            op_type: Some(operator.into()),
            attribute: attributes.to_vec(),
        });
        Value(name)
    }

    /// Adds a constant, unless there is one of this name.
    pub fn tensor(&mut self, name: &str, shape: &[usize], data: Data) -> Value {
        if self.count(name) == 0 {
            self.tensors.push(Tensor { name: name.into(), shape: shape.to_vec(), data });
        }
        Value(name.into())
    }

    /// Returns the constant of this name, if there is one.
    pub fn known(&self, name: &str) -> Option<Value> {
        self.names.contains_key(name).then(|| Value(name.into()))
    }

    /// Returns a constant number; the same number is stored once.
    pub fn number(&mut self, number: f32) -> Value {
        self.tensor(&format!("number/{number:e}"), &[], Data::F32(vec![number]))
    }

    /// Returns a constant list of integers, such as a shape or axes.
    pub fn list(&mut self, values: &[i64]) -> Value {
        let name: Vec<String> = values.iter().map(i64::to_string).collect();
        let name = format!("list/{}", name.join(","));
        self.tensor(&name, &[values.len()], Data::I64(values.to_vec()))
    }

    /// Returns a constant integer.
    pub fn integer(&mut self, value: i64) -> Value {
        self.tensor(&format!("integer/{value}"), &[], Data::I64(vec![value]))
    }

    /// Declares the shape of a result of type f32.
    pub fn declare(&mut self, value: &Value, dims: &[Dim]) {
        self.shapes.push(value_info(&value.0, Kind::F32, dims));
    }

    /// Makes the result of the last node an output of this name.
    pub fn output(&mut self, name: &str, dims: &[Dim]) {
        let last = self.nodes.last_mut().expect("a graph has nodes");
        last.output = vec![name.into()];
        self.outputs.push(value_info(name, Kind::F32, dims));
    }

    /// Returns how often a name was given before.
    fn count(&mut self, name: &str) -> usize {
        let count = self.names.entry(name.into()).or_default();
        *count += 1;
        *count - 1
    }
}

/// Returns an attribute that is an integer.
pub(crate) fn int(name: &str, value: i64) -> AttributeProto {
    let (name, r#type) = (Some(name.into()), Some(INT_ATTRIBUTE));
    AttributeProto { name, i: Some(value), r#type, ..AttributeProto::default() }
}

/// Returns an attribute that is a number.
pub(crate) fn float(name: &str, value: f32) -> AttributeProto {
    let (name, r#type) = (Some(name.into()), Some(FLOAT_ATTRIBUTE));
    AttributeProto { name, f: Some(value), r#type, ..AttributeProto::default() }
}

/// Returns an attribute that is a list of integers.
pub(crate) fn ints(name: &str, values: &[i64]) -> AttributeProto {
    let (name, r#type) = (Some(name.into()), Some(INTS_ATTRIBUTE));
    AttributeProto { name, ints: values.to_vec(), r#type, ..AttributeProto::default() }
}

fn value_info(name: &str, kind: Kind, dims: &[Dim]) -> ValueInfoProto {
    let dim = |dim: &Dim| {
        let size = match dim {
            Dim::Batch => Size::Parameter("batch_size".into()),
            Dim::Sequence => Size::Parameter("sequence_length".into()),
            Dim::Fixed(size) => Size::Value(*size as i64),
        };
        DimensionProto { size: Some(size) }
    };
    let shape = TensorShapeProto { dim: dims.iter().map(dim).collect() };
    let tensor_type = TensorTypeProto { elem_type: Some(kind.code()), shape: Some(shape) };
    let r#type = Some(TypeProto { tensor_type: Some(tensor_type) });
    ValueInfoProto { name: Some(name.into()), r#type }
}
