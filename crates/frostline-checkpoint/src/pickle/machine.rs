//! The opcodes.

use std::collections::HashMap;

use super::calls;
use super::value::{Node, Pickle, PickleValue};

/// The most values of one pickle, counting each time that one is put on the stack. The metadata of a model of 10,000 tensors in
/// 32 parts each have 8 million.
const MOST_VALUES: usize = 12 << 20;

/// The machine: a stack, marks on it, and values to be used again.
struct PickleMachine<'a> {
    pickle: Pickle<'a>,
    stack: Vec<PickleValue>,
    marks: Vec<usize>,
    memo: HashMap<u32, PickleValue>,
    at: usize,
    pushed: usize,
}

/// Reads the first pickle in some bytes, without running anything.
///
/// # Errors
/// If the bytes are no pickle, contain a command that no checkpoint has, or ask for too much memory. The reason names the byte.
pub(crate) fn unpickle(bytes: &[u8]) -> Result<Pickle<'_>, String> {
    let pickle = Pickle { bytes, nodes: Vec::new(), root: PickleValue::None, length: 0 };
    let mut machine = PickleMachine {
        pickle,
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
        at: 0,
        pushed: 0,
    };
    loop {
        let place = machine.at;
        match machine.execute_command() {
            Ok(true) => {}
            Ok(false) => break,
            Err(reason) => return Err(format!("byte {place} of its pickle: {reason}")),
        }
    }
    machine.pickle.root = machine.pop_value()?;
    machine.pickle.length = machine.at;
    Ok(machine.pickle)
}

impl<'a> PickleMachine<'a> {
    /// Executes one command. Returns whether there are more.
    fn execute_command(&mut self) -> Result<bool, String> {
        let command = self.take_bytes(1)?[0];
        match command {
            b'.' => return Ok(false),
            // PROTO, FRAME: how the rest is written.
            0x80 => drop(self.take_bytes(1)?),
            0x95 => drop(self.take_bytes(8)?),
            b'N' => self.push_value(PickleValue::None)?,
            0x88 => self.push_value(PickleValue::Bool(true))?,
            0x89 => self.push_value(PickleValue::Bool(false))?,
            b'K' | b'M' => {
                let number = self.read_number(if command == b'K' { 1 } else { 2 })?;
                self.push_value(PickleValue::Int(number as i64))?;
            }
            b'J' => {
                let number = self.read_number(4)? as u32;
                self.push_value(PickleValue::Int(i64::from(number as i32)))?;
            }
            b'I' | b'L' => self.read_decimal()?,
            b'F' => {
                let line = self.read_line()?;
                let number = self.ascii_text(line)?.parse().map_err(|_| "no number".to_string())?;
                self.push_value(PickleValue::Float(number))?;
            }
            b'G' => {
                let bits = self.read_number(8)?.swap_bytes();
                self.push_value(PickleValue::Float(f64::from_bits(bits)))?;
            }
            0x8a | 0x8b => self.read_long(if command == 0x8a { 1 } else { 4 })?,
            // Text and bytes with a length of 1, 4 or 8 bytes.
            0x8c | b'C' | b'U' => self.read_text(1)?,
            b'X' | b'B' | b'T' => self.read_text(4)?,
            0x8d | 0x8e | 0x96 => self.read_text(8)?,
            b'V' | b'S' => self.read_quoted(command == b'S')?,
            b'}' => self.push_node(Node::Dict(Vec::new()))?,
            b']' | b')' | 0x8f => self.push_node(Node::List(Vec::new()))?,
            b'(' => self.marks.push(self.stack.len()),
            0x85..=0x87 => {
                let from = self.stack.len().checked_sub(usize::from(command - 0x84)).ok_or(EMPTY)?;
                self.check_mark(from)?;
                let items = self.stack.split_off(from);
                self.push_node(Node::List(items))?;
            }
            b't' | b'l' | 0x91 => {
                let items = self.pop_marked()?;
                self.push_node(Node::List(items))?;
            }
            b'd' => {
                let pairs = pair_items(&self.pop_marked()?);
                self.push_node(Node::Dict(pairs))?;
            }
            b'a' => {
                let item = self.pop_value()?;
                self.append_items(&[item])?;
            }
            b'e' | 0x90 => {
                let items = self.pop_marked()?;
                self.append_items(&items)?;
            }
            b's' => {
                let (value, key) = (self.pop_value()?, self.pop_value()?);
                self.set_items(vec![(key, value)])?;
            }
            b'u' => {
                let items = pair_items(&self.pop_marked()?);
                self.set_items(items)?;
            }
            b'0' => drop(self.pop_value()?),
            b'1' => drop(self.pop_marked()?),
            b'2' => {
                let top = self.top_value()?;
                self.push_value(top)?;
            }
            b'q' | b'r' => {
                let key = self.read_number(if command == b'q' { 1 } else { 4 })? as u32;
                self.keep_value(key)?;
            }
            b'p' => {
                let key = self.read_key()?;
                self.keep_value(key)?;
            }
            0x94 => self.keep_value(self.memo.len() as u32)?,
            b'h' | b'j' => {
                let key = self.read_number(if command == b'h' { 1 } else { 4 })? as u32;
                self.recall_value(key)?;
            }
            b'g' => {
                let key = self.read_key()?;
                self.recall_value(key)?;
            }
            b'c' => {
                let (module, name) = (self.read_line()?, self.read_line()?);
                self.push_node(Node::Global(module, name))?;
            }
            0x93 => {
                let (name, module) = (self.pop_value()?, self.pop_value()?);
                let (PickleValue::Text(a, b), PickleValue::Text(c, d)) = (module, name) else {
                    return Err("the name of a class is not text".into());
                };
                self.push_node(Node::Global(a as usize..b as usize, c as usize..d as usize))?;
            }
            b'Q' => {
                let id = self.pop_value()?;
                let storage = calls::parse_storage(&self.pickle, id)?;
                self.push_node(Node::Storage(storage))?;
            }
            b'R' | 0x81 => {
                let (args, function) = (self.pop_value()?, self.pop_value()?);
                self.call_function(function, args)?;
            }
            0x92 => {
                let (_, args, class) = (self.pop_value()?, self.pop_value()?, self.pop_value()?);
                self.call_function(class, args)?;
            }
            b'i' => {
                let (module, name) = (self.read_line()?, self.read_line()?);
                let args = self.pop_marked()?;
                self.push_node(Node::Global(module, name))?;
                let class = self.pop_value()?;
                self.push_node(Node::List(args))?;
                let args = self.pop_value()?;
                self.call_function(class, args)?;
            }
            b'o' => {
                let mut args = self.pop_marked()?;
                if args.is_empty() {
                    return Err("an object without a class".into());
                }
                let class = args.remove(0);
                self.push_node(Node::List(args))?;
                let args = self.pop_value()?;
                self.call_function(class, args)?;
            }
            b'b' => {
                let (state, object) = (self.pop_value()?, self.top_value()?);
                if let Some(Node::Object { state: own, .. }) = self.node_mut(object) {
                    *own = state;
                }
            }
            other => {
                let shown = char::from(other).escape_default();
                return Err(format!(
                    "the command {other:#04x} (`{shown}`) is not one that checkpoints have; save it again with `torch.save`"
                ));
            }
        }
        Ok(true)
    }

