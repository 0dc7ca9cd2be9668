package ref

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// philox returns the known answers of Random123 for philox4x32-10.
func TestPhilox(t *testing.T) {
	const ones = 0xffffffff
	require.Equal(t, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}, philox([4]uint32{}, [2]uint32{}))
	require.Equal(t, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}, philox([4]uint32{ones, ones, ones, ones}, [2]uint32{ones, ones}))
	require.Equal(t, [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		philox([4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0}))
}

// Element i is word i mod 4 of block counter + i div 4. The counter carries into its upper word.
func TestRandomBits(t *testing.T) {
	bits := func(attrs ...op.Attr) []int64 {
		n, err := op.New(op.RandomBits, nil, append(attrs, op.Type("dtype", dtype.U32))...)
		require.NoError(t, err)
		out, err := Eval(&n, nil)
		require.NoError(t, err)
		return out[0].I
	}
	first := bits(op.Int("seed", 0), op.Ints("shape", 2, 3))
	require.Equal(t, []int64{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}, first[:4])
	next := philox([4]uint32{1}, [2]uint32{})
	require.Equal(t, []int64{int64(next[0]), int64(next[1])}, first[4:])
	carried := philox([4]uint32{0, 1}, [2]uint32{5, 0xffffffff})
	require.Equal(t, int64(carried[0]), bits(op.Int("seed", -1<<32|5), op.Int("counter", 0xffffffff), op.Ints("shape", 5))[4])
}

// The state of RandomBitsAt is added to seed and counter, modulo 2^64.
func TestRandomBitsAt(t *testing.T) {
	for _, c := range [][4]int{{0, 0, 0, 0}, {5, 7, 0, 0}, {5, 7, -9, 3}, {-1 << 32, 0xffffffff, 5, 1}, {1 << 62, -3, 1 << 62, 1 << 40}} {
		attrs := []op.Attr{op.Ints("shape", 11), op.Type("dtype", dtype.I32)}
		state := Tensor{Desc: op.DescOf(dtype.I64, 2), I: []int64{int64(c[2]), int64(c[3])}}
		at, err := op.New(op.RandomBitsAt, []op.Desc{state.Desc}, append(attrs, op.Int("seed", c[0]), op.Int("counter", c[1]))...)
		require.NoError(t, err)
		got, err := Eval(&at, []Tensor{state})
		require.NoError(t, err)
		n, err := op.New(op.RandomBits, nil, append(attrs, op.Int("seed", c[0]+c[2]), op.Int("counter", c[1]+c[3]))...)
		require.NoError(t, err)
		want, err := Eval(&n, nil)
		require.NoError(t, err)
		require.Equal(t, want[0].I, got[0].I)
	}
}
