//! Written files are decoded again and checked as ONNX defines them. That the results are right is shown by
//! `tests/onnx/check.py`, which runs the files in onnxruntime.

use std::collections::{BTreeMap, HashMap, HashSet};

use frostline_kernels::Activation;
use frostline_model::{
    AdapterShape, EncoderConfig, Extras, Family, HeadKind, HeadShape, LoraShape, Matrix, RandomInit,
};
use prost::Message as _;
use serde_json::{Value as Json, json};

use crate::proto::{EXTERNAL, ModelProto, NodeProto, Size, TensorProto, ValueInfoProto};
use crate::{OnnxError, OnnxExport, OnnxModel};

const LABELS: usize = 5;

/// The operators of opset 17 that appear in files, with the number of inputs that each may have.
const OPERATORS: &[(&str, &[usize])] = &[
    ("Abs", &[1]),
    ("Add", &[2]),
    ("Cast", &[1]),
    ("Concat", &[2, 4]),
    ("CumSum", &[2]),
    ("DequantizeLinear", &[3]),
    ("Div", &[2]),
    ("DynamicQuantizeLinear", &[1]),
    ("Erf", &[1]),
    ("Expand", &[2]),
    ("Gather", &[2]),
    ("GatherElements", &[2]),
    ("Greater", &[2]),
    ("LayerNormalization", &[2, 3]),
    ("MatMul", &[2]),
    ("MatMulInteger", &[4]),
    ("Min", &[2]),
    ("Mul", &[2]),
    ("Pow", &[2]),
    ("Range", &[3]),
    ("ReduceMean", &[1]),
    ("Relu", &[1]),
    ("Reshape", &[2]),
    ("Shape", &[1]),
    ("Sigmoid", &[1]),
    ("Slice", &[4]),
    ("Softmax", &[1]),
    ("Sqrt", &[1]),
    ("Squeeze", &[1]),
    ("Sub", &[2]),
    ("Tanh", &[1]),
    ("Transpose", &[1]),
    ("Unsqueeze", &[2]),
    ("Where", &[3]),
];

