//! Mutations that keep an input well-formed, so that more than a parser's first line is reached. The engine mixes them
//! with mutations of bytes.

use serde_json::{Map, Value, json};

use crate::InputShape;

/// SplitMix64: the same on every platform.
struct MutationDraw(u64);

impl MutationDraw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn draw_below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn draw_from<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.draw_below(all.len())]
    }
}

/// Values of a column or after an equals sign.
const WORDS: [&str; 40] = [
    "",
    "_",
    "0",
    "1",
    "-1",
    "1-2",
    "0.1",
    "4294967296",
    "9223372036854775807",
    "18446744073709551616",
    "1e308",
    "-0.0",
    "nan",
    "inf",
    "true",
    "[]",
    "[1, 2]",
    "['a', 'b']",
    "{}",
    "''",
    "\"\\u0000\"",
    "none",
    "all",
    "first-4",
    "subsets",
    "blocks-0.3",
    "none+lora",
    "NOUN",
    "B-LOC",
    "I-LOC",
    "O",
    "Case=Nom|Case=Nom",
    "0:root",
    "1:conj:and",
    "SpaceAfter=No",
    "# sent_id = s",
    "ambiguous",
    "unknown",
    "\u{feff}",
    "é日\u{301}",
];

/// Texts for strings of JSON.
const TEXTS: [&str; 24] = [
    "",
    "a",
    "dev",
    "test",
    "none",
    "all",
    "../x",
    "a/b",
    "/",
    "..",
    "\0",
    "é日本",
    "[UNK]",
    "WordPiece",
    "BPE",
    "Unigram",
    "Sequence",
    "Replace",
    "ByteLevel",
    "Whitespace",
    "F32",
    "Regex",
    "(a*)*b",
    "\u{10ffff}",
];

/// Returns an input like this one, or nothing if it has not the shape.
#[must_use]
pub fn mutate_input(shape: InputShape, data: &[u8], seed: u32) -> Option<Vec<u8>> {
    let mut draw = MutationDraw(u64::from(seed));
    match shape {
        InputShape::Rows => mutate_lines(data, &mut draw, '\t'),
        InputShape::Text => mutate_lines(data, &mut draw, '='),
        InputShape::Json => json_text(data, &mut draw),
        InputShape::JsonLines => json_lines(data, &mut draw),
        InputShape::Archive => mutate_archive(data, &mut draw),
        InputShape::Commands => Some(mutate_commands(data, &mut draw)),
        InputShape::Tensors => mutate_tensors(data, &mut draw),
    }
}

/// Commands of pickles, with arguments that test limits.
const COMMANDS: [&[u8]; 24] = [
    b"(",
    b"t",
    b"]",
    b"}",
    b"a",
    b"e",
    b"s",
    b"u",
    b"R",
    b"b",
    b"0",
    b"2",
    b"Q",
    b"N",
    b"\x85",
    b"\x87",
    b"\x94",
    b"h\x00",
    b"q\x00",
    b"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"J\xff\xff\xff\xff",
    b"ccollections\nOrderedDict\n",
    b"ctorch._utils\n_rebuild_tensor_v2\n",
    b"cos\nsystem\n",
];

/// Inserts, copies, moves or removes pieces of a pickle.
fn mutate_commands(data: &[u8], draw: &mut MutationDraw) -> Vec<u8> {
    let mut data = data.to_vec();
    for _ in 0..1 + draw.draw_below(3) {
        let at = draw.draw_below(data.len() + 1);
        let end = (at + draw.draw_below(24)).min(data.len());
        match draw.draw_below(4) {
            0 => drop(data.drain(at..end)),
            1 => {
                let piece = data[at..end].to_vec();
                let to = draw.draw_below(data.len() + 1);
                data.splice(to..to, piece);
            }
            _ => {
                let command = draw.draw_from(&COMMANDS).to_vec();
                data.splice(at..at, command);
            }
        }
    }
    data
}

