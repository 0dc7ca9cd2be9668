package wire

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire/internal/pb"
)

// TestProfileStep checks that a step of a profile crosses the wire unchanged.
func TestProfileStep(t *testing.T) {
	s := core.ProfileStep{Program: "p", Index: core.WholeRun, Ops: []string{"conv", "add"}, In: []op.Desc{op.DescOf(dtype.BF16, 2, 0, 3)},
		Out: []op.Desc{op.DescOf(dtype.I8, 1<<40), {DType: dtype.F32, Shape: []int{}}}, Flops: 1 << 60, Bytes: 7}
	p := &core.Profile{}
	require.NoError(t, addPart(p, &pb.ProfileReply{Steps: []*pb.ProfileStep{stepToProto(s)}, Dropped: 3,
		Records: []*pb.ProfileRecord{{Step: 0, Stream: 2, Start: 5, Duration: 6}}}))
	require.NoError(t, checkProfile(p))
	require.Equal(t, &core.Profile{Steps: []core.ProfileStep{s}, Records: []core.ProfileRecord{{Step: 0, Stream: 2, Start: 5, Duration: 6 * time.Nanosecond}},
		Dropped: 3}, p)
}

// TestHostileProfile checks that invalid profiles of a plugin are protocol errors.
func TestHostileProfile(t *testing.T) {
	long := string(make([]byte, MaxName+1))
	step := &pb.ProfileStep{}
	for name, m := range map[string]*pb.ProfileReply{
		"a record of no step":     {Records: []*pb.ProfileRecord{{Step: 0}}},
		"a record of a far step":  {Steps: []*pb.ProfileStep{step}, Records: []*pb.ProfileRecord{{Step: 1<<32 - 1}}},
		"a time before the start": {Steps: []*pb.ProfileStep{step}, Records: []*pb.ProfileRecord{{Start: -1}}},
		"a negative duration":     {Steps: []*pb.ProfileStep{step}, Records: []*pb.ProfileRecord{{Duration: -1}}},
		"an end beyond time":      {Steps: []*pb.ProfileStep{step}, Records: []*pb.ProfileRecord{{Start: 1<<63 - 1, Duration: 1<<63 - 1}}},
		"a long name":             {Steps: []*pb.ProfileStep{{Program: long}}},
		"a long op":               {Steps: []*pb.ProfileStep{{Ops: []string{long}}}},
		"many ops":                {Steps: []*pb.ProfileStep{{Ops: make([]string, core.MaxProfileOps+1)}}},
		"an odd index":            {Steps: []*pb.ProfileStep{{Index: -2}}},
		"no element type":         {Steps: []*pb.ProfileStep{{In: []*pb.Type{{Element: 0}}}}},
		"an unknown element type": {Steps: []*pb.ProfileStep{{Out: []*pb.Type{{Element: 257}}}}},
		"a high rank":             {Steps: []*pb.ProfileStep{{Out: []*pb.Type{{Element: 2, Shape: make([]int64, 9)}}}}},
		"a negative dimension":    {Steps: []*pb.ProfileStep{{Out: []*pb.Type{{Element: 2, Shape: []int64{-1}}}}}},
		"many records":            {Steps: []*pb.ProfileStep{step}, Records: make([]*pb.ProfileRecord, core.MaxProfileRecords+1)},
	} {
		p := &core.Profile{}
		err := addPart(p, m)
		if err == nil {
			err = checkProfile(p)
		}
		require.ErrorIs(t, err, core.ErrProtocol, name)
	}
}
