//! Walks through tensors by strides.

use crate::tensor::count;

/// The strides of a dense tensor.
pub fn strides(shape: &[usize]) -> Vec<isize> {
    let mut out = vec![1; shape.len()];
    for i in (1..shape.len()).rev() {
        out[i - 1] = out[i] * shape[i] as isize;
    }
    out
}

/// Calls f with every index of a shape, in row-major order.
pub fn each(shape: &[usize], mut f: impl FnMut(&[usize])) {
    let mut at = vec![0; shape.len()];
    for _ in 0..count(shape) {
        f(&at);
        for axis in (0..shape.len()).rev() {
            at[axis] += 1;
            if at[axis] < shape[axis] {
                break;
            }
            at[axis] = 0;
        }
    }
}

/// The elements of x at offset + the sum of index times stride, for every index of shape.
pub fn pick<T: Copy>(x: &[T], shape: &[usize], strides: &[isize], offset: isize) -> Vec<T> {
    let mut out = Vec::with_capacity(count(shape));
    each(shape, |at| {
        let place: isize = at.iter().zip(strides).map(|(&i, &s)| i as isize * s).sum();
        out.push(x[(offset + place) as usize]);
    });
    out
}

/// The strides with which a tensor of a shape is seen as one of the shape that it broadcasts to.
pub fn expanded(from: &[usize], to: &[usize]) -> Vec<isize> {
    let lead = to.len() - from.len();
    let own = strides(from);
    (0..to.len()).map(|i| if i < lead || from[i - lead] == 1 { 0 } else { own[i - lead] }).collect()
}

/// x with its dimensions in another order.
pub fn permute<T: Copy>(x: &[T], shape: &[usize], axes: &[usize]) -> Vec<T> {
    let own = strides(shape);
    let to: Vec<usize> = axes.iter().map(|&a| shape[a]).collect();
    pick(x, &to, &axes.iter().map(|&a| own[a]).collect::<Vec<_>>(), 0)
}

/// Puts x into y: its first element at the index at, the others step apart. What lies outside of y is left out.
pub fn place<T: Copy>(y: &mut [T], to: &[usize], x: &[T], from: &[usize], at: &[i64], step: &[i64]) {
    let own = strides(to);
    let mut k = 0;
    each(from, |index| {
        let mut target = 0;
        let mut inside = true;
        for axis in 0..to.len() {
            let i = at[axis] + index[axis] as i64 * step[axis];
            inside = inside && 0 <= i && i < to[axis] as i64;
            target += i as isize * own[axis];
        }
        if inside {
            y[target as usize] = x[k];
        }
        k += 1;
    });
}

/// The order of axes with one moved to the end.
pub fn to_end(rank: usize, axis: usize) -> Vec<usize> {
    (0..rank).filter(|&a| a != axis).chain([axis]).collect()
}

/// The inverse of a permutation.
pub fn inverse(axes: &[usize]) -> Vec<usize> {
    let mut out = vec![0; axes.len()];
    for (i, &a) in axes.iter().enumerate() {
        out[a] = i;
    }
    out
}