/// Changes lines, or parts of a line between separators.
fn mutate_lines(data: &[u8], draw: &mut MutationDraw, separator: char) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(data).ok()?;
    let mut lines: Vec<String> = text.split('\n').map(String::from).collect();
    for _ in 0..1 + draw.draw_below(3) {
        let at = draw.draw_below(lines.len());
        match draw.draw_below(8) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => {
                let other = draw.draw_below(lines.len());
                lines.swap(at, other);
            }
            3 => lines.insert(at, String::new()),
            _ => lines[at] = mutate_columns(&lines[at], draw, separator),
        }
        if lines.is_empty() {
            lines.push(String::new());
        }
    }
    Some(lines.join("\n").into_bytes())
}

fn mutate_columns(line: &str, draw: &mut MutationDraw, separator: char) -> String {
    let mut columns: Vec<String> = line.split(separator).map(String::from).collect();
    let at = draw.draw_below(columns.len());
    match draw.draw_below(6) {
        0 => columns.insert(at, columns[at].clone()),
        1 if columns.len() > 1 => drop(columns.remove(at)),
        2 => {
            let other = draw.draw_below(columns.len());
            columns.swap(at, other);
        }
        _ => columns[at] = format!("{}{}", if separator == '=' { " " } else { "" }, draw.draw_from(&WORDS)),
    }
    columns.join(&separator.to_string())
}

fn json_text(data: &[u8], draw: &mut MutationDraw) -> Option<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(data).ok()?;
    for _ in 0..1 + draw.draw_below(3) {
        change_node(&mut value, draw);
    }
    serde_json::to_vec(&value).ok()
}

/// Changes one of several documents, or their order.
fn json_lines(data: &[u8], draw: &mut MutationDraw) -> Option<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = data.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let (at, other) = (draw.draw_below(lines.len()), draw.draw_below(lines.len()));
    match draw.draw_below(8) {
        0 => lines.swap(at, other),
        1 => lines.insert(at, lines[other].clone()),
        2 => drop(lines.remove(at)),
        _ => lines[at] = json_text(&lines[at], draw)?,
    }
    Some(lines.join(&b'\n'))
}

/// A header of an archive.
struct TensorHeader {
    signature: [u8; 4],
    /// The places of its fields after the beginning of the signature, with their sizes, in bytes.
    fields: &'static [(usize, usize)],
}

/// The header of an entry in the list.
const LISTED: [u8; 4] = *b"PK\x01\x02";

/// The header before an entry, in the list, and of the list's end, with 64 bits and without.
const HEADERS: [TensorHeader; 4] = [
    TensorHeader {
        signature: *b"PK\x03\x04",
        fields: &[(6, 2), (8, 2), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2)],
    },
    TensorHeader {
        signature: LISTED,
        fields: &[
            (4, 2),
            (8, 2),
            (10, 2),
            (16, 4),
            (20, 4),
            (24, 4),
            (28, 2),
            (30, 2),
            (32, 2),
            (38, 4),
            (42, 4),
        ],
    },
    TensorHeader { signature: *b"PK\x06\x06", fields: &[(4, 8), (24, 8), (32, 8), (40, 8), (48, 8)] },
    TensorHeader { signature: *b"PK\x05\x06", fields: &[(4, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2)] },
];

/// Parts of names that lead outside, are hidden, or belong to datasets.
const NAME_PARTS: [&[u8]; 8] = [b"../", b"/", b"\\", b".", b"\0", b"README", b".conllu", b".tsv"];

