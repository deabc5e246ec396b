//! The opcodes.

use std::collections::HashMap;

use super::calls;
use super::value::{Node, Pickle, Value};

/// The most values of one pickle, counting each time that one is put on the stack. The metadata of a model of 10,000 tensors in
/// 32 parts each have 8 million.
const MOST_VALUES: usize = 12 << 20;

/// The machine: a stack, marks on it, and values to be used again.
struct Machine<'a> {
    pickle: Pickle<'a>,
    stack: Vec<Value>,
    marks: Vec<usize>,
    memo: HashMap<u32, Value>,
    at: usize,
    pushed: usize,
}

/// Reads the first pickle in some bytes, without running anything.
///
/// # Errors
/// If the bytes are no pickle, contain a command that no checkpoint has, or ask for too much memory. The reason names the byte.
pub(crate) fn unpickle(bytes: &[u8]) -> Result<Pickle<'_>, String> {
    let pickle = Pickle { bytes, nodes: Vec::new(), root: Value::None, length: 0 };
    let mut machine =
        Machine { pickle, stack: Vec::new(), marks: Vec::new(), memo: HashMap::new(), at: 0, pushed: 0 };
    loop {
        let place = machine.at;
        match machine.step() {
            Ok(true) => {}
            Ok(false) => break,
            Err(reason) => return Err(format!("byte {place} of its pickle: {reason}")),
        }
    }
    machine.pickle.root = machine.pop()?;
    machine.pickle.length = machine.at;
    Ok(machine.pickle)
}

