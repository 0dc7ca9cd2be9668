package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
)

// metered is a device whose only extension reports the memory in use.
type metered struct {
	core.Device
	inUse int64
}

func (d metered) Extend(target any) bool {
	t, ok := target.(*core.MemoryStats)
	if ok {
		*t = d
	}
	return ok
}

func (d metered) Memory() core.Memory { return core.Memory{InUse: d.inUse} }

// doubled reports twice the memory that another extension reports.
type doubled struct{ core.MemoryStats }

func (d doubled) Memory() core.Memory { return core.Memory{InUse: 2 * d.MemoryStats.Memory().InUse} }

func TestWrapExtension(t *testing.T) {
	var stats core.MemoryStats
	require.True(t, core.WrapExtension(metered{inUse: 21}, &stats, func(x core.MemoryStats) core.MemoryStats { return doubled{x} }))
	require.EqualValues(t, 42, stats.Memory().InUse)

	var pins core.Pinning
	require.False(t, core.WrapExtension(metered{}, &pins, func(core.Pinning) core.Pinning { panic("there is none to wrap") }))
	require.Nil(t, pins)
}
