//! A whole model: its graph, and how it becomes a file, or two if it is large.

use std::io::{self, Write};

use prost::Message as _;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};

use crate::graph::Graph;
use crate::proto::{
    EXTERNAL, GraphProto, IR_VERSION, ModelProto, OPSET, OperatorSetIdProto, StringStringEntryProto,
    TensorProto,
};
use crate::tensor::Tensor;

/// The largest file whose weights are inside it: messages of protocol buffers end at 2 GiB, and some room is left for the nodes.
///
/// # Units
/// Bytes.
pub const MOST_INSIDE: u64 = (1 << 31) - (64 << 20);

/// Smaller tensors stay inside the file, since runtimes read shapes and axes while they prepare the graph.
///
/// # Units
/// Bytes.
const LEAST_OUTSIDE: usize = 1024;

/// Each tensor in the second file begins at a multiple of this, so that the file can be mapped.
///
/// # Units
/// Bytes.
const ALIGNMENT: u64 = 4096;

/// The number of the field of the graph in a model, of a tensor in a graph, and of values in a tensor.
const GRAPH: u32 = 7;
const INITIALIZER: u32 = 5;
const RAW_DATA: u32 = 9;

/// A model in ONNX's format.
#[derive(Clone, Debug)]
pub struct OnnxModel {
    pub(crate) graph: Graph,
}

impl OnnxModel {
    /// Returns the size of all constants.
    ///
    /// # Units
    /// Bytes.
    #[must_use]
    pub fn weight_bytes(&self) -> u64 {
        self.graph.tensors.iter().map(|tensor| tensor.bytes() as u64).sum()
    }

    /// Writes a file with everything in it, of at most 2 GiB.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_file(out, |_| None)
    }

    /// Writes a model whose large tensors are in a second file, which has this name and is in the same folder.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write_in_two(&self, out: &mut dyn Write, name: &str, data: &mut dyn Write) -> io::Result<()> {
        let mut end = 0u64;
        let mut places = Vec::new();
        for tensor in &self.graph.tensors {
            let start = end.next_multiple_of(ALIGNMENT);
            let is_outside = tensor.bytes() >= LEAST_OUTSIDE;
            if is_outside {
                data.write_all(&vec![0; (start - end) as usize])?;
                tensor.write_values(data)?;
                end = start + tensor.bytes() as u64;
            }
            places.push(is_outside.then_some(start));
        }
        let place = |number: usize| places[number].map(|start| (name, start));
        self.write_file(out, place)
    }

    /// Writes the model's file. `place` returns the file's name and the first byte of a tensor that is in another file. Tensors
    /// are written one by one, so that no second copy of the weights is in memory.
    fn write_file<'a>(
        &self,
        out: &mut dyn Write,
        place: impl Fn(usize) -> Option<(&'a str, u64)>,
    ) -> io::Result<()> {
        let Graph { nodes, tensors, inputs, outputs, shapes, .. } = &self.graph;
        let graph = GraphProto {
            node: nodes.clone(),
            name: Some("frostline".into()),
            initializer: Vec::new(),
            input: inputs.clone(),
            output: outputs.clone(),
            value_info: shapes.clone(),
        };
        let model = ModelProto {
            ir_version: Some(IR_VERSION),
            producer_name: Some("frostline".into()),
            producer_version: Some(env!("CARGO_PKG_VERSION").into()),
            graph: None,
            opset_import: vec![OperatorSetIdProto { domain: Some(String::new()), version: Some(OPSET) }],
        };
        let heads: Vec<TensorHead> = tensors
            .iter()
            .enumerate()
            .map(|(number, tensor)| TensorHead::new(tensor, place(number)))
            .collect();
        let nodes = graph.encode_to_vec();
        let size = nodes.len() as u64 + heads.iter().map(TensorHead::field_bytes).sum::<u64>();
        let mut start = model.encode_to_vec();
        encode_key(GRAPH, WireType::LengthDelimited, &mut start);
        encode_varint(size, &mut start);
        out.write_all(&start)?;
        out.write_all(&nodes)?;
        for (head, tensor) in heads.iter().zip(tensors) {
            out.write_all(&head.field)?;
            if head.values > 0 {
                tensor.write_values(out)?;
            }
        }
        Ok(())
    }
}

/// A tensor's bytes in the graph's message before its values.
struct TensorHead {
    field: Vec<u8>,
    /// The number of bytes of the values that follow; 0 if they are in another file.
    values: u64,
}

impl TensorHead {
    fn new(tensor: &Tensor, place: Option<(&str, u64)>) -> Self {
        let entry = |(key, value): (&str, String)| StringStringEntryProto {
            key: Some(key.into()),
            value: Some(value),
        };
        let outside = place.map(|(name, start)| {
            let length = tensor.bytes().to_string();
            [("location", name.to_string()), ("offset", start.to_string()), ("length", length)].map(entry)
        });
        let message = TensorProto {
            dims: tensor.shape.iter().map(|size| *size as i64).collect(),
            data_type: Some(tensor.data.kind().code()),
            name: Some(tensor.name.clone()),
            raw_data: None,
            data_location: outside.is_some().then_some(EXTERNAL),
            external_data: outside.into_iter().flatten().collect(),
        };
        let mut inside = message.encode_to_vec();
        let values = if place.is_some() { 0 } else { tensor.bytes() as u64 };
        if place.is_none() {
            encode_key(RAW_DATA, WireType::LengthDelimited, &mut inside);
            encode_varint(values, &mut inside);
        }
        let mut field = Vec::with_capacity(inside.len() + 2 + encoded_len_varint(values));
        encode_key(INITIALIZER, WireType::LengthDelimited, &mut field);
        encode_varint(inside.len() as u64 + values, &mut field);
        field.extend(inside);
        Self { field, values }
    }

    /// Returns the size of the whole field, values included.
    fn field_bytes(&self) -> u64 {
        self.field.len() as u64 + self.values
    }
}