/// Changes a field of an entry, a name, or which entries the list has.
fn mutate_archive(data: &[u8], draw: &mut MutationDraw) -> Option<Vec<u8>> {
    let mut out = data.to_vec();
    for _ in 0..1 + draw.draw_below(2) {
        let header = |at: usize| HEADERS.iter().find(|header| out[at..].starts_with(&header.signature));
        let headers: Vec<(usize, &TensorHeader)> =
            (0..out.len()).filter_map(|at| Some((at, header(at)?))).collect();
        if headers.is_empty() {
            return None;
        }
        let (place, TensorHeader { signature, fields }) = *draw.draw_from(&headers);
        if *signature == LISTED && draw.draw_below(2) == 0 {
            // The name in the list alone counts.
            let length = out
                .get(place + 28..place + 30)
                .map(|two| usize::from(u16::from_le_bytes([two[0], two[1]])))?;
            let part = *draw.draw_from(&NAME_PARTS);
            let at = place + 46 + draw.draw_below((length + 1).saturating_sub(part.len()));
            out.get_mut(at..at + part.len())?.copy_from_slice(part);
            continue;
        }
        let (at, width) = *draw.draw_from(fields);
        let value = match draw.draw_below(6) {
            0 => 0,
            1 => u64::MAX,
            2 => 1 << draw.draw_below(64),
            3 => draw.draw_from(&headers).0 as u64,
            // The modes of a link and of a file.
            4 => *draw.draw_from(&[0o120_777 << 16, 0o100_644 << 16]),
            _ => draw.draw_below(300) as u64,
        };
        out.get_mut(place + at..place + at + width)?.copy_from_slice(&value.to_le_bytes()[..width]);
    }
    Some(out)
}

/// Changes one node of a tree.
fn change_node(value: &mut Value, draw: &mut MutationDraw) {
    let count = count_nodes(value);
    let donor = nth_node(value, draw.draw_below(count)).clone();
    let place = draw.draw_below(count);
    let chosen = nth_node(value, place);
    // JSON inside a string, such as a checkpoint's header.
    if let Value::String(text) = chosen
        && let Ok(mut inner @ Value::Object(_)) = serde_json::from_str(text)
    {
        change_node(&mut inner, draw);
        *chosen = Value::String(inner.to_string());
        return;
    }
    match (draw.draw_below(10), chosen) {
        (0, chosen) => *chosen = donor,
        (1, chosen) => *chosen = Value::Null,
        (2 | 3, Value::Array(items)) if !items.is_empty() => {
            let at = draw.draw_below(items.len());
            items.remove(at);
        }
        (4 | 5, Value::Array(items)) => {
            let at = draw.draw_below(items.len() + 1);
            let item = if items.is_empty() { donor } else { draw.draw_from(items).clone() };
            items.insert(at, item);
        }
        (2 | 3, Value::Object(fields)) if !fields.is_empty() => {
            let key = fields.keys().nth(draw.draw_below(fields.len())).cloned().unwrap_or_default();
            fields.remove(&key);
        }
        (4 | 5, Value::Object(fields)) if !fields.is_empty() => {
            let key = fields.keys().nth(draw.draw_below(fields.len())).cloned().unwrap_or_default();
            let item = fields.remove(&key).unwrap_or_default();
            fields.insert((*draw.draw_from(&TEXTS)).into(), item);
        }
        (6, chosen) => {
            let depth = 1 + draw.draw_below(4);
            for _ in 0..depth {
                *chosen = json!([chosen.take()]);
            }
        }
        (_, Value::String(text)) => match draw.draw_below(4) {
            0 => text.push_str(draw.draw_from::<&str>(&TEXTS)),
            1 => *text = text.repeat(1 + draw.draw_below(40)),
            _ => *text = (*draw.draw_from(&TEXTS)).into(),
        },
        (_, Value::Bool(flag)) => *flag = !*flag,
        (_, chosen) => *chosen = draw_number(draw),
    }
}

fn draw_number(draw: &mut MutationDraw) -> Value {
    match draw.draw_below(12) {
        0 => json!(0),
        1 => json!(1),
        2 => json!(-1),
        3 => json!(u64::MAX),
        4 => json!(i64::MAX),
        5 => json!(1_u64 << 63),
        6 => json!(u64::from(u32::MAX) + 1),
        7 => json!(1e308),
        8 => json!(-1e-308),
        9 => json!(0.5),
        10 => json!(10_000_000),
        _ => json!(draw.draw_below(300)),
    }
}

fn count_nodes(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count_nodes).sum(),
        Value::Object(fields) => fields.values().map(count_nodes).sum(),
        _ => 0,
    }
}

