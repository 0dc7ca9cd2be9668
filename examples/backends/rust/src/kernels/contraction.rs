//! Products of matrices, convolutions and windows.

use super::layout::{expanded, permute, pick, place, strides};
use super::{op, sets, Operands, Table};
use crate::by_type;
use crate::codec::Node;
use crate::fault::Res;
use crate::tensor::{count, Element, Tensor, Wide, I64};

pub fn add(t: &mut Table) {
    op(t, "matmul", &[sets::NUMBERS, sets::NUMBERS], |n, x| by_type!(&x[0].data, matmul(n, x)));
    op(t, "conv", &[sets::NUMBERS, sets::NUMBERS], |n, x| by_type!(&x[0].data, conv(n, x)));
    op(t, "window_reduce", &[sets::NUMBERS], |n, x| by_type!(&x[0].data, window_reduce(n, x)));
}

/// The rows of a, of length k, times the rows of b: [batches, m, k] and [batches, n, k] give [batches, m, n].
fn dots<T: Element>(a: &[T], b: &[T], batches: usize, m: usize, n: usize, k: usize) -> Vec<T> {
    let mut y = Vec::with_capacity(batches * m * n);
    for batch in 0..batches {
        for i in 0..m {
            let row = &a[(batch * m + i) * k..][..k];
            for j in 0..n {
                let column = &b[(batch * n + j) * k..][..k];
                y.push(T::narrow(row.iter().zip(column).fold(T::Wide::ZERO, |s, (&p, &q)| s.plus(p.wide().times(q.wide())))));
            }
        }
    }
    y
}

/// The elements of a matrix operand with the batch dimensions of the result, transposed if it says so, and its rows and columns.
fn matrices<T: Element>(x: &Tensor, batch: &[usize], transpose: bool) -> (Vec<T>, usize, usize) {
    let (rank, mut shape, mut own) = (x.shape.len(), x.shape.clone(), strides(&x.shape));
    if transpose {
        shape.swap(rank - 1, rank - 2);
        own.swap(rank - 1, rank - 2);
    }
    let to: Vec<usize> = batch.iter().copied().chain(shape[rank - 2..].iter().copied()).collect();
    let mut by = expanded(&shape[..rank - 2], batch);
    for (b, s) in by.iter_mut().rev().zip(own[..rank - 2].iter().rev()) {
        if *b != 0 {
            *b = *s;
        }
    }
    by.extend(&own[rank - 2..]);
    (pick(T::view(&x.data), &to, &by, 0), shape[rank - 2], shape[rank - 1])
}

fn matmul<T: Element>(n: &Node, x: Operands) -> Res<Vec<Tensor>> {
    let out = &n.outputs[0].shape;
    let batch = &out[..out.len() - 2];
    let (a, m, k) = matrices::<T>(&x[0], batch, n.flag("transpose_a")?);
    let (b, columns, _) = matrices::<T>(&x[1], batch, !n.flag("transpose_b")?);
    Ok(vec![Tensor::new(x[0].dtype, out, dots(&a, &b, count(batch), m, columns, k))])
}

/// A tensor in its elements and shape.
struct Dense<T> {
    data: Vec<T>,
    shape: Vec<usize>,
}

/// x with dilation-1 elements of value between its elements along the last dimensions, then padded with value.
fn spread<T: Element>(x: &Dense<T>, dilation: &[i64], lo: &[i64], hi: &[i64], value: T) -> Dense<T> {
    let lead = x.shape.len() - lo.len();
    let mut shape = x.shape.clone();
    for i in 0..lo.len() {
        let n = x.shape[lead + i] as i64;
        shape[lead + i] = (if n == 0 { 0 } else { (n - 1) * dilation[i] + 1 } + lo[i] + hi[i]) as usize;
    }
    let mut data = vec![value; count(&shape)];
    let at: Vec<i64> = vec![0; lead].into_iter().chain(lo.iter().copied()).collect();
    let step: Vec<i64> = vec![1; lead].into_iter().chain(dilation.iter().copied()).collect();
    place(&mut data, &shape, &x.data, &x.shape, &at, &step);
    Dense { data, shape }
}

