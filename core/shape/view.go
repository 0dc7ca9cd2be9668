package shape

import "slices"

// View describes where the elements of a tensor are in a buffer: element (i0, i1, ...) is at index Offset + Σ ik·Strides[k]. Strides may be
// zero (broadcast) or negative (flip). Methods never change their receiver.
type View struct {
	Shape   Shape
	Strides []int
	Offset  int
}

// Contiguous returns the row-major view of a whole buffer.
func Contiguous(s Shape) View { return View{Shape: s, Strides: s.Strides()} }

// IsContiguous reports whether the elements are in row-major order without gaps, starting at Offset.
func (v View) IsContiguous() bool {
	n := 1
	for i := len(v.Shape) - 1; i >= 0; i-- {
		d := v.Shape[i]
		if d == 0 {
			return true
		}
		if d != 1 && v.Strides[i] != n {
			return false
		}
		n *= d
	}
	return true
}

// Permute reorders the dimensions: dimension i of the result is dimension axes[i] of v. axes is a permutation.
func (v View) Permute(axes []int) View {
	r := View{Shape: make(Shape, len(axes)), Strides: make([]int, len(axes)), Offset: v.Offset}
	for i, a := range axes {
		r.Shape[i], r.Strides[i] = v.Shape[a], v.Strides[a]
	}
	return r
}

// Expand broadcasts v to the shape to, which CanExpand must accept.
func (v View) Expand(to Shape) View {
	r := View{Shape: to, Strides: make([]int, len(to)), Offset: v.Offset}
	off := len(to) - len(v.Shape)
	for i := range v.Shape {
		if v.Shape[i] == to[off+i] {
			r.Strides[off+i] = v.Strides[i]
		}
	}
	return r
}

// Slice returns the view of elements start, start+step, ... along every axis; out is the shape of the result. step may be negative.
func (v View) Slice(start, step []int, out Shape) View {
	r := View{Shape: out, Strides: make([]int, len(out)), Offset: v.Offset}
	for i := range out {
		r.Strides[i] = v.Strides[i] * step[i]
		if out[i] > 0 {
			r.Offset += start[i] * v.Strides[i]
		}
	}
	return r
}

// Flip reverses the given axes.
func (v View) Flip(axes []int) View {
	r := View{Shape: v.Shape, Strides: slices.Clone(v.Strides), Offset: v.Offset}
	for _, a := range axes {
		if n := v.Shape[a]; n > 0 {
			r.Offset += (n - 1) * v.Strides[a]
			r.Strides[a] = -v.Strides[a]
		}
	}
	return r
}

// Reshape returns the view of the same elements under another shape of the same size, or false if that needs a copy.
func (v View) Reshape(to Shape) (View, bool) {
	r := View{Shape: to, Strides: make([]int, len(to)), Offset: v.Offset}
	if v.Shape.Size() == 0 {
		copy(r.Strides, to.Strides())
		return r, true
	}
	var dims, strides []int // dimensions and strides of v except dimensions of one
	for i, d := range v.Shape {
		if d != 1 {
			dims, strides = append(dims, d), append(strides, v.Strides[i])
		}
	}
	i, j := 0, 0
	for i < len(dims) || j < len(to) {
		// Extend a group of old and a group of new dimensions until both have the same number of elements.
		if i == len(dims) {
			r.Strides[j] = 0 // only dimensions of one are left
			j++
			continue
		}
		i0, j0 := i, j
		on, nn := dims[i], 1
		i++
		for on != nn {
			if nn < on {
				nn *= to[j]
				j++
			} else {
				on *= dims[i]
				i++
			}
		}
		for k := i0; k+1 < i; k++ {
			if strides[k] != strides[k+1]*dims[k+1] {
				return View{}, false
			}
		}
		st := strides[i-1]
		for k := j - 1; k >= j0; k-- {
			r.Strides[k] = st
			st *= to[k]
		}
	}
	return r, true
}

// Collapse removes dimensions of length one and merges adjacent dimensions that are contiguous in every view, so that loops over the views
// need as few levels as possible. All views have the same shape, and so have the results.
func Collapse(views ...View) []View {
	out := make([]View, len(views))
	s := views[0].Shape
	r := len(s)
	ints := make([]int, 2*r*len(views)) // of all shapes and strides
	for i, v := range views {
		from := 2 * r * i
		out[i] = View{Shape: ints[from : from : from+r], Strides: ints[from+r : from+r : from+2*r], Offset: v.Offset}
	}
	for d := range s {
		if s[d] == 1 {
			continue
		}
		n := len(out[0].Shape)
		join := n > 0
		for i := 0; join && i < len(views); i++ {
			join = out[i].Strides[n-1] == views[i].Strides[d]*s[d]
		}
		for i, v := range views {
			if join {
				out[i].Shape[n-1] *= s[d]
				out[i].Strides[n-1] = v.Strides[d]
			} else {
				out[i].Shape = append(out[i].Shape, s[d])
				out[i].Strides = append(out[i].Strides, v.Strides[d])
			}
		}
	}
	return out
}
