//! Unary, binary and ternary ops.

use super::movement::broadcast;
use super::{op, sets, Operands, Table};
use crate::by_type;
use crate::fault::Res;
use crate::tensor::{Element, Tensor, BOOL};

/// A float function, computed in f64 and rounded.
macro_rules! float {
    ($t:expr, $name:expr, $f:expr) => {
        op($t, $name, &[sets::FLOATS], |_, x| {
            let f: fn(f64) -> f64 = $f;
            unary::<f32, f32>(x, x[0].dtype, |v| f(f64::from(v)) as f32)
        })
    };
}

/// A binary op on the types that one expression serves.
macro_rules! binary {
    ($t:expr, $name:expr, $set:expr, $result:expr, { $($ty:ident => $f:expr),* }) => {
        op($t, $name, &[$set, $set], |_, x| {
            let dtype = if $result == BOOL { BOOL } else { x[0].dtype };
            match &x[0].data {
                $(crate::tensor::Data::$ty(_) => pairs(x, dtype, $f),)*
                #[allow(unreachable_patterns)]
                _ => crate::fault::fault(crate::fault::UNSUPPORTED, "element type"),
            }
        })
    };
}

pub fn add(t: &mut Table) {
    float!(t, "exp", f64::exp);
    float!(t, "log", f64::ln);
    float!(t, "log1p", f64::ln_1p);
    float!(t, "expm1", f64::exp_m1);
    float!(t, "sqrt", f64::sqrt);
    float!(t, "sin", f64::sin);
    float!(t, "cos", f64::cos);
    float!(t, "tan", f64::tan);
    float!(t, "asin", f64::asin);
    float!(t, "acos", f64::acos);
    float!(t, "atan", f64::atan);
    float!(t, "sinh", f64::sinh);
    float!(t, "cosh", f64::cosh);
    float!(t, "tanh", f64::tanh);
    float!(t, "erf", libm::erf);
    float!(t, "floor", f64::floor);
    float!(t, "ceil", f64::ceil);
    float!(t, "round", f64::round_ties_even);
    op(t, "is_nan", &[sets::FLOATS], |_, x| unary::<f32, u8>(x, BOOL, |v| u8::from(v.is_nan())));
    op(t, "neg", &[sets::SIGNED], |_, x| match x[0].dtype {
        crate::tensor::F32 => unary::<f32, f32>(x, x[0].dtype, |v| -v),
        crate::tensor::I32 => unary::<i32, i32>(x, x[0].dtype, i32::wrapping_neg),
        _ => unary::<i64, i64>(x, x[0].dtype, i64::wrapping_neg),
    });
    op(t, "abs", &[sets::NUMBERS], |_, x| match x[0].dtype {
        crate::tensor::F32 => unary::<f32, f32>(x, x[0].dtype, f32::abs),
        crate::tensor::I32 => unary::<i32, i32>(x, x[0].dtype, i32::wrapping_abs),
        crate::tensor::I64 => unary::<i64, i64>(x, x[0].dtype, i64::wrapping_abs),
        _ => unary::<u8, u8>(x, x[0].dtype, |v| v),
    });
    op(t, "not", &[sets::LOGICAL], |_, x| match x[0].dtype {
        BOOL => unary::<u8, u8>(x, BOOL, |v| 1 - v),
        crate::tensor::I32 => unary::<i32, i32>(x, x[0].dtype, |v| !v),
        crate::tensor::I64 => unary::<i64, i64>(x, x[0].dtype, |v| !v),
        _ => unary::<u8, u8>(x, x[0].dtype, |v| !v),
    });

    binary!(t, "add", sets::NUMBERS, 0, { F32 => |a: f32, b| a + b, I32 => i32::wrapping_add, I64 => i64::wrapping_add, U8 => u8::wrapping_add });
    binary!(t, "sub", sets::NUMBERS, 0, { F32 => |a: f32, b| a - b, I32 => i32::wrapping_sub, I64 => i64::wrapping_sub, U8 => u8::wrapping_sub });
    binary!(t, "mul", sets::NUMBERS, 0, { F32 => |a: f32, b| a * b, I32 => i32::wrapping_mul, I64 => i64::wrapping_mul, U8 => u8::wrapping_mul });
    binary!(t, "div", sets::NUMBERS, 0, { F32 => |a: f32, b| a / b,
        I32 => |a: i32, b| if b == 0 { !0 } else { a.wrapping_div(b) }, I64 => |a: i64, b| if b == 0 { !0 } else { a.wrapping_div(b) },
        U8 => |a: u8, b| if b == 0 { !0 } else { a / b } });
    binary!(t, "rem", sets::NUMBERS, 0, { F32 => |a: f32, b| a % b,
        I32 => |a: i32, b| if b == 0 { a } else { a.wrapping_rem(b) }, I64 => |a: i64, b| if b == 0 { a } else { a.wrapping_rem(b) },
        U8 => |a: u8, b| if b == 0 { a } else { a % b } });
    binary!(t, "pow", sets::NUMBERS, 0, { F32 => |a: f32, b: f32| f64::from(a).powf(f64::from(b)) as f32,
        I32 => |a: i32, b| power(a.into(), b.into()) as i32, I64 => power, U8 => |a: u8, b| power(a.into(), b.into()) as u8 });
    binary!(t, "max", sets::NUMBERS, 0, { F32 => f32::greater, I32 => i32::greater, I64 => i64::greater, U8 => u8::greater });
    binary!(t, "min", sets::NUMBERS, 0, { F32 => f32::lesser, I32 => i32::lesser, I64 => i64::lesser, U8 => u8::lesser });
    binary!(t, "atan2", sets::FLOATS, 0, { F32 => |a: f32, b: f32| f64::from(a).atan2(f64::from(b)) as f32 });
    binary!(t, "equal", sets::ANY, BOOL, { F32 => |a: f32, b| u8::from(a == b), I32 => |a: i32, b| u8::from(a == b), I64 => |a: i64, b| u8::from(a == b),
        U8 => |a: u8, b| u8::from(a == b) });
    binary!(t, "less", sets::NUMBERS, BOOL, { F32 => |a: f32, b| u8::from(a < b), I32 => |a: i32, b| u8::from(a < b), I64 => |a: i64, b| u8::from(a < b),
        U8 => |a: u8, b| u8::from(a < b) });
    binary!(t, "and", sets::LOGICAL, 0, { I32 => |a: i32, b| a & b, I64 => |a: i64, b| a & b, U8 => |a: u8, b| a & b });
    binary!(t, "or", sets::LOGICAL, 0, { I32 => |a: i32, b| a | b, I64 => |a: i64, b| a | b, U8 => |a: u8, b| a | b });
    binary!(t, "xor", sets::LOGICAL, 0, { I32 => |a: i32, b| a ^ b, I64 => |a: i64, b| a ^ b, U8 => |a: u8, b| a ^ b });
    // The number of bits counts as unsigned: a negative one is great.
    binary!(t, "shl", sets::INTEGERS, 0, { I32 => |a: i32, b: i32| a.checked_shl(b as u32).unwrap_or(0),
        I64 => |a: i64, b: i64| if b as u64 > 63 { 0 } else { a << b }, U8 => |a: u8, b: u8| a.checked_shl(b.into()).unwrap_or(0) });
    binary!(t, "shr", sets::INTEGERS, 0, { I32 => |a: i32, b: i32| a >> (b as u32).min(31), I64 => |a: i64, b: i64| a >> (b as u64).min(63),
        U8 => |a: u8, b: u8| a.checked_shr(b.into()).unwrap_or(0) });
    op(t, "where", &[sets::BOOLS, sets::ANY, sets::ANY], |n, x| Ok(vec![by_type!(&x[1].data, choose(x, &n.outputs[0].shape))]));
}

