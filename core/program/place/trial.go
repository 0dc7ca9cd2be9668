package place

import (
	"math"
	"slices"
)

// Bounds of a Trial.
const (
	// Doubt bounds the error of predictions, as a factor: ways that are predicted to take more than so many times the least are not
	// tried.
	Doubt = 2
	// MostSamples is the greatest number of runs of one way that a trial asks for. The first one of each block does not count.
	MostSamples = firstRound<<(rounds-1) + rounds

	firstRound = 4 // samples of each way in the first round; each round doubles them
	rounds     = 6
	clearly    = 0.4 // over the root of the number of samples: a way that is slower by so much is left out before the last round
)

// Trial finds out by real runs which of several ways to place a program is the fastest, since the times of single units, which
// Solve works with, do not add up exactly and are not measured exactly.
//
// It asks for blocks of runs, one way after the other, so that what a run leaves on its members (weights that were updated) moves
// seldom, and the first run of a block does not count. After each round, it leaves out ways that are slower than the best one by more
// than chance makes likely, and takes up others that were predicted to be hopeless, if by now they are not. It is done when one way
// is left, also after those that the first round left out have been tried once more, or after so many rounds that the best one is within a few
// thousandths: after Bound runs at most, and mostly after some thirty.
//
// A Trial is not safe for concurrent use.
type Trial struct {
	ways  []*way
	now   int // the way that runs
	block int // samples that the way has in the present round; the first one is not counted
	round int
	best  int
	again bool // ways that the first round left out have been taken up again
	done  bool
}

// way is one way to place a program.
type way struct {
	predicted float64
	times     []float64 // of the runs that count, in order
	state     state
}

type state uint8

const (
	waiting state = iota // was predicted to be too slow to be tried
	open
	lost
)

// NewTrial returns the trial of ways by their predicted times. It begins with the first one, which is the best until another is known to be
// better.
func NewTrial(predicted ...float64) *Trial {
	t := &Trial{}
	for _, p := range predicted {
		t.ways = append(t.ways, &way{predicted: p})
	}
	t.ways[0].state = open
	t.wake()
	return t
}

// Bound returns the number of runs after which every trial of so many ways is done.
func Bound(ways int) int { return ways * MostSamples }

// Next returns the way for the next run.
func (t *Trial) Next() int {
	if t.done {
		return t.best
	}
	return t.now
}

// Done reports whether the trial has ended: Next does not change any more.
func (t *Trial) Done() bool { return t.done }

// Time returns what a run takes on a way: by its faster runs, or as predicted if none counts. runs is the number of those that count.
func (t *Trial) Time(i int) (seconds float64, runs int) {
	w := t.ways[i]
	if len(w.times) == 0 {
		return w.predicted, 0
	}
	return w.time(), len(w.times)
}

// Predicted returns what a run was predicted to take on a way, in seconds.
func (t *Trial) Predicted(i int) float64 { return t.ways[i].predicted }

// time is the mean of the faster half of the runs: a run is slowed down by what else the machine does, and not made faster.
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

// Drop takes a way out of the trial that cannot be run.
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

// wanted returns the number of samples that ways have at the end of the present round.
func (t *Trial) wanted() int { return firstRound << t.round }

// advance goes on to the next way that lacks samples, or to the next round.
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

// lacking returns an open way without enough samples, -1 for none.
func (t *Trial) lacking() int {
	return slices.IndexFunc(t.ways, func(w *way) bool { return w.state == open && len(w.times) < t.wanted() })
}

// least returns the way with the least time among those that are not lost: the first way where all are.
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

// retry takes up, once, what the first round left out and what is not hopeless: other work on the machine may have hit all of its few samples. It
// reports whether there was any.
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

// wake opens ways that wait and could be as fast as the best one, for all that is known, and reports whether there were any.
func (t *Trial) wake() (some bool) {
	best, _ := t.Time(t.best)
	for _, w := range t.ways {
		if w.state == waiting && w.predicted <= Doubt*best {
			w.state, some = open, true
		}
	}
	return some
}
