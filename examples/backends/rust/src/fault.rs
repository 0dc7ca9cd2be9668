//! Errors: PROTOCOL.md, section 7.

use crate::codec::Writer;
use crate::tensor::Desc;

pub const SHAPE: u64 = 1;
pub const ATTR: u64 = 3;
pub const UNSUPPORTED: u64 = 4;
pub const INDEX: u64 = 5;
pub const OUT_OF_MEMORY: u64 = 6;
pub const STALE: u64 = 8;
pub const UNKNOWN_TENSOR: u64 = 9;
pub const PROTOCOL: u64 = 10;
pub const CLOSED: u64 = 11;
pub const CANCELED: u64 = 12;
pub const NOT_FOUND: u64 = 13;
pub const KERNEL: u64 = 14;

/// An error of form 0.
#[derive(Debug, Clone)]
pub struct Fault {
    pub code: u64,
    pub text: String,
}

pub type Res<T> = Result<T, Fault>;

pub fn fault<T>(code: u64, text: impl Into<String>) -> Res<T> {
    Err(Fault { code, text: text.into() })
}

/// What ends a stream.
pub fn broken<T>(text: impl Into<String>) -> Res<T> {
    fault(PROTOCOL, text)
}

impl Fault {
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::new();
        w.byte(0).uint(self.code).text(&self.text);
        w.bytes
    }

    /// The failure of a node: form 1.
    pub fn of_node(&self, op: &str, outputs: &[Desc]) -> Vec<u8> {
        let mut w = Writer::new();
        let named = &outputs[..outputs.len().min(64)];
        w.byte(1).text(op).text("").uint(named.len() as u64);
        for d in named {
            w.uint(d.id).byte(d.dtype).byte(d.shape.len() as u8);
            for &n in &d.shape {
                w.int(n as i64);
            }
        }
        w.bytes.extend(self.encode());
        w.bytes
    }
}
