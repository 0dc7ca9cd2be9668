//! Numbers, ids, types and nodes in bytes: PROTOCOL.md, sections 4 and 5.

use std::collections::HashMap;

use crate::fault::{broken, Res};
use crate::tensor::{Desc, Num, MAX_RANK};

pub const MAX_FRAME: usize = 4 << 20;
pub const CHUNK_SIZE: usize = 1 << 20;
pub const MAX_INLINE: usize = 64 << 10;
pub const MAX_EVENTS: u64 = 1 << 16;
const MAX_NAME: usize = 256;
const MAX_TEXT: usize = 64 << 10;
const MAX_NAMES: usize = 1 << 16;
const MAX_ATTRS: usize = 256;

/// An attribute.
#[derive(Debug, Clone)]
pub enum Value {
    Int(i64),
    Float,
    Bool(bool),
    Text(String),
    DType(u8),
    Ints(Vec<i64>),
    Floats,
    Scalar(Num),
}

#[derive(Debug)]
pub struct Node {
    pub op: String,
    pub version: u64,
    pub inputs: Vec<u64>,
    pub drop: u64,
    pub outputs: Vec<Desc>,
    pub attrs: HashMap<String, Value>,
}

/// The numbered names of a stream.
#[derive(Default)]
pub struct Names {
    ops: Vec<(String, u64)>,
    attrs: Vec<String>,
}

pub struct Reader<'a> {
    data: &'a [u8],
    last: u64,
}

impl<'a> Reader<'a> {
    pub fn new(data: &'a [u8], generation: u64) -> Self {
        Reader { data, last: generation << 48 }
    }

    pub fn more(&self) -> bool {
        !self.data.is_empty()
    }

    pub fn take(&mut self, n: usize) -> Res<&'a [u8]> {
        if n > self.data.len() {
            return broken(format!("the frame ends {} bytes too early", n - self.data.len()));
        }
        let (head, rest) = self.data.split_at(n);
        self.data = rest;
        Ok(head)
    }

    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.data)
    }

    pub fn byte(&mut self) -> Res<u8> {
        Ok(self.take(1)?[0])
    }

    pub fn uint(&mut self) -> Res<u64> {
        let mut value: u64 = 0;
        for i in 0..10 {
            let b = self.byte()?;
            if i == 9 && b > 1 {
                return broken("a number has more than 64 bits");
            }
            value |= u64::from(b & 0x7f) << (7 * i);
            if b < 0x80 {
                return Ok(value);
            }
        }
        broken("a number has more than ten bytes")
    }

    pub fn int(&mut self) -> Res<i64> {
        let u = self.uint()?;
        Ok((u >> 1) as i64 ^ -((u & 1) as i64))
    }

    /// A number of things that take at least so many bytes each.
    fn count(&mut self, least: usize) -> Res<usize> {
        let n = self.uint()?;
        if n > (self.data.len() / least) as u64 {
            return broken(format!("{n} entries in {} bytes", self.data.len()));
        }
        Ok(n as usize)
    }

    fn text(&mut self, most: usize) -> Res<String> {
        let n = self.count(1)?;
        if n > most {
            return broken(format!("a text of {n} bytes, at most {most}"));
        }
        Ok(String::from_utf8_lossy(self.take(n)?).into_owned())
    }

    pub fn id(&mut self) -> Res<u64> {
        self.last = self.last.wrapping_add(self.int()? as u64);
        Ok(self.last)
    }

    pub fn ids(&mut self) -> Res<Vec<u64>> {
        (0..self.count(1)?).map(|_| self.id()).collect()
    }

    pub fn desc(&mut self) -> Res<Desc> {
        let id = self.id()?;
        let (dtype, rank) = (self.byte()?, self.byte()?);
        if Desc::element_size(dtype) == 0 || rank as usize > MAX_RANK {
            return broken(format!("element type {dtype}, rank {rank}"));
        }
        let mut size = Desc::element_size(dtype) as u64;
        let mut shape = Vec::new();
        for _ in 0..rank {
            let n = self.uint()?;
            size = match size.checked_mul(n.max(1)) {
                Some(s) if s < 1 << 63 => s,
                _ => return broken("the type is too large"),
            };
            shape.push(n as usize);
        }
        Ok(Desc { id, dtype, shape })
    }

    fn bit(&mut self) -> Res<bool> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            b => broken(format!("byte {b}, want 0 or 1")),
        }
    }

    fn float(&mut self) -> Res<f64> {
        Ok(f64::from_le_bytes(self.take(8)?.try_into().expect("eight bytes")))
    }

    fn value(&mut self) -> Res<Value> {
        Ok(match self.byte()? {
            1 => Value::Int(self.int()?),
            2 => {
                self.float()?;
                Value::Float
            }
            3 => Value::Bool(self.bit()?),
            4 => Value::Text(self.text(MAX_TEXT)?),
            5 => Value::DType(self.byte()?),
            6 => Value::Ints((0..self.count(1)?).map(|_| self.int()).collect::<Res<_>>()?),
            7 => {
                let n = self.count(8)?;
                self.take(8 * n)?;
                Value::Floats
            }
            8 => Value::Scalar(if self.bit()? { Num::I(self.int()?) } else { Num::F(self.float()?) }),
            kind => return broken(format!("an attribute of kind {kind}")),
        })
    }

    pub fn node(&mut self, names: &mut Names) -> Res<Node> {
        let number = self.uint()? as usize;
        if number > names.ops.len() {
            return broken(format!("op {number} of {}", names.ops.len()));
        }
        if number == 0 {
            if names.ops.len() >= MAX_NAMES {
                return broken("too many ops");
            }
            let name = (self.text(MAX_NAME)?, self.uint()?);
            names.ops.push(name);
        }
        let (op, version) = names.ops[if number == 0 { names.ops.len() } else { number } - 1].clone();
        let (inputs, drop) = (self.ids()?, self.uint()?);
        let outputs = (0..self.count(3)?).map(|_| self.desc()).collect::<Res<_>>()?;
        let n = self.count(3)?;
        if n > MAX_ATTRS {
            return broken(format!("{n} attributes"));
        }
        let mut attrs = HashMap::new();
        for _ in 0..n {
            let number = self.uint()? as usize;
            if number > names.attrs.len() {
                return broken(format!("attribute {number} of {}", names.attrs.len()));
            }
            if number == 0 {
                if names.attrs.len() >= MAX_NAMES {
                    return broken("too many attributes");
                }
                let name = self.text(MAX_NAME)?;
                names.attrs.push(name);
            }
            let name = names.attrs[if number == 0 { names.attrs.len() } else { number } - 1].clone();
            attrs.insert(name, self.value()?);
        }
        Ok(Node { op, version, inputs, drop, outputs, attrs })
    }
}

/// Writes replies.
pub struct Writer {
    pub bytes: Vec<u8>,
}

impl Writer {
    pub fn new() -> Self {
        Writer { bytes: Vec::new() }
    }

    pub fn byte(&mut self, b: u8) -> &mut Self {
        self.bytes.push(b);
        self
    }

    pub fn uint(&mut self, mut n: u64) -> &mut Self {
        while n >= 0x80 {
            self.bytes.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.byte(n as u8)
    }

    pub fn int(&mut self, n: i64) -> &mut Self {
        self.uint((n << 1 ^ n >> 63) as u64)
    }

    pub fn text(&mut self, s: &str) -> &mut Self {
        let mut end = s.len().min(MAX_NAME);
        while !s.is_char_boundary(end) {
            end -= 1;
        }
        self.uint(end as u64);
        self.bytes.extend(&s.as_bytes()[..end]);
        self
    }
}
