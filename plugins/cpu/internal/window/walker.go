package window

// maxRank is the greatest number of axes for which a walker is reused without allocation.
const maxRank = 8

// walker iterates over the windows of a plane in order and, for each, over its elements outside the padding.
type walker struct {
	out    []int // index of the current window
	taps   []int // remaining taps on each axis
	count  []int // taps on each axis
	offset int   // offset of the current element
	store  [3 * maxRank]int
}

// start goes to the first window.
func (w *walker) start(axes []axis) {
	n := len(axes)
	s := w.store[:]
	if 3*n > len(s) {
		s = make([]int, 3*n)
	}
	w.out, w.taps, w.count = s[:n], s[n:2*n], s[2*n:3*n]
	clear(w.out)
}

// window goes to the first element of the window and reports whether the window has an element.
func (w *walker) window(axes []axis) bool {
	w.offset = 0
	for i := range axes {
		t0, t1, at := axes[i].within(w.out[i])
		if t0 == t1 {
			return false
		}
		w.taps[i], w.count[i] = t1-t0, t1-t0
		w.offset += at * axes[i].inStep
	}
	return true
}

// tap goes to the next element of the window and reports whether there is one.
func (w *walker) tap(axes []axis) bool {
	for i := len(axes) - 1; i >= 0; i-- {
		step := axes[i].dilation * axes[i].inStep
		if w.taps[i]--; w.taps[i] > 0 {
			w.offset += step
			return true
		}
		w.taps[i] = w.count[i]
		w.offset -= (w.count[i] - 1) * step
	}
	return false
}

// next goes to the next window.
func (w *walker) next(axes []axis) {
	for i := len(axes) - 1; i >= 0; i-- {
		if w.out[i]++; w.out[i] < axes[i].out {
			return
		}
		w.out[i] = 0
	}
}
