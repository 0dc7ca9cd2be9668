//! full, iota, random_bits and cast.

use super::{op, sets, source, Operands, Table};
use crate::by_type;
use crate::codec::Node;
use crate::fault::Res;
use crate::tensor::{count, Data, Element, Num, Tensor, BOOL, F32, I32, I64};

pub fn add(t: &mut Table) {
    source(t, "full", sets::ANY, |n, _| {
        let shape = n.sizes("shape")?;
        Ok(vec![filled(n.dtype("dtype")?, &shape, n.scalar("value")?)])
    });
    source(t, "iota", sets::NUMBERS, iota);
    source(t, "random_bits", 1 << I32, random_bits);
    op(t, "cast", &[sets::ANY], |n, x| Ok(vec![by_type!(&x[0].data, cast(&x[0], n.dtype("dtype")?))]));
}

/// A number as element of a type, as cast converts it.
pub fn truth(v: Num) -> u8 {
    u8::from(match v {
        Num::F(f) => f != 0.0,
        Num::I(i) => i != 0,
    })
}

/// A tensor of one value.
pub fn filled(dtype: u8, shape: &[usize], v: Num) -> Tensor {
    let n = count(shape);
    let data = match dtype {
        F32 => Data::F32(vec![f32::of(v); n]),
        I32 => Data::I32(vec![i32::of(v); n]),
        I64 => Data::I64(vec![i64::of(v); n]),
        BOOL => Data::U8(vec![truth(v); n]),
        _ => Data::U8(vec![u8::of(v); n]),
    };
    Tensor { dtype, shape: shape.to_vec(), data }
}

/// Converts each element.
fn converted(dtype: u8, shape: &[usize], values: impl Iterator<Item = Num>) -> Tensor {
    let data = match dtype {
        F32 => Data::F32(values.map(f32::of).collect()),
        I32 => Data::I32(values.map(i32::of).collect()),
        I64 => Data::I64(values.map(i64::of).collect()),
        BOOL => Data::U8(values.map(truth).collect()),
        _ => Data::U8(values.map(u8::of).collect()),
    };
    Tensor { dtype, shape: shape.to_vec(), data }
}

fn cast<T: Element>(x: &Tensor, dtype: u8) -> Tensor {
    converted(dtype, &x.shape, T::view(&x.data).iter().map(|v| v.num()))
}

fn iota(n: &Node, _: Operands) -> Res<Vec<Tensor>> {
    let (shape, axis) = (n.sizes("shape")?, n.int("axis")? as usize);
    let inner = count(&shape[axis + 1..]);
    let values = (0..count(&shape)).map(|i| Num::I((i / inner % shape[axis]) as i64));
    Ok(vec![converted(n.dtype("dtype")?, &shape, values)])
}

/// Philox 4x32-10. Word i of the result is word i mod 4 of the block with counter (counter + i div 4, 0).
fn random_bits(n: &Node, _: Operands) -> Res<Vec<Tensor>> {
    let (seed, first, shape) = (n.int("seed")? as u64, n.int("counter")? as u64, n.sizes("shape")?);
    let words = (0..count(&shape)).map(|i| philox(seed, first.wrapping_add(i as u64 / 4))[i % 4] as i32).collect();
    Ok(vec![Tensor::new::<i32>(I32, &shape, words)])
}

fn philox(seed: u64, block: u64) -> [u32; 4] {
    let mut x = [block as u32, (block >> 32) as u32, 0, 0];
    let (mut k0, mut k1) = (seed as u32, (seed >> 32) as u32);
    for _ in 0..10 {
        let a = u64::from(x[0]) * 0xD251_1F53;
        let b = u64::from(x[2]) * 0xCD9E_8D57;
        x = [(b >> 32) as u32 ^ x[1] ^ k0, b as u32, (a >> 32) as u32 ^ x[3] ^ k1, a as u32];
        k0 = k0.wrapping_add(0x9E37_79B9);
        k1 = k1.wrapping_add(0xBB67_AE85);
    }
    x
}
