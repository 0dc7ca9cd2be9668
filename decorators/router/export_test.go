package router

import (
	"time"

	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/place"
)

// TrialBy makes programs that are split by planted costs try their ways, by what f says that a run takes.
func TrialBy(f func(p *program.Program, units []*place.Unit, members []int) time.Duration) Option {
	return func(c *config) { c.timed = f }
}
