//! Ops that move elements.

use super::creation::truth;
use super::layout::{expanded, permute, pick, place, strides};
use super::{op, sets, Operands, Table};
use crate::by_type;
use crate::codec::Node;
use crate::fault::Res;
use crate::tensor::{count, Element, Tensor, BOOL};

pub fn add(t: &mut Table) {
    op(t, "copy", &[sets::ANY], |_, x| Ok(vec![Tensor { dtype: x[0].dtype, shape: x[0].shape.clone(), data: x[0].data.clone() }]));
    op(t, "reshape", &[sets::ANY], |n, x| Ok(vec![Tensor { dtype: x[0].dtype, shape: n.sizes("shape")?, data: x[0].data.clone() }]));
    op(t, "permute", &[sets::ANY], |n, x| by_type!(&x[0].data, permuted(n, x)));
    op(t, "expand", &[sets::ANY], |n, x| by_type!(&x[0].data, expand(n, x)));
    op(t, "flip", &[sets::ANY], |n, x| by_type!(&x[0].data, flip(n, x)));
    op(t, "slice", &[sets::ANY], |n, x| by_type!(&x[0].data, slice(n, x)));
    op(t, "pad", &[sets::ANY], |n, x| by_type!(&x[0].data, pad(n, x)));
    op(t, "concat", &[sets::ANY], |n, x| by_type!(&x[0].data, concat(n, x)));
}

/// The elements of a tensor in the shape that it broadcasts to.
pub fn broadcast<T: Element>(x: &Tensor, to: &[usize]) -> Vec<T> {
    pick(T::view(&x.data), to, &expanded(&x.shape, to), 0)
}

fn one<T: Element>(x: &Tensor, shape: &[usize], data: Vec<T>) -> Res<Vec<Tensor>> {
    Ok(vec![Tensor::new(x.dtype, shape, data)])
}

fn permuted<T: Element>(n: &Node, x: Operands) -> Res<Vec<Tensor>> {
    let axes = n.sizes("axes")?;
    let shape: Vec<usize> = axes.iter().map(|&a| x[0].shape[a]).collect();
    one(&x[0], &shape, permute(T::view(&x[0].data), &x[0].shape, &axes))
}

fn expand<T: Element>(n: &Node, x: Operands) -> Res<Vec<Tensor>> {
    let shape = n.sizes("shape")?;
    one(&x[0], &shape, broadcast::<T>(&x[0], &shape))
}

fn flip<T: Element>(n: &Node, x: Operands) -> Res<Vec<Tensor>> {
    let (mut own, mut offset) = (strides(&x[0].shape), 0);
    for a in n.sizes("axes")? {
        offset += own[a] * (x[0].shape[a] as isize - 1);
        own[a] = -own[a];
    }
    one(&x[0], &x[0].shape, pick(T::view(&x[0].data), &x[0].shape, &own, offset))
}

fn slice<T: Element>(n: &Node, x: Operands) -> Res<Vec<Tensor>> {
    let (start, step, size, own) = (n.ints("start")?, n.ints("step")?, n.sizes("size")?, strides(&x[0].shape));
    let offset = start.iter().zip(&own).map(|(&i, &s)| i as isize * s).sum();
    let by: Vec<isize> = step.iter().zip(&own).map(|(&i, &s)| i as isize * s).collect();
    one(&x[0], &size, pick(T::view(&x[0].data), &size, &by, offset))
}

fn pad<T: Element>(n: &Node, x: Operands) -> Res<Vec<Tensor>> {
    let (lo, hi, value) = (n.ints("lo")?, n.ints("hi")?, n.scalar("value")?);
    let shape: Vec<usize> = (0..lo.len()).map(|i| (x[0].shape[i] as i64 + lo[i] + hi[i]) as usize).collect();
    let fill = if x[0].dtype == BOOL { T::of(crate::tensor::Num::I(truth(value).into())) } else { T::of(value) };
    let mut y = vec![fill; count(&shape)];
    place(&mut y, &shape, T::view(&x[0].data), &x[0].shape, &lo, &vec![1; lo.len()]);
    one(&x[0], &shape, y)
}

fn concat<T: Element>(n: &Node, x: Operands) -> Res<Vec<Tensor>> {
    let axis = n.int("axis")? as usize;
    let mut shape = x[0].shape.clone();
    shape[axis] = x.iter().map(|t| t.shape[axis]).sum();
    let (mut y, mut at) = (vec![T::default(); count(&shape)], vec![0; shape.len()]);
    for t in x {
        place(&mut y, &shape, T::view(&t.data), &t.shape, &at, &vec![1; shape.len()]);
        at[axis] += t.shape[axis] as i64;
    }
    one(&x[0], &shape, y)
}
