//! Tensors: dense, in row-major order.

use crate::fault::{fault, Res, OUT_OF_MEMORY};

pub const MAX_RANK: usize = 8;

pub const F32: u8 = 2;
pub const I64: u8 = 5;
pub const I32: u8 = 6;
pub const U8: u8 = 12;
pub const BOOL: u8 = 13;

/// An id with a type.
#[derive(Debug, Clone)]
pub struct Desc {
    pub id: u64,
    pub dtype: u8,
    pub shape: Vec<usize>,
}

impl Desc {
    /// The bytes of an element, 0 for a type that is not in the list of section 4.
    pub fn element_size(dtype: u8) -> usize {
        match dtype {
            1 | 5 | 9 => 8,
            2 | 6 | 10 => 4,
            3 | 4 | 7 | 11 => 2,
            8 | 12..=23 => 1,
            _ => 0,
        }
    }

    pub fn bytes(&self) -> usize {
        count(&self.shape) * Self::element_size(self.dtype)
    }
}

pub fn count(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// A number as attributes have it, and what cast goes through.
#[derive(Debug, Clone, Copy)]
pub enum Num {
    F(f64),
    I(i64),
}

/// The elements. bool is u8, 0 or 1.
#[derive(Debug, Clone)]
pub enum Data {
    F32(Vec<f32>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
}

#[derive(Debug)]
pub struct Tensor {
    pub dtype: u8,
    pub shape: Vec<usize>,
    pub data: Data,
}

impl Tensor {
    pub fn new<T: Element>(dtype: u8, shape: &[usize], data: Vec<T>) -> Tensor {
        Tensor { dtype, shape: shape.to_vec(), data: T::data(data) }
    }

    /// A tensor of the bytes of a WRITE, which are as many as the type has.
    pub fn read(d: &Desc, b: &[u8]) -> Res<Tensor> {
        let data = match d.dtype {
            F32 => Data::F32(b.chunks_exact(4).map(|c| f32::from_le_bytes(c.try_into().expect("four bytes"))).collect()),
            I32 => Data::I32(b.chunks_exact(4).map(|c| i32::from_le_bytes(c.try_into().expect("four bytes"))).collect()),
            I64 => Data::I64(b.chunks_exact(8).map(|c| i64::from_le_bytes(c.try_into().expect("eight bytes"))).collect()),
            U8 => Data::U8(b.to_vec()),
            BOOL => Data::U8(b.iter().map(|&x| u8::from(x != 0)).collect()),
            other => return fault(crate::fault::UNSUPPORTED, format!("element type {other}")),
        };
        Ok(Tensor { dtype: d.dtype, shape: d.shape.clone(), data })
    }

    pub fn bytes(&self) -> Vec<u8> {
        match &self.data {
            Data::F32(v) => v.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Data::I32(v) => v.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Data::I64(v) => v.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Data::U8(v) => v.clone(),
        }
    }

    pub fn size(&self) -> usize {
        count(&self.shape) * Desc::element_size(self.dtype)
    }
}

/// Refuses what there is no memory for, before a Vec ends the process for it.
pub fn room(bytes: usize) -> Res<()> {
    const MOST: usize = 1 << 32;
    if bytes > MOST || Vec::<u8>::new().try_reserve_exact(bytes).is_err() {
        return fault(OUT_OF_MEMORY, format!("a tensor of {bytes} bytes"));
    }
    Ok(())
}

/// What sums and products are kept in.
pub trait Wide: Copy {
    const ZERO: Self;
    const ONE: Self;
    fn plus(self, b: Self) -> Self;
    fn times(self, b: Self) -> Self;
}

impl Wide for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    fn plus(self, b: f64) -> f64 {
        self + b
    }
    fn times(self, b: f64) -> f64 {
        self * b
    }
}

impl Wide for i64 {
    const ZERO: i64 = 0;
    const ONE: i64 = 1;
    fn plus(self, b: i64) -> i64 {
        self.wrapping_add(b)
    }
    fn times(self, b: i64) -> i64 {
        self.wrapping_mul(b)
    }
}

/// The types of elements.
pub trait Element: Copy + PartialOrd + Default + 'static {
    type Wide: Wide;
    const LEAST: Self;
    const GREATEST: Self;
    fn wide(self) -> Self::Wide;
    fn narrow(w: Self::Wide) -> Self;
    fn num(self) -> Num;
    fn of(n: Num) -> Self;
    fn view(d: &Data) -> &[Self];
    fn data(v: Vec<Self>) -> Data;
    fn greater(a: Self, b: Self) -> Self;
    fn lesser(a: Self, b: Self) -> Self;

    #[allow(clippy::eq_op)]
    fn is_nan(self) -> bool {
        self != self
    }
}

macro_rules! element {
    ($t:ty, $wide:ty, $variant:ident, $num:ident, $as:ty, $least:expr, $greatest:expr, $greater:expr, $lesser:expr) => {
        impl Element for $t {
            type Wide = $wide;
            const LEAST: $t = $least;
            const GREATEST: $t = $greatest;
            fn wide(self) -> $wide {
                self as $wide
            }
            fn narrow(w: $wide) -> $t {
                w as $t
            }
            fn num(self) -> Num {
                Num::$num(self as $as)
            }
            fn of(n: Num) -> $t {
                match n {
                    Num::F(f) => f as $t,
                    Num::I(i) => i as $t,
                }
            }
            fn view(d: &Data) -> &[$t] {
                match d {
                    Data::$variant(v) => v,
                    _ => panic!("an operand has another element type"),
                }
            }
            fn data(v: Vec<$t>) -> Data {
                Data::$variant(v)
            }
            fn greater(a: $t, b: $t) -> $t {
                $greater(a, b)
            }
            fn lesser(a: $t, b: $t) -> $t {
                $lesser(a, b)
            }
        }
    };
}

fn greater_float(a: f32, b: f32) -> f32 {
    if a.is_nan() || a > b || a == b && b.is_sign_negative() {
        a
    } else {
        b
    }
}

fn lesser_float(a: f32, b: f32) -> f32 {
    if a.is_nan() || a < b || a == b && a.is_sign_negative() {
        a
    } else {
        b
    }
}

element!(f32, f64, F32, F, f64, f32::NEG_INFINITY, f32::INFINITY, greater_float, lesser_float);
element!(i32, i64, I32, I, i64, i32::MIN, i32::MAX, i32::max, i32::min);
element!(i64, i64, I64, I, i64, i64::MIN, i64::MAX, i64::max, i64::min);
element!(u8, i64, U8, I, i64, 0, u8::MAX, u8::max, u8::min);

/// Calls a generic function with the element type of some data.
#[macro_export]
macro_rules! by_type {
    ($data:expr, $f:ident($($arg:expr),*)) => {
        match $data {
            $crate::tensor::Data::F32(_) => $f::<f32>($($arg),*),
            $crate::tensor::Data::I32(_) => $f::<i32>($($arg),*),
            $crate::tensor::Data::I64(_) => $f::<i64>($($arg),*),
            $crate::tensor::Data::U8(_) => $f::<u8>($($arg),*),
        }
    };
}
