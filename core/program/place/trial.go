package place

import (
	"math"
	"slices"
)

// Bounds of a Trial.
const (
	// Doubt is the greatest factor by which predictions are assumed to be wrong. A way is not tried while its predicted time is more than
	// Doubt times that of the best way.
	Doubt = 2
	// MostSamples is the greatest number of runs of one way that a trial asks for. The first run of each block does not count, and the runs
	// of the first round are repeated when the way is tried once more.
	MostSamples = firstRound<<(rounds-1) + rounds + firstRound

	firstRound = 4 // samples of each way in the first round; the number doubles in each round
	rounds     = 6
	clearly    = 0.4 // a way with n samples is dropped if its time exceeds the best one by more than the fraction clearly/√n
)

// Trial determines by real runs which of several ways to place a program is the fastest, because the predictions of Solve are sums of
// inexact measurements. It requests blocks of consecutive runs of one way, so that tensors that stay on members (such as updated weights)
// seldom move; the first run of a block does not count. After each round, it drops ways that are slower than the best one by more than
// chance makes likely, and adds ways that were predicted to be too slow but may be fast enough by the times measured so far. Ways that the
// first round dropped are tried once more. The trial is done when one way is left, or after the last round, when times are exact to a few
// thousandths. It takes at most Bound runs, and typically about thirty.
//
// A Trial is not safe for concurrent use.
type Trial struct {
	ways  []*way
	now   int // the way for the next run
	block int // number of samples that the way has in the current round; the first one does not count
	round int
	best  int
	again bool // ways that the first round dropped have been added again
	done  bool
}

// way is one way to place a program.
type way struct {
	predicted float64
	times     []float64 // times of the runs that count, in order
	state     state
}

type state uint8

const (
	waiting state = iota // was predicted to be too slow to be tried
	open
	lost
)

// NewTrial returns a trial of ways with the given predicted times. It begins with the first one, which counts as the best until another one
// is known to be faster.
func NewTrial(predicted ...float64) *Trial {
	t := &Trial{}
	for _, p := range predicted {
		t.ways = append(t.ways, &way{predicted: p})
	}
	t.ways[0].state = open
	t.wake()
	return t
}

// Bound returns the greatest number of runs of a trial of the given number of ways.
func Bound(ways int) int { return ways * MostSamples }

// Next returns the way for the next run.
func (t *Trial) Next() int {
	if t.done {
		return t.best
	}
	return t.now
}

// Done reports whether the trial has ended. After that, the result of Next does not change.
func (t *Trial) Done() bool { return t.done }

// Time returns the time of a run on way i: the mean of its faster runs, or the predicted time if no run counts yet. runs is the number of
// runs that count.
func (t *Trial) Time(i int) (seconds float64, runs int) {
	w := t.ways[i]
	if len(w.times) == 0 {
		return w.predicted, 0
	}
	return w.time(), len(w.times)
}

// Predicted returns the predicted time of a run on way i, in seconds.
func (t *Trial) Predicted(i int) float64 { return t.ways[i].predicted }

// time returns the mean of the faster half of the runs: other work on the machine makes runs slower, never faster.
func (w *way) time() float64 {
	sorted := slices.Sorted(slices.Values(w.times))
	sorted = sorted[:(len(sorted)+1)/2]
	sum := 0.0
	for _, t := range sorted {
		sum += t
	}
	return sum / float64(len(sorted))
}

// Observe adds the time of a run on a way. Times of another way than Next are not counted.
func (t *Trial) Observe(i int, seconds float64) {
	if t.done || i != t.now {
		return
	}
	w := t.ways[i]
	if t.block++; t.block > 1 {
		w.times = append(w.times, seconds)
	}
	t.advance()
}

// Drop removes a way that cannot run from the trial.
func (t *Trial) Drop(i int) {
	t.ways[i].state, t.ways[i].times = lost, nil
	t.ways[i].predicted = math.Inf(1)
	if t.best == i {
		t.best = t.least()
	}
	if !t.done && i == t.now {
		t.now, t.block = t.best, 0
		t.advance()
	}
}

// wanted returns the number of samples that each way has at the end of the current round.
func (t *Trial) wanted() int { return firstRound << t.round }

// advance selects the next way that needs samples, or ends the round.
func (t *Trial) advance() {
	for !t.done {
		if w := t.ways[t.now]; w.state == open && len(w.times) < t.wanted() {
			return
		}
		t.block = 0
		if next := t.lacking(); next >= 0 {
			t.now = next
			return
		}
		t.end()
	}
}

// lacking returns an open way that needs more samples, or -1.
func (t *Trial) lacking() int {
	return slices.IndexFunc(t.ways, func(w *way) bool { return w.state == open && len(w.times) < t.wanted() })
}

// least returns the way with the least time among those that were not dropped, or the first way if all were.
func (t *Trial) least() (best int) {
	least := math.Inf(1)
	for i, w := range t.ways {
		if s, _ := t.Time(i); w.state == open && s < least {
			best, least = i, s
		}
	}
	return best
}

// end ends a round.
func (t *Trial) end() {
	t.best = t.least()
	t.now = t.best
	best, _ := t.Time(t.best)
	left := 0
	for i, w := range t.ways {
		if s, n := t.Time(i); w.state == open && i != t.best && s > best*(1+clearly/math.Sqrt(float64(n))) {
			w.state = lost
		}
		if w.state == open {
			left++
		}
	}
	if t.wake() {
		return
	}
	t.round++
	if left <= 1 && t.retry() {
		return
	}
	t.done = left <= 1 || t.round == rounds
}

// retry adds, once, the ways that the first round dropped, except hopeless ones: other work on the machine may have disturbed all of their
// few samples. It reports whether it added any.
func (t *Trial) retry() (some bool) {
	if t.again || t.round == rounds {
		return false
	}
	t.again = true
	best, _ := t.Time(t.best)
	for i, w := range t.ways {
		if s, n := t.Time(i); w.state == lost && n > 0 && n <= firstRound && s <= Doubt*best {
			w.state, w.times, some = open, nil, true
		}
	}
	return some
}

// wake adds waiting ways that could be as fast as the best one, given the errors of predictions so far. It reports whether it added any.
func (t *Trial) wake() (some bool) {
	best, _ := t.Time(t.best)
	for _, w := range t.ways {
		if w.state == waiting && w.predicted <= Doubt*best {
			w.state, some = open, true
		}
	}
	return some
}
