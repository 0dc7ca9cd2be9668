package router

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Costs returns the costs by which programs are split.
type Costs interface {
	// Unit returns the time of one run of p, a unit of a program, on a member that claims its nodes. Constants are in place.
	Unit(member int, p *program.Program) time.Duration
	// Link returns the transfer time of a tensor from one member to another.
	Link(from, to int, bytes int64) time.Duration
}

// Split places each unit of a program on the member that makes the whole program fastest, by given costs. They are queried at
// each Define, and averaged over all answers for equal units; a plan for an equal program is kept until another one is much
// better.
func Split(c Costs) Option { return func(o *config) { o.split, o.planted = true, c } }

// SplitMeasured is Split by costs that are measured: of each unit and member when a program with such a unit is defined first,
// for 300 ms a member at most, of each link once, and of programs from time to time while they run. file keeps them for the next
// time; an empty name keeps nothing. Invalid content of the file is reported to OnError and measured again.
func SplitMeasured(file string) Option { return func(o *config) { o.split, o.file = true, file } }

// OnError calls f with faults that change no result: of the file of costs, and of measurements. f must be safe for
// concurrent use.
func OnError(f func(error)) Option { return func(o *config) { o.onError = f } }

// MemoryLimits bounds, member by member, the bytes that programs may need there: the constants of their units and the
// operands and results of the largest unit. Zero, and what is not given, is the memory of the device.
func MemoryLimits(bytes ...int64) Option { return func(o *config) { o.limits = bytes } }

const (
	smoothing = 0.1  // the weight of a new time among the old ones
	worthIt   = 0.85 // another plan is taken where its time is less than so much of the old one's
	misjudged = 1.5  // a program is placed again where times have changed by this factor
	margin    = 0.97 // a split by measured costs is taken where its time is less than so much of one member's
)

// ledger holds the costs of a device. Its times are in seconds.
type ledger struct {
	mu     sync.Mutex
	Units  map[string]map[string]float64    // by identity of the member and key of the unit
	Links  map[string]map[string][2]float64 // by identities: time of an empty tensor, and of a byte
	rate   map[string][2]float64            // by identity: sum of measured times and of sizes
	plans  map[string][]int                 // by key of the program: the members of its units
	change bool                             // since it was saved
}

func newLedger() *ledger {
	return &ledger{Units: map[string]map[string]float64{}, Links: map[string]map[string][2]float64{}, rate: map[string][2]float64{}, plans: map[string][]int{}}
}

// known returns the time of a unit on a member.
func (l *ledger) known(member, unit string) (float64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.Units[member][unit]
	return t, ok
}

// learn adds a time to those of a unit, and returns their smooth mean.
func (l *ledger) learn(member, unit string, t float64, size int64) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Units[member] == nil {
		l.Units[member] = map[string]float64{}
	}
	if old, ok := l.Units[member][unit]; ok {
		t = old + smoothing*(t-old)
	} else if r := l.rate[member]; size > 0 {
		l.rate[member] = [2]float64{r[0] + t, r[1] + float64(size)}
	}
	l.Units[member][unit], l.change = t, true
	return t
}

// guess returns the time of a unit that was not measured.
func (l *ledger) guess(member string, size int64) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.rate[member]; r[1] > 0 {
		return float64(size) * r[0] / r[1]
	}
	return float64(size) * 1e-9
}

// keep records the plan of a program, and returns the previous one.
func (l *ledger) keep(key string, assigned []int) (before []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before = l.plans[key]; assigned != nil {
		if len(l.plans) >= mostAnswers {
			clear(l.plans)
		}
		l.plans[key] = slices.Clone(assigned)
	}
	return before
}

// sizeOf returns an estimate that the time of a program is proportional to: its arithmetic and its memory traffic.
func sizeOf(p *program.Program, flops int64) int64 {
	size := flops + 1
	for _, list := range [][]op.Desc{p.Inputs, p.Consts, p.OutputDescs()} {
		for _, d := range list {
			size += int64(d.Bytes())
		}
	}
	return size
}

// seconds returns a given time in seconds, at least 0.
func seconds(d time.Duration) float64 { return math.Max(d.Seconds(), 0) }
