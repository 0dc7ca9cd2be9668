//! gather and scatter.

use super::{op, sets, Operands, Table};
use crate::by_type;
use crate::codec::Node;
use crate::fault::{fault, Res, ATTR, INDEX};
use crate::tensor::{count, Data, Element, Num, Tensor};

pub fn add(t: &mut Table) {
    op(t, "gather", &[sets::ANY, sets::INDICES], |n, x| by_type!(&x[0].data, gather(n, x)));
    op(t, "scatter", &[sets::ANY, sets::INDICES, sets::ANY], |n, x| by_type!(&x[0].data, scatter(n, x)));
}

/// Which rows of inner elements of x, seen as [outer, length, inner], the indices name, in the order of what goes with them.
fn rows(n: &Node, x: Operands) -> Res<(Vec<usize>, usize)> {
    let (axis, batch) = (n.int("axis")? as usize, n.int("batch")? as usize);
    let shape = &x[0].shape;
    let (batches, middle, inner) = (count(&shape[..batch]), count(&shape[batch..axis]), count(&shape[axis + 1..]));
    let indices: Vec<i64> = match &x[1].data {
        Data::I32(v) => v.iter().map(|&i| i64::from(i)).collect(),
        other => i64::view(other).to_vec(),
    };
    if middle * inner == 0 {
        return Ok((Vec::new(), inner));
    }
    if let Some(k) = indices.iter().position(|&i| i < 0 || i >= shape[axis] as i64) {
        return fault(INDEX, format!("index {} at position {k}, want one below {}", indices[k], shape[axis]));
    }
    let positions = count(&x[1].shape[batch..]);
    let mut at = Vec::with_capacity(indices.len() * middle);
    for b in 0..batches {
        for m in 0..middle {
            at.extend(indices[b * positions..][..positions].iter().map(|&i| (b * middle + m) * shape[axis] + i as usize));
        }
    }
    Ok((at, inner))
}

fn gather<T: Element>(n: &Node, x: Operands) -> Res<Vec<Tensor>> {
    let (at, inner) = rows(n, x)?;
    let from = T::view(&x[0].data);
    let data = at.iter().flat_map(|&k| from[k * inner..][..inner].iter().copied()).collect();
    Ok(vec![Tensor::new::<T>(x[0].dtype, &n.outputs[0].shape, data)])
}

fn scatter<T: Element>(n: &Node, x: Operands) -> Res<Vec<Tensor>> {
    let (at, inner) = rows(n, x)?;
    let meet: fn(T, T) -> T = match n.word("mode")? {
        "assign" => |_, b| b,
        "add" => |a, b| wrapped(a, b, |p, q| p + q, i64::wrapping_add),
        "mul" => |a, b| wrapped(a, b, |p, q| p * q, i64::wrapping_mul),
        "min" => T::lesser,
        "max" => T::greater,
        other => return fault(ATTR, format!("mode {other}")),
    };
    let (mut y, updates) = (T::view(&x[0].data).to_vec(), T::view(&x[2].data));
    for (j, &k) in at.iter().enumerate() {
        for i in 0..inner {
            y[k * inner + i] = meet(y[k * inner + i], updates[j * inner + i]);
        }
    }
    Ok(vec![Tensor::new(x[0].dtype, &x[0].shape, y)])
}

/// Arithmetic that rounds floats and wraps integers at once.
fn wrapped<T: Element>(a: T, b: T, f: fn(f64, f64) -> f64, g: fn(i64, i64) -> i64) -> T {
    match (a.num(), b.num()) {
        (Num::F(p), Num::F(q)) => T::of(Num::F(f(p, q))),
        (Num::I(p), Num::I(q)) => T::of(Num::I(g(p, q))),
        _ => unreachable!("two elements of one type"),
    }
}