fn conv<T: Element>(n: &Node, x: Operands) -> Res<Vec<Tensor>> {
    let (strided, kdil, idil) = (n.ints("strides")?, n.ints("kernel_dilation")?, n.ints("input_dilation")?);
    let groups = n.int("groups")? as usize;
    let (w, out) = (&x[1].shape, &n.outputs[0].shape);
    let input = Dense { data: T::view(&x[0].data).to_vec(), shape: x[0].shape.clone() };
    let padded = spread(&input, &idil, &n.ints("pad_lo")?, &n.ints("pad_hi")?, T::default());
    let (images, channels, outs) = (x[0].shape[0], x[0].shape[1] / groups, w[0] / groups);
    let (positions, kernel, own) = (&out[2..], &w[2..], strides(&padded.shape));
    // The windows as rows: [groups, images, positions, channels, kernel].
    let mut shape = vec![groups, images];
    let mut by = vec![own[1] * channels as isize, own[0]];
    shape.extend(positions);
    by.extend(strided.iter().zip(&own[2..]).map(|(&s, &o)| s as isize * o));
    shape.push(channels);
    by.push(own[1]);
    shape.extend(kernel);
    by.extend(kdil.iter().zip(&own[2..]).map(|(&d, &o)| d as isize * o));
    let rows = pick(&padded.data, &shape, &by, 0);
    let places = count(positions);
    let z = dots(&rows, T::view(&x[1].data), groups, images * places, outs, count(&w[1..]));
    // [groups, images, places, outs] becomes [images, groups, outs, places].
    Ok(vec![Tensor::new(x[0].dtype, out, permute(&z, &[groups, images, places, outs], &[1, 0, 3, 2]))])
}

fn window_reduce<T: Element>(n: &Node, x: Operands) -> Res<Vec<Tensor>> {
    let (window, strided, dilation) = (n.sizes("window")?, n.ints("strides")?, n.ints("dilation")?);
    let (lo, hi, ones) = (n.ints("pad_lo")?, n.ints("pad_hi")?, vec![1; window.len()]);
    let (out, lead, size) = (&n.outputs[0].shape, x[0].shape.len() - window.len(), count(&window));
    let sum = n.word("reduce")? == "sum";
    // The elements of each window, one window after the other.
    fn cut<U: Element>(d: &Dense<U>, lead: usize, out: &[usize], window: &[usize], strided: &[i64], dilation: &[i64]) -> Vec<U> {
        let own = strides(&d.shape);
        let shape: Vec<usize> = out.iter().chain(window).copied().collect();
        let mut by = own[..lead].to_vec();
        by.extend(strided.iter().zip(&own[lead..]).map(|(&s, &o)| s as isize * o));
        by.extend(dilation.iter().zip(&own[lead..]).map(|(&s, &o)| s as isize * o));
        pick(&d.data, &shape, &by, 0)
    }
    let input = Dense { data: T::view(&x[0].data).to_vec(), shape: x[0].shape.clone() };
    let values = cut(&spread(&input, &ones, &lo, &hi, if sum { T::default() } else { T::LEAST }), lead, out, &window, &strided, &dilation);
    let join = |part: &[T]| {
        if sum {
            return T::narrow(part.iter().fold(T::Wide::ZERO, |s, &v| s.plus(v.wide())));
        }
        part.iter().fold(T::LEAST, |s, &v| T::greater(s, v))
    };
    let reduced = (0..count(out)).map(|i| join(&values[i * size..][..size])).collect();
    let mut results = vec![Tensor::new(x[0].dtype, out, reduced)];
    if n.flag("indices")? {
        // The same windows over the positions of the elements, -1 for padding.
        let places = count(&x[0].shape[lead..]);
        let numbers = Dense { data: (0..count(&x[0].shape)).map(|i| (i % places.max(1)) as i64).collect(), shape: x[0].shape.clone() };
        let at = cut(&spread(&numbers, &ones, &lo, &hi, -1i64), lead, out, &window, &strided, &dilation);
        let first = |i: usize| {
            let (mut top, mut place) = (T::LEAST, -1);
            for k in i * size..(i + 1) * size {
                let v = values[k];
                if at[k] >= 0 && (place < 0 || v > top || v.is_nan() && !top.is_nan()) {
                    (top, place) = (v, at[k]);
                }
            }
            place
        };
        results.push(Tensor::new::<i64>(I64, out, (0..count(out)).map(first).collect()));
    }
    Ok(results)
}