    /// Makes what torch's own functions make, and an object with the name of any other.
    fn call_function(&mut self, function: PickleValue, args: PickleValue) -> Result<(), String> {
        let node = calls::call_function(&self.pickle, function, args)?;
        // A short command can copy a long list.
        self.pushed += match &node {
            Node::List(items) => items.len(),
            Node::Dict(pairs) => 2 * pairs.len(),
            Node::Tensor(spec) => 2 * spec.shape.len(),
            _ => 0,
        };
        self.push_node(node)
    }

    fn take_bytes(&mut self, length: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(length);
        let bytes = end.and_then(|end| self.pickle.bytes.get(self.at..end)).ok_or("it ends early")?;
        self.at += length;
        Ok(bytes)
    }

    /// Reads a little-endian number.
    fn read_number(&mut self, width: usize) -> Result<u64, String> {
        Ok(self.take_bytes(width)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Reads up to the end of the line.
    fn read_line(&mut self) -> Result<std::ops::Range<usize>, String> {
        let rest = self.pickle.bytes.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(|byte| *byte == b'\n').ok_or("it ends early")?;
        let start = self.at;
        self.at += length + 1;
        Ok(start..start + length)
    }

    fn ascii_text(&self, range: std::ops::Range<usize>) -> Result<&'a str, String> {
        std::str::from_utf8(&self.pickle.bytes[range]).map_err(|_| "a line is not text".into())
    }

    fn read_key(&mut self) -> Result<u32, String> {
        let line = self.read_line()?;
        self.ascii_text(line)?.parse().map_err(|_| "a key of the memo is no number".into())
    }

    /// Reads a number in digits; `01` and `00` are truth values.
    fn read_decimal(&mut self) -> Result<(), String> {
        let line = self.read_line()?;
        let text = self.ascii_text(line)?;
        let value = match text {
            "01" => PickleValue::Bool(true),
            "00" => PickleValue::Bool(false),
            _ => text.trim_end_matches('L').parse().map_or(PickleValue::Other, PickleValue::Int),
        };
        self.push_value(value)
    }

    /// Reads an integer of any length, of which 64 bits are kept.
    fn read_long(&mut self, width: usize) -> Result<(), String> {
        let length = self.read_number(width)? as usize;
        let bytes = self.take_bytes(length)?;
        let value = match length {
            0 => PickleValue::Int(0),
            1..=8 => {
                let bits = bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
                let unused = 64 - 8 * length as u32;
                PickleValue::Int(((bits << unused) as i64) >> unused)
            }
            _ => PickleValue::Other,
        };
        self.push_value(value)
    }

    /// Reads text or bytes.
    fn read_text(&mut self, width: usize) -> Result<(), String> {
        let length = usize::try_from(self.read_number(width)?).map_err(|_| "it ends early")?;
        let start = self.at;
        self.take_bytes(length)?;
        self.push_value(text_range(start, start + length)?)
    }

    /// Reads a line of text, perhaps in quotes. Escapes stay as they are.
    fn read_quoted(&mut self, in_quotes: bool) -> Result<(), String> {
        let line = self.read_line()?;
        let (from, to) = if in_quotes && line.len() >= 2 {
            (line.start + 1, line.end - 1)
        } else {
            (line.start, line.end)
        };
        self.push_value(text_range(from, to)?)
    }

    fn push_value(&mut self, value: PickleValue) -> Result<(), String> {
        self.pushed += 1;
        if self.pushed > MOST_VALUES {
            return Err(format!("more than {MOST_VALUES} values, which no checkpoint has"));
        }
        self.stack.push(value);
        Ok(())
    }

    fn push_node(&mut self, node: Node) -> Result<(), String> {
        let place = self.pickle.nodes.len() as u32;
        self.push_value(PickleValue::Node(place))?;
        self.pickle.nodes.push(node);
        Ok(())
    }

    /// Checks that a command does not reach below the last mark.
    fn check_mark(&self, from: usize) -> Result<(), String> {
        if self.marks.last().is_some_and(|mark| from < *mark) { Err(EMPTY.into()) } else { Ok(()) }
    }

    fn pop_value(&mut self) -> Result<PickleValue, String> {
        let from = self.stack.len().checked_sub(1).ok_or(EMPTY)?;
        self.check_mark(from)?;
        self.stack.pop().ok_or_else(|| EMPTY.into())
    }

    fn top_value(&self) -> Result<PickleValue, String> {
        self.stack.last().copied().ok_or_else(|| EMPTY.into())
    }

    /// Removes the values after the last mark.
    fn pop_marked(&mut self) -> Result<Vec<PickleValue>, String> {
        let mark = self.marks.pop().ok_or("no mark")?;
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }

    fn keep_value(&mut self, key: u32) -> Result<(), String> {
        let top = self.top_value()?;
        self.memo.insert(key, top);
        Ok(())
    }

    fn recall_value(&mut self, key: u32) -> Result<(), String> {
        let value = *self.memo.get(&key).ok_or_else(|| format!("nothing is kept under {key}"))?;
        self.push_value(value)
    }

    fn node_mut(&mut self, value: PickleValue) -> Option<&mut Node> {
        match value {
            PickleValue::Node(place) => self.pickle.nodes.get_mut(place as usize),
            _ => None,
        }
    }

    /// Adds items to the list on the stack. Other objects with items are not needed.
    fn append_items(&mut self, items: &[PickleValue]) -> Result<(), String> {
        let list = self.top_value()?;
        if let Some(Node::List(list)) = self.node_mut(list) {
            list.extend_from_slice(items);
        }
        Ok(())
    }

    /// Adds items to the dictionary on the stack.
    fn set_items(&mut self, items: Vec<(PickleValue, PickleValue)>) -> Result<(), String> {
        let target = self.top_value()?;
        if let Some(Node::Dict(pairs) | Node::Object { items: pairs, .. }) = self.node_mut(target) {
            pairs.extend(items);
        }
        Ok(())
    }
}

const EMPTY: &str = "a command finds no value";

fn pair_items(items: &[PickleValue]) -> Vec<(PickleValue, PickleValue)> {
    items.as_chunks::<2>().0.iter().map(|[key, value]| (*key, *value)).collect()
}

/// Returns text as its place.
fn text_range(from: usize, to: usize) -> Result<PickleValue, String> {
    let small = |place: usize| u32::try_from(place).map_err(|_| "it is larger than 4 GiB".to_string());
    Ok(PickleValue::Text(small(from)?, small(to)?))
}
