package cpu

import "time"

// tuner decides by measurement which steps of a plan are split between threads. Waking a thread costs more than a small
// step, and how much depends on what else the machine does, so that no estimate is right everywhere. Both ways cut work
// into the same parts: results do not depend on the choice.
type tuner struct {
	runs     int
	shared   []time.Duration // least time of each step on all threads
	alone    []time.Duration // on one
	least    [3]time.Duration
	mode     mode
	began    time.Time
	measured bool
}

// mode is how steps run.
type mode uint8

const (
	sharing mode = iota // on all threads
	single              // on one
	mixed               // each as it was faster
)

const (
	warmRuns   = 2       // that count for nothing
	sampleRuns = 4       // of each mode
	tuneAgain  = 1 << 13 // runs after which the decision is made anew
	// longRun is the time from which waking threads does not matter.
	longRun = 20 * time.Millisecond
)

func (t *tuner) init(steps int) {
	t.shared, t.alone = make([]time.Duration, steps), make([]time.Duration, steps)
}

// begin begins a run.
func (t *tuner) begin() {
	k := t.runs - warmRuns
	t.measured = k >= 0 && k < 3*sampleRuns
	if t.measured {
		t.mode = mode(k / sampleRuns)
		if k%sampleRuns == 0 {
			t.least[t.mode] = 0
		}
		t.began = time.Now()
	}
}

// on reports whether step i is to run on all threads.
func (t *tuner) on(i int) bool {
	return t.mode == sharing || t.mode == mixed && t.shared[i] < t.alone[i]
}

// took records the time of step i.
func (t *tuner) took(i int, d time.Duration) {
	times := t.shared
	switch t.mode {
	case single:
		times = t.alone
	case mixed:
		return
	}
	if (t.runs-warmRuns)%sampleRuns == 0 {
		times[i] = d
	}
	times[i] = min(times[i], d)
}

// end ends a run that succeeded.
func (t *tuner) end() {
	if t.measured {
		d := time.Since(t.began)
		if m := &t.least[t.mode]; *m == 0 || d < *m {
			*m = d
		}
		if t.mode == sharing && t.least[sharing] > longRun && t.runs == warmRuns+sampleRuns-1 {
			t.runs = warmRuns + 3*sampleRuns
		}
	}
	t.runs++
	switch {
	case t.runs == warmRuns+3*sampleRuns:
		t.mode = sharing
		for m := single; m <= mixed; m++ {
			if t.least[m] < t.least[t.mode] {
				t.mode = m
			}
		}
	case t.runs == tuneAgain && t.least[t.mode] <= longRun:
		t.runs = warmRuns
	}
}