fn unary<T: Element, R: Element>(x: Operands, dtype: u8, f: impl Fn(T) -> R) -> Res<Vec<Tensor>> {
    Ok(vec![Tensor::new(dtype, &x[0].shape, T::view(&x[0].data).iter().map(|&v| f(v)).collect())])
}

/// The shape that two broadcast to, or nothing.
fn joined(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let at = |s: &[usize], i: usize| if i + s.len() < rank { 1 } else { s[i + s.len() - rank] };
    (0..rank)
        .map(|i| match (at(a, i), at(b, i)) {
            (x, y) if x == y || y == 1 => Some(x),
            (1, y) => Some(y),
            _ => None,
        })
        .collect()
}

fn pairs<T: Element, R: Element>(x: Operands, dtype: u8, f: impl Fn(T, T) -> R) -> Res<Vec<Tensor>> {
    let Some(shape) = joined(&x[0].shape, &x[1].shape) else {
        return crate::fault::fault(crate::fault::SHAPE, format!("{:?} and {:?} do not broadcast", x[0].shape, x[1].shape));
    };
    if x[0].dtype != x[1].dtype {
        return crate::fault::fault(crate::fault::ATTR, "the operands have different element types");
    }
    let (a, b) = (broadcast::<T>(&x[0], &shape), broadcast::<T>(&x[1], &shape));
    Ok(vec![Tensor::new(dtype, &shape, a.into_iter().zip(b).map(|(a, b)| f(a, b)).collect())])
}

fn choose<T: Element>(x: Operands, shape: &[usize]) -> Tensor {
    let (c, a, b) = (broadcast::<u8>(&x[0], shape), broadcast::<T>(&x[1], shape), broadcast::<T>(&x[2], shape));
    let data = (0..c.len()).map(|i| if c[i] != 0 { a[i] } else { b[i] }).collect();
    Tensor::new(x[1].dtype, shape, data)
}

/// Squares and multiplies; narrower types keep the low bits. A negative exponent gives 0, unless a is 1 or -1.
fn power(mut a: i64, b: i64) -> i64 {
    if b < 0 {
        return match a {
            1 => 1,
            -1 if b % 2 == 0 => 1,
            -1 => -1,
            _ => 0,
        };
    }
    let (mut e, mut y) = (b, 1i64);
    while e > 0 {
        if e & 1 != 0 {
            y = y.wrapping_mul(a);
        }
        a = a.wrapping_mul(a);
        e >>= 1;
    }
    y
}
