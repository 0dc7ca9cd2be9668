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

// Split places the units of a program on members so that the whole program is fastest, by given costs. Costs are queried at each Define,
// and averaged over all answers for equal units. The plan for an equal program is kept until another one is much better.
func Split(c Costs) Option { return func(o *config) { o.split, o.planted = true, c } }

// SplitMeasured is like Split, with measured costs. Units are measured on each member when the first program with such a unit is defined,
// for at most 300 ms per member; links are measured once, and programs occasionally while they run. As these costs are not exact, a split
// is chosen at first only if its gain exceeds their error, and the first runs of a program try the placements that may be the fastest: see
// place.Trial. Costs are saved in file for later processes, unless the name is empty. Invalid content of the file is reported to OnError
// and measured again.
func SplitMeasured(file string) Option { return func(o *config) { o.split, o.file = true, file } }

// OnError calls f with errors that do not affect results: errors of the file of costs, and errors of measurements. f must be safe for
// concurrent use.
func OnError(f func(error)) Option { return func(o *config) { o.onError = f } }

// MemoryLimits bounds, member by member, the bytes that programs may need there: the constants of their units and the operands and results
// of the largest unit. Zero, or a missing entry, means the memory of the device.
func MemoryLimits(bytes ...int64) Option { return func(o *config) { o.limits = bytes } }

const (
	worthIt     = 0.85                   // another plan is chosen if its time is less than this fraction of the old plan's time
	misjudged   = 1.5                    // a program is placed again if times have changed by this factor
	maxMeasured = 300 * time.Millisecond // greatest duration of the measurements of one program on a member
)
