//! Dynamic int8: weights of linear layers and tables of embeddings as whole numbers, activations rounded while they are computed.
//!
//! The nodes are those that onnxruntime's `quantize_dynamic` makes: a `MatMul` with a weight becomes `DynamicQuantizeLinear` of its
//! input, `MatMulInteger`, and a product with both scales; a `Gather` of a table becomes a `Gather` of whole numbers and
//! `DequantizeLinear`.

use std::collections::{HashMap, HashSet};

use crate::graph::{Graph, int};
use crate::model::OnnxModel;
use crate::proto::{AttributeProto, NodeProto};
use crate::tensor::{Data, Kind, Tensor};

/// The largest whole number of a weight. Two products of it with activations of 8 bits fit into 16 bits, in which processors
/// without VNNI add them; with 127 they would not, and results would be cut off.
const LARGEST_WEIGHT: f32 = 64.0;

/// The largest whole number of an embedding, which is multiplied by its scale alone.
const LARGEST_EMBEDDING: f32 = 127.0;

impl OnnxModel {
    /// Returns the same model in dynamic int8. Its results differ from those in f32: compare them before you use it.
    #[must_use]
    pub fn quantized(&self) -> Self {
        let Graph { nodes, tensors, inputs, outputs, shapes, .. } = &self.graph;
        let matrices: HashMap<&str, &Tensor> = tensors
            .iter()
            .filter(|tensor| tensor.data.kind() == Kind::F32 && tensor.shape.len() == 2)
            .map(|tensor| (tensor.name.as_str(), tensor))
            .collect();
        let mut pass = Pass::default();
        for node in nodes {
            let weight = match node.op_type.as_deref() {
                Some("MatMul") => matrices.get(node.input[1].as_str()),
                Some("Gather") => matrices.get(node.input[0].as_str()),
                _ => None,
            };
            match (weight, node.op_type.as_deref()) {
                (Some(weight), Some("MatMul")) => pass.multiply(node, weight),
                (Some(table), _) => pass.look_up(node, table),
                (None, _) => pass.nodes.push(node.clone()),
            }
        }
        let kept = tensors.iter().filter(|tensor| pass.is_read(&tensor.name));
        let tensors = kept.cloned().chain(pass.tensors.iter().cloned()).collect();
        let (inputs, outputs, shapes) = (inputs.clone(), outputs.clone(), shapes.clone());
        Self { graph: Graph { nodes: pass.nodes, tensors, inputs, outputs, shapes, ..Graph::default() } }
    }
}

/// The new nodes and constants.
#[derive(Default)]
struct Pass {
    nodes: Vec<NodeProto>,
    tensors: Vec<Tensor>,
    /// Results and constants that are whole numbers already.
    done: HashSet<String>,
}

impl Pass {
    /// Adds the product of a result and a weight.
    fn multiply(&mut self, node: &NodeProto, weight: &Tensor) {
        let (x, y) = (&node.input[0], &node.output[0]);
        let names = |name: &str| ["quantized", "scale", "zero_point"].map(|part| format!("{name}_{part}"));
        let ([rows, scale, zero], [whole, weight_scale, weight_zero]) = (names(x), names(&weight.name));
        if self.done.insert(x.clone()) {
            let outputs = [rows.clone(), scale.clone(), zero.clone()];
            self.add("DynamicQuantizeLinear", [x.clone()], outputs, vec![]);
        }
        if self.done.insert(weight.name.clone()) {
            self.tensors.extend(round_columns(weight, [&whole, &weight_scale, &weight_zero]));
        }
        let [sum, number, scales] =
            ["output_quantized", "cast_output", "scales_mul"].map(|part| format!("{y}_{part}"));
        self.add("MatMulInteger", [rows, whole, zero, weight_zero], [sum.clone()], vec![]);
        let to = int("to", i64::from(Kind::F32.code()));
        self.add("Cast", [sum], [number.clone()], vec![to]);
        self.add("Mul", [scale, weight_scale], [scales.clone()], vec![]);
        self.add("Mul", [number, scales], [y.clone()], vec![]);
    }

    /// Adds rows of a table.
    fn look_up(&mut self, node: &NodeProto, table: &Tensor) {
        let [whole, scale, zero] =
            ["quantized", "scale", "zero_point"].map(|part| format!("{}_{part}", table.name));
        if self.done.insert(table.name.clone()) {
            self.tensors.extend(round_table(table, [&whole, &scale, &zero]));
        }
        let y = &node.output[0];
        let rows = format!("{y}_quantized");
        self.add("Gather", [whole, node.input[1].clone()], [rows.clone()], node.attribute.clone());
        self.add("DequantizeLinear", [rows, scale, zero], [y.clone()], vec![]);
    }

    /// Adds a node, which is named after its first result.
    fn add<const I: usize, const O: usize>(
        &mut self,
        operator: &str,
        input: [String; I],
        output: [String; O],
        attribute: Vec<AttributeProto>,
    ) {
        let name = Some(format!("{}/{operator}", output[0]));
        let (input, output) = (input.into(), output.into());
        self.nodes.push(NodeProto { input, output, name, op_type: Some(operator.into()), attribute });
    }

    fn is_read(&self, name: &str) -> bool {
        self.nodes.iter().any(|node| node.input.iter().any(|input| input == name))
    }
}

/// Returns a weight as whole numbers, and the scale and the zero of each column.
fn round_columns(weight: &Tensor, [whole, scale, zero]: [&str; 3]) -> [Tensor; 3] {
    let Data::F32(values) = &weight.data else { unreachable!("only f32 is rounded") };
    let columns = weight.shape[1];
    let mut largest = vec![0f32; columns];
    for row in values.chunks_exact(columns) {
        largest.iter_mut().zip(row).for_each(|(most, value)| *most = most.max(value.abs()));
    }
    let scales: Vec<f32> = largest.iter().map(|most| scale_of(*most, LARGEST_WEIGHT)).collect();
    let round = |row: &[f32]| {
        row.iter()
            .zip(&scales)
            .map(|(value, scale)| (value / scale).round_ties_even() as i8)
            .collect::<Vec<i8>>()
    };
    let rounded = values.chunks_exact(columns).flat_map(round).collect();
    [
        Tensor { name: whole.into(), shape: weight.shape.clone(), data: Data::I8(rounded) },
        Tensor { name: scale.into(), shape: vec![columns], data: Data::F32(scales) },
        Tensor { name: zero.into(), shape: vec![columns], data: Data::I8(vec![0; columns]) },
    ]
}

/// Returns a table as whole numbers, and the scale and the zero of all of it.
fn round_table(table: &Tensor, [whole, scale, zero]: [&str; 3]) -> [Tensor; 3] {
    let Data::F32(values) = &table.data else { unreachable!("only f32 is rounded") };
    let factor = scale_of(values.iter().fold(0f32, |most, value| most.max(value.abs())), LARGEST_EMBEDDING);
    let rounded = values.iter().map(|value| (value / factor).round_ties_even() as i8).collect();
    [
        Tensor { name: whole.into(), shape: table.shape.clone(), data: Data::I8(rounded) },
        Tensor { name: scale.into(), shape: vec![], data: Data::F32(vec![factor]) },
        Tensor { name: zero.into(), shape: vec![], data: Data::I8(vec![0]) },
    ]
}

/// Returns the factor from whole numbers to values.
fn scale_of(largest: f32, most: f32) -> f32 {
    if largest > 0.0 { largest / most } else { 1.0 }
}
