package core

import (
	"context"
	"time"

	"github.com/goburn/burn/core/op"
)

// Profiling records the durations of the steps that a device executes. Without it the host measures whole runs. Recording costs time only
// between StartProfile and StopProfile. Every backend over sdk/engine has it.
type Profiling interface {
	// StartProfile begins to record the commands that execute from then on. To exclude earlier commands, wait for the streams first. If the
	// device is already recording, it returns ErrAttr. The context bounds the call only.
	StartProfile(ctx context.Context) error
	// StopProfile ends the recording and returns it; the caller owns the result. To include pending commands, wait for the streams before.
	// If the device is not recording, it returns ErrNotFound. The context bounds the call only.
	StopProfile(ctx context.Context) (*Profile, error)
}

// Limits of a profile. Items beyond a limit are counted, but not kept.
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

// ProfileStep is a unit of execution: a node, several fused nodes of a program, or the whole run of a program.
type ProfileStep struct {
	// Program is the name of the program; it is empty for nodes that were submitted outside a program.
	Program string
	// Index numbers the steps of a program from 0, in the order of their execution. It is WholeRun for the run of the program from its
	// first step to its last.
	Index int
	// Ops names the computed ops: one, or several fused ones in order. It is empty for a whole run.
	Ops []string
	// In and Out are types and shapes of operands and results; their ids have no meaning. Both may be empty.
	In, Out []op.Desc
	// Flops is the number of multiplications and additions of one execution; 0 means unknown or none.
	Flops int64
	// Bytes is the size of all operands and results that one execution reads or writes; 0 means unknown or none.
	Bytes int64
}

// WholeRun is the Index of the step that is a whole run of a program.
const WholeRun = -1

// ProfileRecord is one execution of a step.
type ProfileRecord struct {
	Step     int           // index of Profile.Steps
	Stream   int           // numbers the streams of the device
	Start    time.Duration // since StartProfile, on the clock of the device's process
	Duration time.Duration
}

// Append adds the profile o of another device, whose recording began later than p's by the given duration. It renumbers the steps and
// streams of o to follow those of p.
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
