package nv

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNCCL(t *testing.T) {
	s := build(t, t.TempDir(), "libnccl.so.2", "nccl.c", ncclProcs{})
	l := Open(Search{Only: s.folder})
	require.NotNil(t, l.NCCL, "%s", l.Report)
	require.Equal(t, "2.28.3", l.Report.Row("nccl").Version)
	n := l.NCCL
	comms, err := n.InitAll([]Device{3, 1, 2})
	require.NoError(t, err)
	require.Equal(t, []Comm{0xd0, 0xd1, 0xd2}, comms)
	require.NoError(t, errors.Join(n.AllReduce(0xd0, 1, 2, 1<<33, NCCLBF16, NCCLMean, 5), n.AllGather(0xd0, 1, 2, 3, NCCLF32, 5),
		n.ReduceScatter(0xd0, 1, 2, 3, NCCLI64, NCCLMax, 5), n.Broadcast(0xd0, 1, 2, 3, NCCLU8, 2, 5), n.GroupStart(), n.GroupEnd()))
	require.Equal(t, `device 3
device 1
device 2
all-reduce 1 2 8589934592 9 4 d0 5
all-gather 1 2 3 7 d0 5
reduce-scatter 1 2 3 4 2 d0 5
broadcast 1 2 3 1 2 d0 5
`, s.record())
	require.NoError(t, n.AsyncError(0xd0))
	require.NoError(t, n.AsyncError(0xd1), "in progress")
	err = n.AsyncError(0xd2)
	require.ErrorIs(t, err, ErrFault)
	require.EqualError(t, err, "NCCL: ncclCommGetAsyncError: the link is down (unhandled cuda error, 1)")
}
