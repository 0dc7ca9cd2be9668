package core

import (
	"context"
	"time"

	"github.com/goburn/burn/core/op"
)

// Profiling records how long the steps take that a device executes. Without it the host measures whole runs, from the
// outside. Nothing is recorded, and nothing is paid for it, but between StartProfile and StopProfile. Every backend over
// sdk/engine has it.
type Profiling interface {
	// StartProfile begins a recording of the commands that execute from then on: wait for the streams first, to leave out earlier
	// commands. A device has one recording at a time; for another, it returns ErrAttr. The context bounds the call only.
	StartProfile(ctx context.Context) error
	// StopProfile ends the recording and returns it, the caller's own. What is still to execute is not in it: wait for the
	// streams before. Without a recording it returns ErrNotFound. The context bounds the call only.
	StopProfile(ctx context.Context) (*Profile, error)
}

// Limits of a profile. What exceeds them is counted and not kept.
const (
	MaxProfileSteps   = 1 << 14
	MaxProfileRecords = 1 << 17
	MaxProfileTensors = 64 // of ProfileStep.In, and of Out: the first ones
	MaxProfileOps     = 64 // of ProfileStep.Ops
)

// Profile is the record of a device's executions between StartProfile and StopProfile.
type Profile struct {
	Steps []ProfileStep
	// Records of one stream are in the order of their ends. Records of different streams may overlap.
	Records []ProfileRecord
	// Dropped is the number of executions that were not kept, as they exceeded a limit.
	Dropped int64
}

// ProfileStep is something that a device executes as one: a node, several nodes of a program that were fused, or the whole
// run of a program.
type ProfileStep struct {
	// Program is the name of the program; it is empty for nodes that were submitted by themselves.
	Program string
	// Index numbers the steps of a program from 0, in the order of their execution. It is WholeRun for the run of the
	// program from its first step to its last, which encloses the others.
	Index int
	// Ops names the computed ops: one, or the fused ones in order. It is empty for a whole run.
	Ops []string
	// In and Out are types and shapes of operands and results; their ids mean nothing. Both may be empty.
	In, Out []op.Desc
	// Flops is the number of multiplications and additions of one execution; 0 is unknown, or none that count.
	Flops int64
	// Bytes is the size of all operands and results that one execution reads or writes; 0 is unknown, or none.
	Bytes int64
}

// WholeRun is the index of the step that is a program's whole run.
const WholeRun = -1

// ProfileRecord is one execution of a step.
type ProfileRecord struct {
	Step     int           // index of Profile.Steps
	Stream   int           // numbers the streams of the device
	Start    time.Duration // since StartProfile, on the clock of the device's process
	Duration time.Duration
}

// Append adds the profile of another device, whose recording began so much later than p's. Its steps and streams get the numbers
// behind p's.
func (p *Profile) Append(o *Profile, later time.Duration) {
	steps, streams := len(p.Steps), 0
	for _, r := range p.Records {
		streams = max(streams, r.Stream+1)
	}
	p.Steps = append(p.Steps, o.Steps...)
	p.Dropped += o.Dropped
	for _, r := range o.Records {
		r.Step, r.Stream, r.Start = r.Step+steps, r.Stream+streams, r.Start+later
		p.Records = append(p.Records, r)
	}
}
