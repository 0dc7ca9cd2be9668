package router

import (
	"time"

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
// for 300 ms a member at most, of each link once, and of programs from time to time while they run. As such costs are not exact, a
// split is taken at first only where its gain is greater than their error, and the first runs of a program try the ways that may be
// the fastest: see place.Trial. file keeps the costs for the next time; an empty name keeps nothing. Invalid content of the file is
// reported to OnError and measured again.
func SplitMeasured(file string) Option { return func(o *config) { o.split, o.file = true, file } }

// OnError calls f with faults that change no result: of the file of costs, and of measurements. f must be safe for
// concurrent use.
func OnError(f func(error)) Option { return func(o *config) { o.onError = f } }

// MemoryLimits bounds, member by member, the bytes that programs may need there: the constants of their units and the
// operands and results of the largest unit. Zero, and what is not given, is the memory of the device.
func MemoryLimits(bytes ...int64) Option { return func(o *config) { o.limits = bytes } }

const (
	worthIt      = 0.85                   // another plan is taken where its time is less than so much of the old one's
	misjudged    = 1.5                    // a program is placed again where times have changed by this factor
	mostMeasured = 300 * time.Millisecond // that measurements of one program may take on a member
)
