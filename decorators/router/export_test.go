package router

import (
	"time"

	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/place"
)

// TrialBy makes programs that Split places try several placements. f returns the time of a run in place of the clock.
func TrialBy(f func(p *program.Program, units []*place.Unit, members []int) time.Duration) Option {
	return func(c *config) { c.timed = f }
}
