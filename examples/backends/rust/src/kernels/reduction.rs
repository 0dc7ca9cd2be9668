//! Reductions, scans and sort.

use std::cmp::Ordering;

use super::layout::{inverse, permute, to_end};
use super::{op, sets, Operands, Table};
use crate::by_type;
use crate::codec::Node;
use crate::fault::Res;
use crate::tensor::{Element, Tensor, Wide, I64};

/// What joins elements: the state, and how an element meets it.
trait Fold<T: Element> {
    type State: Copy;
    fn start() -> Self::State;
    fn join(s: Self::State, v: T) -> Self::State;
    fn value(s: Self::State) -> T;
}

struct Sum;
struct Prod;
struct Max;
struct Min;

impl<T: Element> Fold<T> for Sum {
    type State = T::Wide;
    fn start() -> T::Wide {
        T::Wide::ZERO
    }
    fn join(s: T::Wide, v: T) -> T::Wide {
        s.plus(v.wide())
    }
    fn value(s: T::Wide) -> T {
        T::narrow(s)
    }
}

impl<T: Element> Fold<T> for Prod {
    type State = T::Wide;
    fn start() -> T::Wide {
        T::Wide::ONE
    }
    fn join(s: T::Wide, v: T) -> T::Wide {
        s.times(v.wide())
    }
    fn value(s: T::Wide) -> T {
        T::narrow(s)
    }
}

impl<T: Element> Fold<T> for Max {
    type State = T;
    fn start() -> T {
        T::LEAST
    }
    fn join(s: T, v: T) -> T {
        T::greater(s, v)
    }
    fn value(s: T) -> T {
        s
    }
}

impl<T: Element> Fold<T> for Min {
    type State = T;
    fn start() -> T {
        T::GREATEST
    }
    fn join(s: T, v: T) -> T {
        T::lesser(s, v)
    }
    fn value(s: T) -> T {
        s
    }
}

/// Calls a function that is generic in the fold and the element type.
macro_rules! folding {
    ($t:expr, $fold:ident, $reduce:expr, $scan:expr) => {
        op($t, $reduce, &[sets::NUMBERS], |n, x| {
            fn reduced<T: Element>(n: &Node, x: Operands) -> Res<Vec<Tensor>> {
                reduce::<T, $fold>(n, x)
            }
            by_type!(&x[0].data, reduced(n, x))
        });
        op($t, $scan, &[sets::NUMBERS], |n, x| {
            fn scanned<T: Element>(n: &Node, x: Operands) -> Res<Vec<Tensor>> {
                scan::<T, $fold>(n, x)
            }
            by_type!(&x[0].data, scanned(n, x))
        });
    };
}

pub fn add(t: &mut Table) {
    folding!(t, Sum, "sum", "cumsum");
    folding!(t, Prod, "prod", "cumprod");
    folding!(t, Max, "reduce_max", "cummax");
    folding!(t, Min, "reduce_min", "cummin");
    op(t, "argmax", &[sets::NUMBERS], |n, x| by_type!(&x[0].data, arg(n, x, true)));
    op(t, "argmin", &[sets::NUMBERS], |n, x| by_type!(&x[0].data, arg(n, x, false)));
    op(t, "sort", &[sets::NUMBERS], |n, x| by_type!(&x[0].data, sort(n, x)));
}

fn reduce<T: Element, F: Fold<T>>(n: &Node, x: Operands) -> Res<Vec<Tensor>> {
    let (axes, shape) = (n.sizes("axes")?, &x[0].shape);
    let order: Vec<usize> = (0..shape.len()).filter(|a| !axes.contains(a)).chain(axes.iter().copied()).collect();
    let run: usize = axes.iter().map(|&a| shape[a]).product();
    let data = permute(T::view(&x[0].data), shape, &order);
    let out = &n.outputs[0].shape;
    let results = (0..crate::tensor::count(out)).map(|i| F::value(data[i * run..][..run].iter().fold(F::start(), |s, &v| F::join(s, v))));
    Ok(vec![Tensor::new(x[0].dtype, out, results.collect())])
}

/// The lines of x along an axis, one after the other, and the order of axes that this is.
fn lines<T: Element>(x: &Tensor, axis: usize) -> (Vec<T>, Vec<usize>) {
    let order = to_end(x.shape.len(), axis);
    (permute(T::view(&x.data), &x.shape, &order), order)
}

/// Puts lines back.
fn back<T: Copy>(data: Vec<T>, shape: &[usize], order: &[usize]) -> Vec<T> {
    let turned: Vec<usize> = order.iter().map(|&a| shape[a]).collect();
    permute(&data, &turned, &inverse(order))
}

fn scan<T: Element, F: Fold<T>>(n: &Node, x: Operands) -> Res<Vec<Tensor>> {
    let (axis, exclusive, reverse) = (n.int("axis")? as usize, n.flag("exclusive")?, n.flag("reverse")?);
    let (mut data, order) = lines::<T>(&x[0], axis);
    for line in data.chunks_mut(x[0].shape[axis].max(1)) {
        if reverse {
            line.reverse();
        }
        let mut state = F::start();
        for v in line.iter_mut() {
            let next = F::join(state, *v);
            *v = F::value(if exclusive { state } else { next });
            state = next;
        }
        if reverse {
            line.reverse();
        }
    }
    Ok(vec![Tensor::new(x[0].dtype, &x[0].shape, back(data, &x[0].shape, &order))])
}

/// The position of the first NaN, else of the first element that no other is better than.
fn arg<T: Element>(n: &Node, x: Operands, greatest: bool) -> Res<Vec<Tensor>> {
    let axis = n.int("axis")? as usize;
    let (data, _) = lines::<T>(&x[0], axis);
    let best = |line: &[T]| {
        let mut top = 0;
        for (k, &v) in line.iter().enumerate() {
            let better = if greatest { v > line[top] } else { v < line[top] };
            if better || v.is_nan() && !line[top].is_nan() {
                top = k;
            }
        }
        top as i64
    };
    let results = data.chunks(x[0].shape[axis].max(1)).map(best).collect();
    Ok(vec![Tensor::new::<i64>(I64, &n.outputs[0].shape, results)])
}

/// Orders elements: NaN is the greatest, and -0 equals +0.
fn compare<T: Element>(a: T, b: T) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn sort<T: Element>(n: &Node, x: Operands) -> Res<Vec<Tensor>> {
    let (axis, descending) = (n.int("axis")? as usize, n.flag("descending")?);
    let (data, order) = lines::<T>(&x[0], axis);
    let (mut values, mut indices) = (Vec::new(), Vec::new());
    for line in data.chunks(x[0].shape[axis].max(1)) {
        let mut at: Vec<usize> = (0..line.len()).collect();
        at.sort_by(|&i, &k| if descending { compare(line[k], line[i]) } else { compare(line[i], line[k]) });
        values.extend(at.iter().map(|&k| line[k]));
        indices.extend(at.iter().map(|&k| k as i64));
    }
    let shape = &x[0].shape;
    Ok(vec![Tensor::new::<T>(x[0].dtype, shape, back(values, shape, &order)), Tensor::new::<i64>(I64, shape, back(indices, shape, &order))])
}
