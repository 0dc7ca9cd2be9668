package gpu

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// TestStepsEndInTime profiles a program while the host is preempted after the first event that it records, and checks that no step ends
// after the run that contains it.
func TestStepsEndInTime(t *testing.T) {
	r := newRig(t, Options{}, func(d *fakeDevice) { d.preempt = 2 * time.Millisecond }).apart()
	m := newMaker(t, "step")
	x := m.input(4)
	m.p.Outputs = ids(m.node(op.Exp, ids(m.node(op.Neg, ids(x)))))
	p := r.define(m.p)
	in := r.floats([]int{4}, 1, 2, 3, 4)
	r.read(in, 4)
	profiling, ok := core.Extension[core.Profiling](r.dev)
	require.True(t, ok)
	require.NoError(t, profiling.StartProfile(t.Context()))
	r.read(r.call(p, 1, nil, in)[0], 4)
	profile, err := profiling.StopProfile(t.Context())
	require.NoError(t, err)
	require.Len(t, profile.Records, 3)
	end := func(i int) time.Duration { return profile.Records[i].Start + profile.Records[i].Duration }
	require.LessOrEqual(t, end(0), end(1))
	require.LessOrEqual(t, end(1), end(2))
	require.LessOrEqual(t, profile.Records[2].Start, profile.Records[0].Start)
}
