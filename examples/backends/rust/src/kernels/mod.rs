//! The ops: every primitive of OPS.md on the types that every backend has.

mod contraction;
mod creation;
mod elementwise;
mod indexing;
mod layout;
mod movement;
mod reduction;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::codec::{Node, Value};
use crate::fault::{fault, Res, ATTR, UNSUPPORTED};
use crate::messages;
use crate::tensor::{Num, Tensor, BOOL, F32, I32, I64, MAX_RANK, U8};

/// The operands of a kernel. It gives one tensor for each output of the node.
pub type Operands<'a> = &'a [Arc<Tensor>];
pub type Kernel = fn(&Node, Operands) -> Res<Vec<Tensor>>;

/// Sets of element types, as the protocol carries them.
pub mod sets {
    use super::*;
    pub const BOOLS: u32 = 1 << BOOL;
    pub const FLOATS: u32 = 1 << F32;
    pub const INTEGERS: u32 = 1 << I32 | 1 << I64 | 1 << U8;
    pub const NUMBERS: u32 = FLOATS | INTEGERS;
    pub const SIGNED: u32 = FLOATS | 1 << I32 | 1 << I64;
    pub const LOGICAL: u32 = INTEGERS | BOOLS;
    pub const INDICES: u32 = 1 << I32 | 1 << I64;
    pub const ANY: u32 = NUMBERS | BOOLS;
}

/// A claim: the types by operand, the last of which holds for all behind it, and for ops without operands those of the result.
pub struct Claim {
    pub operands: Vec<u32>,
    pub results: Vec<u32>,
    pub kernel: Kernel,
}

pub type Table = HashMap<&'static str, Claim>;

/// Adds an op with operands.
pub fn op(t: &mut Table, name: &'static str, operands: &[u32], kernel: Kernel) {
    t.insert(name, Claim { operands: operands.to_vec(), results: Vec::new(), kernel });
}

/// Adds an op without operands.
pub fn source(t: &mut Table, name: &'static str, results: u32, kernel: Kernel) {
    t.insert(name, Claim { operands: Vec::new(), results: vec![results], kernel });
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut t = Table::new();
        creation::add(&mut t);
        movement::add(&mut t);
        elementwise::add(&mut t);
        indexing::add(&mut t);
        reduction::add(&mut t);
        contraction::add(&mut t);
        t
    })
}

/// The version of every row that is claimed.
const VERSION: u32 = 1;

pub fn capabilities() -> messages::Capabilities {
    let ops = table().iter().map(|(name, c)| messages::Op { name: name.to_string(), version: VERSION, operands: c.operands.clone(), results: c.results.clone() });
    messages::Capabilities {
        types: sets::ANY,
        ops: ops.collect(),
        limits: Some(messages::Limits { rank: MAX_RANK as u32 }),
        deterministic: true,
        features: vec!["memory_stats".into()],
    }
}

/// Refuses a node that is not claimed.
pub fn check(n: &Node, operands: Operands) -> Res<()> {
    let Some(c) = table().get(n.op.as_str()).filter(|_| n.version == u64::from(VERSION)) else {
        return fault(UNSUPPORTED, format!("{} version {}", n.op, n.version));
    };
    for (i, x) in operands.iter().enumerate() {
        let set = c.operands.get(i).or(c.operands.last()).copied().unwrap_or(0);
        if set >> x.dtype & 1 == 0 {
            return fault(UNSUPPORTED, format!("{} with operand {i} of element type {}", n.op, x.dtype));
        }
    }
    for d in &n.outputs {
        let set = c.results.first().copied().unwrap_or(sets::ANY);
        if set >> d.dtype & 1 == 0 {
            return fault(UNSUPPORTED, format!("{} with a result of element type {}", n.op, d.dtype));
        }
    }
    if operands.len() < c.operands.len() {
        return fault(ATTR, format!("{} with {} operands, want {}", n.op, operands.len(), c.operands.len()));
    }
    Ok(())
}

/// Runs a node that was checked.
pub fn run(n: &Node, operands: Operands) -> Res<Vec<Tensor>> {
    (table()[n.op.as_str()].kernel)(n, operands)
}

/// Attributes. One that is missing or of another kind is an error.
impl Node {
    fn attr(&self, name: &str) -> Res<&Value> {
        match self.attrs.get(name) {
            Some(v) => Ok(v),
            None => fault(ATTR, format!("{} without {name}", self.op)),
        }
    }

    fn wrong<T>(&self, name: &str) -> Res<T> {
        fault(ATTR, format!("{}: {name} is of another kind", self.op))
    }

    pub fn int(&self, name: &str) -> Res<i64> {
        match self.attr(name)? {
            Value::Int(i) => Ok(*i),
            _ => self.wrong(name),
        }
    }

    pub fn ints(&self, name: &str) -> Res<Vec<i64>> {
        match self.attr(name)? {
            Value::Ints(l) => Ok(l.clone()),
            _ => self.wrong(name),
        }
    }

    /// A list of sizes or axes.
    pub fn sizes(&self, name: &str) -> Res<Vec<usize>> {
        Ok(self.ints(name)?.iter().map(|&i| i as usize).collect())
    }

    pub fn flag(&self, name: &str) -> Res<bool> {
        match self.attr(name)? {
            Value::Bool(b) => Ok(*b),
            _ => self.wrong(name),
        }
    }

    pub fn word(&self, name: &str) -> Res<&str> {
        match self.attr(name)? {
            Value::Text(s) => Ok(s),
            _ => self.wrong(name),
        }
    }

    pub fn scalar(&self, name: &str) -> Res<Num> {
        match self.attr(name)? {
            Value::Scalar(n) => Ok(*n),
            _ => self.wrong(name),
        }
    }

    pub fn dtype(&self, name: &str) -> Res<u8> {
        match self.attr(name)? {
            Value::DType(d) => Ok(*d),
            _ => self.wrong(name),
        }
    }
}