impl<'a> Machine<'a> {
    /// Executes one command. Returns whether there are more.
    fn step(&mut self) -> Result<bool, String> {
        let command = self.take(1)?[0];
        match command {
            b'.' => return Ok(false),
            // PROTO, FRAME: how the rest is written.
            0x80 => drop(self.take(1)?),
            0x95 => drop(self.take(8)?),
            b'N' => self.push(Value::None)?,
            0x88 => self.push(Value::Bool(true))?,
            0x89 => self.push(Value::Bool(false))?,
            b'K' | b'M' => {
                let number = self.number(if command == b'K' { 1 } else { 2 })?;
                self.push(Value::Int(number as i64))?;
            }
            b'J' => {
                let number = self.number(4)? as u32;
                self.push(Value::Int(i64::from(number as i32)))?;
            }
            b'I' | b'L' => self.decimal()?,
            b'F' => {
                let line = self.line()?;
                let number = self.ascii(line)?.parse().map_err(|_| "no number".to_string())?;
                self.push(Value::Float(number))?;
            }
            b'G' => {
                let bits = self.number(8)?.swap_bytes();
                self.push(Value::Float(f64::from_bits(bits)))?;
            }
            0x8a | 0x8b => self.long(if command == 0x8a { 1 } else { 4 })?,
            // Text and bytes with a length of 1, 4 or 8 bytes.
            0x8c | b'C' | b'U' => self.text(1)?,
            b'X' | b'B' | b'T' => self.text(4)?,
            0x8d | 0x8e | 0x96 => self.text(8)?,
            b'V' | b'S' => self.quoted(command == b'S')?,
            b'}' => self.add(Node::Dict(Vec::new()))?,
            b']' | b')' | 0x8f => self.add(Node::List(Vec::new()))?,
            b'(' => self.marks.push(self.stack.len()),
            0x85..=0x87 => {
                let from = self.stack.len().checked_sub(usize::from(command - 0x84)).ok_or(EMPTY)?;
                self.check_mark(from)?;
                let items = self.stack.split_off(from);
                self.add(Node::List(items))?;
            }
            b't' | b'l' | 0x91 => {
                let items = self.marked()?;
                self.add(Node::List(items))?;
            }
            b'd' => {
                let pairs = pairs(&self.marked()?);
                self.add(Node::Dict(pairs))?;
            }
            b'a' => {
                let item = self.pop()?;
                self.append(&[item])?;
            }
            b'e' | 0x90 => {
                let items = self.marked()?;
                self.append(&items)?;
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.set(vec![(key, value)])?;
            }
            b'u' => {
                let items = pairs(&self.marked()?);
                self.set(items)?;
            }
            b'0' => drop(self.pop()?),
            b'1' => drop(self.marked()?),
            b'2' => {
                let top = self.top()?;
                self.push(top)?;
            }
            b'q' | b'r' => {
                let key = self.number(if command == b'q' { 1 } else { 4 })? as u32;
                self.keep(key)?;
            }
            b'p' => {
                let key = self.key()?;
                self.keep(key)?;
            }
            0x94 => self.keep(self.memo.len() as u32)?,
            b'h' | b'j' => {
                let key = self.number(if command == b'h' { 1 } else { 4 })? as u32;
                self.recall(key)?;
            }
            b'g' => {
                let key = self.key()?;
                self.recall(key)?;
            }
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.add(Node::Global(module, name))?;
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                let (Value::Text(a, b), Value::Text(c, d)) = (module, name) else {
                    return Err("the name of a class is not text".into());
                };
                self.add(Node::Global(a as usize..b as usize, c as usize..d as usize))?;
            }
            b'Q' => {
                let id = self.pop()?;
                let storage = calls::storage(&self.pickle, id)?;
                self.add(Node::Storage(storage))?;
            }
            b'R' | 0x81 => {
                let (args, function) = (self.pop()?, self.pop()?);
                self.call(function, args)?;
            }
            0x92 => {
                let (_, args, class) = (self.pop()?, self.pop()?, self.pop()?);
                self.call(class, args)?;
            }
            b'i' => {
                let (module, name) = (self.line()?, self.line()?);
                let args = self.marked()?;
                self.add(Node::Global(module, name))?;
                let class = self.pop()?;
                self.add(Node::List(args))?;
                let args = self.pop()?;
                self.call(class, args)?;
            }
            b'o' => {
                let mut args = self.marked()?;
                if args.is_empty() {
                    return Err("an object without a class".into());
                }
                let class = args.remove(0);
                self.add(Node::List(args))?;
                let args = self.pop()?;
                self.call(class, args)?;
            }
            b'b' => {
                let (state, object) = (self.pop()?, self.top()?);
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
    fn call(&mut self, function: Value, args: Value) -> Result<(), String> {
        let node = calls::call(&self.pickle, function, args)?;
        // A short command can copy a long list.
        self.pushed += match &node {
            Node::List(items) => items.len(),
            Node::Dict(pairs) => 2 * pairs.len(),
            Node::Tensor(spec) => 2 * spec.shape.len(),
            _ => 0,
        };
        self.add(node)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(length);
        let bytes = end.and_then(|end| self.pickle.bytes.get(self.at..end)).ok_or("it ends early")?;
        self.at += length;
        Ok(bytes)
    }

    /// Reads a little-endian number.
    fn number(&mut self, width: usize) -> Result<u64, String> {
        Ok(self.take(width)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Reads up to the end of the line.
    fn line(&mut self) -> Result<std::ops::Range<usize>, String> {
        let rest = self.pickle.bytes.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(|byte| *byte == b'\n').ok_or("it ends early")?;
        let start = self.at;
        self.at += length + 1;
        Ok(start..start + length)
    }

    fn ascii(&self, range: std::ops::Range<usize>) -> Result<&'a str, String> {
        std::str::from_utf8(&self.pickle.bytes[range]).map_err(|_| "a line is not text".into())
    }

    fn key(&mut self) -> Result<u32, String> {
        let line = self.line()?;
        self.ascii(line)?.parse().map_err(|_| "a key of the memo is no number".into())
    }

    /// Reads a number in digits; `01` and `00` are truth values.
    fn decimal(&mut self) -> Result<(), String> {
        let line = self.line()?;
        let text = self.ascii(line)?;
        let value = match text {
            "01" => Value::Bool(true),
            "00" => Value::Bool(false),
            _ => text.trim_end_matches('L').parse().map_or(Value::Other, Value::Int),
        };
        self.push(value)
    }

    /// Reads an integer of any length, of which 64 bits are kept.
    fn long(&mut self, width: usize) -> Result<(), String> {
        let length = self.number(width)? as usize;
        let bytes = self.take(length)?;
        let value = match length {
            0 => Value::Int(0),
            1..=8 => {
                let bits = bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
                let unused = 64 - 8 * length as u32;
                Value::Int(((bits << unused) as i64) >> unused)
            }
            _ => Value::Other,
        };
        self.push(value)
    }

    /// Reads text or bytes.
    fn text(&mut self, width: usize) -> Result<(), String> {
        let length = usize::try_from(self.number(width)?).map_err(|_| "it ends early")?;
        let start = self.at;
        self.take(length)?;
        self.push(range(start, start + length)?)
    }

    /// Reads a line of text, perhaps in quotes. Escapes stay as they are.
    fn quoted(&mut self, in_quotes: bool) -> Result<(), String> {
        let line = self.line()?;
        let (from, to) = if in_quotes && line.len() >= 2 {
            (line.start + 1, line.end - 1)
        } else {
            (line.start, line.end)
        };
        self.push(range(from, to)?)
    }

    fn push(&mut self, value: Value) -> Result<(), String> {
        self.pushed += 1;
        if self.pushed > MOST_VALUES {
            return Err(format!("more than {MOST_VALUES} values, which no checkpoint has"));
        }
        self.stack.push(value);
        Ok(())
    }

    fn add(&mut self, node: Node) -> Result<(), String> {
        let place = self.pickle.nodes.len() as u32;
        self.push(Value::Node(place))?;
        self.pickle.nodes.push(node);
        Ok(())
    }

    /// Checks that a command does not reach below the last mark.
    fn check_mark(&self, from: usize) -> Result<(), String> {
        if self.marks.last().is_some_and(|mark| from < *mark) { Err(EMPTY.into()) } else { Ok(()) }
    }

    fn pop(&mut self) -> Result<Value, String> {
        let from = self.stack.len().checked_sub(1).ok_or(EMPTY)?;
        self.check_mark(from)?;
        self.stack.pop().ok_or_else(|| EMPTY.into())
    }

    fn top(&self) -> Result<Value, String> {
        self.stack.last().copied().ok_or_else(|| EMPTY.into())
    }

    /// Removes the values after the last mark.
    fn marked(&mut self) -> Result<Vec<Value>, String> {
        let mark = self.marks.pop().ok_or("no mark")?;
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }

    fn keep(&mut self, key: u32) -> Result<(), String> {
        let top = self.top()?;
        self.memo.insert(key, top);
        Ok(())
    }

    fn recall(&mut self, key: u32) -> Result<(), String> {
        let value = *self.memo.get(&key).ok_or_else(|| format!("nothing is kept under {key}"))?;
        self.push(value)
    }

    fn node_mut(&mut self, value: Value) -> Option<&mut Node> {
        match value {
            Value::Node(place) => self.pickle.nodes.get_mut(place as usize),
            _ => None,
        }
    }

    /// Adds items to the list on the stack. Other objects with items are not needed.
    fn append(&mut self, items: &[Value]) -> Result<(), String> {
        let list = self.top()?;
        if let Some(Node::List(list)) = self.node_mut(list) {
            list.extend_from_slice(items);
        }
        Ok(())
    }

    /// Adds items to the dictionary on the stack.
    fn set(&mut self, items: Vec<(Value, Value)>) -> Result<(), String> {
        let target = self.top()?;
        if let Some(Node::Dict(pairs) | Node::Object { items: pairs, .. }) = self.node_mut(target) {
            pairs.extend(items);
        }
        Ok(())
    }
}

const EMPTY: &str = "a command finds no value";

fn pairs(items: &[Value]) -> Vec<(Value, Value)> {
    items.as_chunks::<2>().0.iter().map(|[key, value]| (*key, *value)).collect()
}

/// Returns text as its place.
fn range(from: usize, to: usize) -> Result<Value, String> {
    let small = |place: usize| u32::try_from(place).map_err(|_| "it is larger than 4 GiB".to_string());
    Ok(Value::Text(small(from)?, small(to)?))
}
