package conv

import (
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// padAxes copies a contiguous block to its positions in the padded block.
func padAxes[T micro.Number](to, from []T, axes []axis) {
	a := axes[0]
	if a.in == 0 || a.padded == 0 || len(from) == 0 {
		return
	}
	// Elements first to end of the input stay within the padded length.
	first, end := 0, a.in
	if a.lo < 0 {
		first = (-a.lo + a.dilation - 1) / a.dilation
	}
	end = min(end, (a.padded-a.lo+a.dilation-1)/a.dilation)
	if first >= end {
		return
	}
	if len(axes) == 1 {
		padRow(to, from[first:end], a.lo+first*a.dilation, &a)
		return
	}
	size := len(from) / a.in
	if len(axes) == 2 && a.dilation == 1 && a.phases == 0 && padPlane(to[(a.lo+first)*a.step:], from[first*size:end*size], &a, &axes[1]) {
		return
	}
	if len(axes) == 2 && a.dilation == 1 && a.phases == 1 {
		for first < end && (a.lo+first)%a.stride != 0 {
			first++
		}
		if first == end || samplePlane(to[a.at(a.lo+first)*a.step:], from[first*size:end*size], &a, &axes[1]) {
			return
		}
	}
	for i := first; i < end; i++ {
		at := a.lo + i*a.dilation
		if a.phases > 0 {
			if at%a.stride >= a.phases {
				continue
			}
			at = a.at(at)
		}
		padAxes(to[at*a.step:][:a.step], from[i*size:][:size], axes[1:])
	}
}

// padRow copies elements to the last axis, beginning at position at.
func padRow[T micro.Number](to, from []T, at int, a *axis) {
	switch {
	case a.phases > 0 && a.dilation == 1:
		for q := range min(a.stride, len(from)) {
			if phase := (at + q) % a.stride; phase < a.phases {
				copyStrided(to[phase*a.length+(at+q)/a.stride:], from[q:], a.stride)
			}
		}
	case a.phases > 0:
		for _, v := range from {
			if at%a.stride < a.phases {
				to[a.at(at)] = v
			}
			at += a.dilation
		}
	case a.dilation == 1:
		copy(to[at:], from)
	default:
		for _, v := range from {
			to[at] = v
			at += a.dilation
		}
	}
}

// padPlane is like padAxes, in assembly, for two axes without discarded rows. If there is no loop for them, it reports false and does
// nothing.
func padPlane[T micro.Number](to, from []T, rows, cols *axis) bool {
	from32, ok := any(from).([]float32)
	if !ok || !vector.Has() || cols.dilation != 1 || cols.phases != 0 && cols.phases != 2 {
		return false
	}
	first := max(0, -cols.lo)
	end := min(cols.in, cols.padded-cols.lo)
	if first >= end {
		return true
	}
	to32, at := any(to).([]float32), cols.lo+first
	r := vector.Rows{Count: len(from) / cols.in, Cols: end - first, DstStep: rows.step, SrcStep: cols.in}
	if cols.phases == 0 {
		vector.Copy(r, to32[at:], from32[first:])
		return true
	}
	odd := to32
	if end-first > 1 {
		odd = to32[cols.at(at+1):]
	}
	vector.Split(r, to32[cols.at(at):], odd, from32[first:])
	return true
}

// samplePlane is like padAxes, in assembly, for two axes that store one phase each. from begins at the first row that is stored. If there
// is no loop for them, it reports false and does nothing.
func samplePlane[T micro.Number](to, from []T, rows, cols *axis) bool {
	from32, ok := any(from).([]float32)
	if !ok || !vector.Has() || cols.dilation != 1 || cols.phases != 1 || cols.stride != 2 {
		return false
	}
	first := max(0, -cols.lo)
	first += (cols.lo + first) % 2
	end := min(cols.in, cols.padded-cols.lo)
	count := (len(from)/cols.in + rows.stride - 1) / rows.stride
	if first < end {
		vector.Sample(vector.Rows{Count: count, Cols: end - first, DstStep: rows.step, SrcStep: rows.stride * cols.in},
			any(to).([]float32)[cols.at(cols.lo+first):], from32[first:])
	}
	return true
}

// copyStrided copies every stride-th element.
func copyStrided[T micro.Number](to, from []T, stride int) {
	n := (len(from) + stride - 1) / stride
	to = to[:n]
	k := 0
	for i := range to {
		to[i] = from[k]
		k += stride
	}
}
