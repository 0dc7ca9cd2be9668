package nv

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func ltStub(t *testing.T) (*LtHandle, *stub) {
	s := build(t, t.TempDir(), "libcublasLt.so.12", "lt.c", ltProcs{})
	l := Open(Search{Only: s.folder})
	require.NotNil(t, l.Lt, "%s", l.Report)
	require.Equal(t, "12.9.3", l.Report.Row("cublaslt").Version)
	h, err := l.Lt.NewHandle()
	require.NoError(t, err)
	return h, s
}

func TestLtArguments(t *testing.T) {
	h, s := ltStub(t)
	s.set(0, 3)
	spec := RowMajor(10, 20, 30, BF16, F16, true, false, 11, 21, F32, 22)
	spec.Compute, spec.Scale, spec.Epilogue = ComputeF32, F32, EpilogueDGeluBGrad
	spec.AuxLD, spec.AuxStride, spec.BiasStride, spec.BiasTyped, spec.BiasType, spec.FastAccumulate, spec.Scales = 24, 25, 26, true, BF16, true, true
	spec.D.Batch, spec.D.Stride, spec.A.RowMajor = 4, 1<<33, true
	m, err := h.NewMatmul(spec)
	require.NoError(t, err)
	require.Equal(t, `desc 68 0
desc 3=0 (4)
desc 4=1 (4)
desc 7=208 (4)
desc 26=14 (4)
desc 10=26 (8)
desc 12=24 (8)
desc 13=25 (8)
desc 25=1 (1)
layout type=2 20 x 30 ld=21
layout 1=1 (4)
layout type=14 10 x 30 ld=11
layout type=0 20 x 10 ld=22
layout type=0 20 x 10 ld=22
layout 5=4 (4)
layout 6=8589934592 (8)
`, s.record())
	r := &MatmulRun{Alpha: 0.5, Beta: -2, A: 0x10, B: 0x20, C: 0x30, D: 0x40, Bias: 0x50, Aux: 0x60, ScaleA: 0x70, ScaleB: 0x80, ScaleD: 0x90, Workspace: 0xa0, WorkspaceSize: 1 << 33}
	algos, err := m.Heuristic(Preference{Workspace: 1 << 25, AlignA: 16, AlignC: 4, AlignD: 2, Exact: true}, r, 4)
	require.NoError(t, err)
	require.Len(t, algos, 2, "one of three has a bad state")
	require.Equal(t, uint64(1001), algos[0].Workspace)
	require.Equal(t, float32(0.5), algos[0].Waves)
	require.Equal(t, "desc 8=80 (8)\ndesc 11=96 (8)\ndesc 17=112 (8)\ndesc 18=128 (8)\ndesc 20=144 (8)\n"+
		"pref 1=33554432 (8)\npref 3=2 (4)\npref 5=16 (4)\npref 7=4 (4)\npref 8=2 (4)\nheuristic want=4\n", s.record())
	require.NoError(t, m.Run(0x77, r, &algos[0]))
	require.Equal(t, "matmul h=1000 desc=2000 alpha=0.5 a=10 3001 b=20 3002 beta=-2 c=30 3003 d=40 3004 algo=a1..b1 workspace=a0 8589934592 stream=77\n", s.record())
	r.Bias, r.C = 0x51, 0
	require.NoError(t, m.Run(0x77, r, &algos[1]))
	require.True(t, strings.HasPrefix(s.record(), "desc 8=81 (8)\nmatmul "), "only the address that changed is set again")
	s.set(1, 15)
	err = m.Run(0x77, r, &algos[1])
	require.ErrorIs(t, err, ErrUnsupported)
	require.EqualError(t, err, "cuBLASLt: cublasLtMatmul: the functionality requested is not supported (CUBLAS_STATUS_NOT_SUPPORTED, 15)")
	s.set(1, 0)
	s.set(3, 1)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if err := m.Run(0x77, r, &algos[0]); err != nil {
			panic(err)
		}
	}))
	require.NoError(t, m.Close())
	require.NoError(t, m.Close())
	require.Zero(t, s.objects())
}

func TestLtWithoutAlgorithm(t *testing.T) {
	h, s := ltStub(t)
	for _, found := range []int64{0, 1} { // none, and one that is marked as unusable
		s.set(0, found)
		spec := RowMajor(1, 1, 1, F32, F32, false, false, 1, 1, F32, 1)
		spec.Compute = ComputeF32
		m, err := h.NewMatmul(spec)
		require.NoError(t, err)
		_, err = m.Heuristic(Preference{}, nil, 8)
		require.ErrorIs(t, err, ErrUnsupported)
		require.NoError(t, m.Close())
	}
	spec := RowMajor(1, 1, 1, F32, 99, false, false, 1, 1, F32, 1)
	_, err := h.NewMatmul(spec)
	require.ErrorIs(t, err, ErrUnsupported, "no way to compute")
	spec.Compute = ComputeF32
	_, err = h.NewMatmul(spec)
	require.ErrorIs(t, err, ErrUnsupported)
	require.LessOrEqual(t, s.objects(), 1, "what was made before the failure is destroyed; the stub counts the layout that failed")
}