/// Returns a small config of a `model_type` with these keys in addition.
fn config(model_type: &str, more: Json) -> EncoderConfig {
    let mut file = json!({
        "model_type": model_type, "vocab_size": 40, "hidden_size": 8, "num_hidden_layers": 3,
        "num_attention_heads": 2, "intermediate_size": 12, "max_position_embeddings": 30,
        "type_vocab_size": 2, "layer_norm_eps": 1e-5, "hidden_act": "gelu",
        "dim": 8, "n_layers": 3, "n_heads": 2, "hidden_dim": 12
    });
    file.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    EncoderConfig::parse(&file.to_string(), model_type).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns a config of each family, and of forms that a family may have.
fn configs() -> Vec<(String, EncoderConfig)> {
    let relative = json!({"relative_attention": true, "position_buckets": 8, "position_biased_input": false,
        "norm_rel_ebd": "layer_norm", "share_att_key": true, "pos_att_type": "p2c|c2p", "type_vocab_size": 0});
    let mut all: Vec<(String, EncoderConfig)> = Family::all()
        .flat_map(Family::model_types)
        .map(|name| {
            let more = if name == "deberta-v2" { relative.clone() } else { json!({}) };
            (name.to_string(), config(name, more))
        })
        .collect();
    let forms = [
        ("bert", json!({"hidden_act": "gelu_new"})),
        ("bert", json!({"hidden_act": "relu", "type_vocab_size": 0})),
        ("roberta", json!({"hidden_act": "silu", "type_vocab_size": 1})),
        ("electra", json!({"embedding_size": 4})),
        ("modernbert", json!({"local_attention": 4, "norm_bias": true, "mlp_bias": true})),
        ("eurobert", json!({"num_key_value_heads": 1})),
        ("deberta-v2", json!({"relative_attention": false})),
        ("albert", json!({"num_hidden_layers": 4, "num_hidden_groups": 2, "inner_group_num": 2})),
    ];
    all.extend(forms.map(|(name, more)| (format!("{name} {more}"), config(name, more))));
    all
}

fn export(config: &EncoderConfig, kind: HeadKind, of_sentences: bool) -> OnnxModel {
    let head = HeadShape { kind, ..HeadShape::linear(LABELS) };
    let weights = RandomInit::new(7, 0.3);
    OnnxExport { config, head: &head, of_sentences, weights: &weights }.model().expect("a model")
}

fn decode(model: &OnnxModel) -> ModelProto {
    let mut bytes = Vec::new();
    model.write(&mut bytes).expect("memory can be written");
    ModelProto::decode(&bytes[..]).expect("a model")
}

/// Checks a file by the rules of the format.
fn check_rules(name: &str, model: &ModelProto) {
    assert_eq!(model.ir_version, Some(8), "{name}");
    let sets: Vec<_> = model.opset_import.iter().map(|set| (set.domain.as_deref(), set.version)).collect();
    assert_eq!(sets, [(Some(""), Some(17))], "{name}");
    let graph = model.graph.as_ref().expect("a graph");
    let named = |value: &ValueInfoProto| value.name.clone().expect("a name");
    let mut known: HashSet<String> = HashSet::new();
    let constants = graph.initializer.iter().map(|tensor| tensor.name.clone().expect("a name"));
    for value in graph.input.iter().map(named).chain(constants) {
        assert!(known.insert(value.clone()), "{name}: two values `{value}`");
    }
    let (mut read, mut names) = (HashSet::new(), HashSet::new());
    for node in &graph.node {
        let operator = node.op_type.as_deref().expect("an operator");
        let (_, counts) =
            OPERATORS.iter().find(|(known, _)| *known == operator).unwrap_or_else(|| panic!("{operator}"));
        assert!(counts.contains(&node.input.len()), "{name}: {operator} with {} inputs", node.input.len());
        assert!(names.insert(&node.name), "{name}: two nodes {:?}", node.name);
        for input in &node.input {
            assert!(known.contains(input), "{name}: {:?} reads `{input}`, which is not there yet", node.name);
            read.insert(input.clone());
        }
        for output in &node.output {
            assert!(known.insert(output.clone()), "{name}: `{output}` is computed twice");
        }
        for attribute in &node.attribute {
            let fields =
                [(1, attribute.f.is_some()), (2, attribute.i.is_some()), (7, !attribute.ints.is_empty())];
            let there: Vec<i32> =
                fields.iter().filter(|(_, is_there)| *is_there).map(|(kind, _)| *kind).collect();
            assert_eq!(there, [attribute.r#type.expect("a type")], "{name}: {attribute:?}");
        }
    }
    for tensor in &graph.initializer {
        let width =
            [(1, 4), (3, 1), (6, 4), (7, 8)].into_iter().find(|(code, _)| tensor.data_type == Some(*code));
        let count: i64 = tensor.dims.iter().product();
        let bytes = tensor.raw_data.as_ref().map_or(0, Vec::len);
        assert_eq!(bytes as i64, count * width.expect("a known type").1, "{name}: {:?}", tensor.name);
    }
    let is_output = |value: &String| graph.output.iter().any(|output| output.name.as_ref() == Some(value));
    let unread = known.iter().filter(|value| !read.contains(*value) && !is_output(value));
    let unread: Vec<&String> = unread.filter(|value| !value.ends_with("_type_ids")).collect();
    assert!(unread.is_empty(), "{name}: nothing reads {unread:?}");
    let outputs: Vec<_> = graph.output.iter().map(named).collect();
    assert_eq!(outputs, ["logits"], "{name}");
    assert!(known.contains("logits"), "{name}");
}

/// Returns a value's dimensions as text.
fn dims(value: &ValueInfoProto) -> String {
    let tensor = value.r#type.as_ref().and_then(|kind| kind.tensor_type.as_ref()).expect("a tensor");
    let shape = tensor.shape.as_ref().expect("a shape");
    let text = |size: &Size| match size {
        Size::Value(number) => number.to_string(),
        Size::Parameter(name) => name.clone(),
    };
    let dims: Vec<String> = shape.dim.iter().map(|dim| text(dim.size.as_ref().expect("a size"))).collect();
    format!(
        "{} {} {}",
        value.name.as_deref().unwrap_or_default(),
        tensor.elem_type.unwrap_or(0),
        dims.join(",")
    )
}

/// Returns the number of nodes of each operator.
fn counts(model: &ModelProto) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for node in &model.graph.as_ref().expect("a graph").node {
        *counts.entry(node.op_type.as_deref().unwrap_or_default()).or_default() += 1;
    }
    counts
}

fn tensors(model: &ModelProto) -> HashMap<&str, &TensorProto> {
    let all = model.graph.as_ref().expect("a graph").initializer.iter();
    all.map(|tensor| (tensor.name.as_deref().unwrap_or_default(), tensor)).collect()
}

fn numbers(tensor: &TensorProto) -> Vec<f32> {
    let bytes = tensor.raw_data.as_ref().expect("values").as_chunks::<4>().0;
    bytes.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

#[test]
fn every_form_of_encoder_becomes_a_valid_file() {
    for (name, config) in configs() {
        let mut heads = vec![(HeadKind::Linear, false), (HeadKind::Linear, true)];
        heads.extend(config.family.sentence_head().map(|kind| (kind, true)));
        for (kind, of_sentences) in heads {
            let model = export(&config, kind, of_sentences);
            let name = format!("{name} {kind:?} {of_sentences}");
            check_rules(&name, &decode(&model));
            check_rules(&format!("{name}, int8"), &decode(&model.quantized()));
        }
    }
}

#[test]
fn every_parameter_is_in_the_file_once() {
    for (name, config) in configs() {
        let model = decode(&export(&config, HeadKind::Linear, false));
        let tensors = tensors(&model);
        for (path, shape) in config.parameters(&[HeadShape::linear(LABELS)]) {
            let path = path.replace("heads.0.", "head.");
            let found = tensors.get(path.as_str()).unwrap_or_else(|| panic!("{name}: no {path}"));
            let expected: Vec<i64> = shape.iter().map(|size| *size as i64).collect();
            assert_eq!(found.dims, expected, "{name}: {path}");
        }
    }
}

#[test]
fn inputs_and_outputs_have_the_names_and_sizes_that_loaders_expect() {
    let bert = config("bert", json!({}));
    let graph = decode(&export(&bert, HeadKind::Linear, false)).graph.expect("a graph");
    let inputs: Vec<String> = graph.input.iter().map(dims).collect();
    assert_eq!(
        inputs,
        [
            "input_ids 7 batch_size,sequence_length",
            "attention_mask 7 batch_size,sequence_length",
            "token_type_ids 7 batch_size,sequence_length"
        ]
    );
    assert_eq!(dims(&graph.output[0]), "logits 1 batch_size,sequence_length,5");
    let shapes: Vec<String> = graph.value_info.iter().map(dims).collect();
    assert_eq!(shapes.len(), 1 + bert.depth);
    assert!(shapes.iter().all(|shape| shape.ends_with(" 1 batch_size,sequence_length,8")), "{shapes:?}");
    let of_sentences = decode(&export(&bert, HeadKind::Pooler, true)).graph.expect("a graph");
    assert_eq!(dims(&of_sentences.output[0]), "logits 1 batch_size,5");
    // A single type of tokens is no input.
    let roberta = config("roberta", json!({"type_vocab_size": 1}));
    assert_eq!(decode(&export(&roberta, HeadKind::Linear, false)).graph.expect("a graph").input.len(), 2);
}

#[test]
fn the_description_decides_about_the_nodes_and_not_the_family() {
    let bert = config("bert", json!({}));
    let nodes = |config: &EncoderConfig| counts_of(config);
    let plain = nodes(&bert);
    assert_eq!((plain["LayerNormalization"], plain["Softmax"], plain["Erf"]), (7, 3, 3));
    let mut changed = bert.clone();
    changed.architecture = config("eurobert", json!({})).architecture;
    changed.token_types = 0;
    let own = config("eurobert", json!({}));
    assert_eq!(nodes(&changed), nodes(&EncoderConfig { family: bert.family, ..own }));
    let mut relu = bert.clone();
    relu.architecture.activation = Activation::Relu;
    assert_eq!((nodes(&relu).get("Erf"), nodes(&relu)["Relu"]), (None, 3));
    // Rotations and relative positions together: no family has both, and yet each part is written.
    let mut both = config(
        "deberta-v2",
        json!({"relative_attention": true, "position_buckets": 8,
        "share_att_key": true, "pos_att_type": "p2c|c2p"}),
    );
    both.architecture.rotary = own_rotations();
    let found = nodes(&both);
    assert_eq!((found["GatherElements"], found["Concat"]), (6, 7));
}

fn own_rotations() -> Option<frostline_model::RotaryBases> {
    config("modernbert", json!({})).architecture.rotary
}

fn counts_of(config: &EncoderConfig) -> BTreeMap<String, usize> {
    let model = decode(&export(config, HeadKind::Linear, false));
    counts(&model).into_iter().map(|(name, count)| (name.to_string(), count)).collect()
}

#[test]
fn int8_has_whole_numbers_within_half_a_step_of_each_weight() {
    for (name, config) in configs() {
        let model = export(&config, HeadKind::Linear, false);
        let (plain, whole) = (decode(&model), decode(&model.quantized()));
        let (before, after) = (tensors(&plain), tensors(&whole));
        let is_weight = |node: &&NodeProto| {
            node.op_type.as_deref() == Some("MatMul") && before.contains_key(node.input[1].as_str())
        };
        let graph = |model: &ModelProto| model.graph.clone().expect("a graph").node;
        let weighted = graph(&plain).iter().filter(is_weight).count();
        assert_eq!(counts(&whole)["MatMulInteger"], weighted, "{name}");
        assert_eq!(graph(&whole).iter().filter(is_weight).count(), 0, "{name}");
        for (path, tensor) in
            before.iter().filter(|(path, _)| path.ends_with(".weight") || path.ends_with(".word"))
        {
            assert!(!after.contains_key(path), "{name}: {path} is still there in f32");
            let (values, scales) = (numbers(tensor), numbers(after[format!("{path}_scale").as_str()]));
            let rounded = after[format!("{path}_quantized").as_str()].raw_data.as_ref().expect("values");
            for (at, (value, whole)) in values.iter().zip(rounded).enumerate() {
                let scale = scales[at % scales.len()];
                let far = (value - f32::from(*whole as i8) * scale).abs();
                assert!(far <= 0.5001 * scale, "{name}: {path}: {value} became {whole} of {scale}");
            }
        }
    }
}

#[test]
fn a_large_model_has_its_weights_in_a_second_file() {
    let config = config("bert", json!({"intermediate_size": 300}));
    let model = export(&config, HeadKind::Linear, false);
    let (mut file, mut data) = (Vec::new(), Vec::new());
    model.write_in_two(&mut file, "model.onnx_data", &mut data).expect("memory can be written");
    let (two, one) = (ModelProto::decode(&file[..]).expect("a model"), decode(&model));
    let whole = tensors(&one);
    let mut outside = 0;
    for (name, tensor) in tensors(&two) {
        let expected = whole[name].raw_data.as_ref().expect("values");
        if tensor.data_location != Some(EXTERNAL) {
            assert_eq!(tensor.raw_data.as_ref(), Some(expected), "{name}");
            continue;
        }
        outside += 1;
        let entry = |wanted: &str| {
            let found = tensor.external_data.iter().find(|entry| entry.key.as_deref() == Some(wanted));
            found.and_then(|entry| entry.value.clone()).unwrap_or_else(|| panic!("{name}: no {wanted}"))
        };
        let [start, length]: [usize; 2] =
            ["offset", "length"].map(|key| entry(key).parse().expect("a number"));
        assert_eq!((entry("location").as_str(), start % 4096), ("model.onnx_data", 0), "{name}");
        assert_eq!(&data[start..start + length], &expected[..], "{name}");
    }
    // In each block, two matrices and a bias are large enough; outside of them, the table of words.
    assert_eq!(outside, 3 * 3 + 1);
    assert!(model.weight_bytes() > 60_000);
}

#[test]
fn parts_that_a_policy_added_are_errors_that_name_them() {
    let lora = LoraShape {
        rank: 2,
        alpha: 4.0,
        matrices: vec![Matrix::Query],
        blocks: vec![0],
        normed_blocks: vec![],
    };
    let cases = [
        (Extras { lora: Some(lora), ..Extras::default() }, "LoRA matrices", "merge them"),
        (Extras { ia3: vec![0], ..Extras::default() }, "factors (IA3)", "merge them"),
        (
            Extras { adapters: Some(AdapterShape { size: 2, blocks: vec![0] }), ..Extras::default() },
            "adapters",
            "without them",
        ),
        (Extras { mix: true, ..Extras::default() }, "a mix of all blocks", "without them"),
    ];
    for (extras, part, advice) in cases {
        let config = EncoderConfig { extras, ..config("bert", json!({})) };
        let head = HeadShape::linear(LABELS);
        let weights = RandomInit::new(7, 0.3);
        let export = OnnxExport { config: &config, head: &head, of_sentences: false, weights: &weights };
        let error = export.model().map(drop).expect_err(part);
        assert!(matches!(error, OnnxError::Extra { .. }));
        let text = error.to_string();
        assert!(text.contains(part) && text.contains(advice), "{text}");
    }
}
