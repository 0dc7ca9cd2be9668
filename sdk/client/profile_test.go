package client_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// TestProfileOfAPlugin checks that a profile of many parts arrives as it was recorded, and that an invalid or too large one is an ErrProtocol.
func TestProfileOfAPlugin(t *testing.T) {
	great := &core.Profile{Dropped: 7}
	for i := range 1000 {
		great.Steps = append(great.Steps, core.ProfileStep{Program: fmt.Sprint("p", i), Index: i - 1, Ops: []string{"add"},
			In: []op.Desc{op.DescOf(dtype.F32, i)}, Out: []op.Desc{op.DescOf(dtype.I64, 2, i)}, Flops: int64(i), Bytes: int64(2 * i)})
	}
	for i := range 100_000 {
		great.Records = append(great.Records, core.ProfileRecord{Step: i % 1000, Stream: i % 3, Start: time.Duration(i), Duration: time.Duration(2 * i)})
	}
	profileOf := func(p *core.Profile) (*core.Profile, error) {
		r := &rogue{welcome: decent(), device: decentDevice(), profile: p}
		r.device.Extensions.Profiling = true
		b, err := r.serve(t)
		require.NoError(t, err)
		d, err := b.Open(t.Context(), 0)
		require.NoError(t, err)
		x, ok := core.Extension[core.Profiling](d)
		require.True(t, ok)
		require.NoError(t, x.StartProfile(t.Context()))
		return x.StopProfile(t.Context())
	}
	got, err := profileOf(great)
	require.NoError(t, err)
	require.Equal(t, great, got)

	_, err = profileOf(&core.Profile{Records: []core.ProfileRecord{{Step: 0}}})
	require.ErrorIs(t, err, core.ErrProtocol)
	long := core.ProfileStep{Out: []op.Desc{op.DescOf(dtype.F32, 1)}}
	for range core.MaxProfileOps {
		long.Ops = append(long.Ops, string(make([]byte, 200)))
	}
	_, err = profileOf(&core.Profile{Steps: slices.Repeat([]core.ProfileStep{long}, core.MaxProfileSteps)}) // 200 MB
	require.ErrorIs(t, err, core.ErrProtocol)

	r := &rogue{welcome: decent(), device: decentDevice()}
	b, err := r.serve(t)
	require.NoError(t, err)
	d, err := b.Open(t.Context(), 0)
	require.NoError(t, err)
	_, ok := core.Extension[core.Profiling](d)
	require.False(t, ok, "a plugin that does not declare it has none")
}