/// Returns the node of this number, in the order of the text.
fn nth_node(value: &mut Value, number: usize) -> &mut Value {
    if number == 0 {
        return value;
    }
    let children: Vec<&mut Value> = match value {
        Value::Array(items) => items.iter_mut().collect(),
        Value::Object(fields) => fields.values_mut().collect(),
        _ => unreachable!("a number below the count of nodes"),
    };
    let mut left = number - 1;
    for child in children {
        let inside = count_nodes(child);
        if left < inside {
            return nth_node(child, left);
        }
        left -= inside;
    }
    unreachable!("a number below the count of nodes")
}

/// Changes the header of a safetensors file and, mostly, makes offsets and data fit it again.
fn mutate_tensors(data: &[u8], draw: &mut MutationDraw) -> Option<Vec<u8>> {
    let (length, rest) = data.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (header, tensors) = rest.split_at_checked(length)?;
    let mut header: Value = serde_json::from_slice(header).ok()?;
    for _ in 0..1 + draw.draw_below(2) {
        change_node(&mut header, draw);
    }
    let mut tensors = tensors.to_vec();
    if let (Value::Object(fields), true) = (&mut header, draw.draw_below(4) > 0) {
        let size = fit_offsets(fields);
        tensors.resize(size.min(1 << 16), 0);
    }
    if !tensors.is_empty() && draw.draw_below(3) == 0 {
        let at = draw.draw_below(tensors.len());
        tensors[at] = *draw.draw_from(&[0, 0x7f, 0x80, 0xff]);
    }
    let header = serde_json::to_vec(&header).ok()?;
    Some([&(header.len() as u64).to_le_bytes()[..], &header, &tensors].concat())
}

/// Puts every tensor after the one before, and returns the size of all.
fn fit_offsets(fields: &mut Map<String, Value>) -> usize {
    let mut end = 0;
    for (_, about) in fields.iter_mut().filter(|(name, _)| *name != "__metadata__") {
        let width = match about["dtype"].as_str() {
            Some("F16" | "BF16") => 2,
            Some("F64" | "I64") => 8,
            _ => 4,
        };
        let sizes = about["shape"].as_array().map_or(&[][..], Vec::as_slice);
        let values = sizes
            .iter()
            .try_fold(1_usize, |all, size| all.checked_mul(usize::try_from(size.as_u64()?).ok()?));
        let start = end;
        end +=
            values.and_then(|values| values.checked_mul(width)).filter(|size| *size < 1 << 16).unwrap_or(0);
        if let Some(fields) = about.as_object_mut() {
            fields.insert("data_offsets".into(), json!([start, end]));
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutations_keep_the_shape() {
        let file = br#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
        let tensors = [&(file.len() as u64).to_le_bytes()[..], file, &[0; 8]].concat();
        let archive = include_bytes!("../corpus/zip/stored.zip");
        let (mut changed, mut changed_archives) = (0, 0);
        for seed in 0..2000 {
            let json = mutate_input(InputShape::Json, br#"{"a":[1,"x",{"b":null}],"c":true}"#, seed)
                .expect("it is JSON");
            serde_json::from_slice::<Value>(&json).expect("it is JSON again");
            let again = mutate_input(InputShape::Tensors, &tensors, seed).expect("it has a header");
            changed += usize::from(again != tensors);
            let lines = mutate_input(InputShape::JsonLines, b"{\"a\":1}\n[2]", seed).expect("two documents");
            let mut lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            assert!(lines.all(|line| serde_json::from_slice::<Value>(line).is_ok()));
            let zip = mutate_input(InputShape::Archive, archive, seed).expect("an archive");
            assert_eq!(zip.len(), archive.len());
            changed_archives += usize::from(zip != archive);
            let rows = mutate_input(InputShape::Rows, b"1\ta\tB\n\n", seed).expect("it is text");
            String::from_utf8(rows).expect("it is text again");
        }
        assert!(changed > 1800 && changed_archives > 1500, "{changed}, {changed_archives}");
        assert_eq!(mutate_input(InputShape::Json, b"{", 1), None);
        assert_eq!(mutate_input(InputShape::Tensors, b"short", 1), None);
        assert_eq!(mutate_input(InputShape::Archive, b"short", 1), None);
    }
}
