package vector

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
)

// scalarPhilox is the generator as described in its paper.
func scalarPhilox(key, counter uint64) [4]uint32 {
	x := [4]uint32{uint32(counter), uint32(counter >> 32)}
	k0, k1 := uint32(key), uint32(key>>32)
	for range 10 {
		hi0, lo0 := bits.Mul32(0xD2511F53, x[0])
		hi1, lo1 := bits.Mul32(0xCD9E8D57, x[2])
		x = [4]uint32{hi1 ^ x[1] ^ k0, lo1, hi0 ^ x[3] ^ k1, lo0}
		k0 += 0x9E3779B9
		k1 += 0xBB67AE85
	}
	return x
}

func TestPhiloxBlocks(t *testing.T) {
	kept := active
	defer func() { active = kept }()
	require.Equal(t, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}, scalarPhilox(0, 0), "the paper's known answer")
	for _, l := range levels() {
		active = l
		for _, key := range []uint64{0, 1, 0xdeadbeefcafef00d, ^uint64(0)} {
			for _, counter := range []uint64{0, 5, 1<<32 - 3, ^uint64(0) - 7} {
				dst := make([]uint32, 4*100+3)
				for i := range dst {
					dst[i] = 0x5a5a5a5a
				}
				n := PhiloxBlocks(dst, key, counter)
				require.Greater(t, n, 80)
				for b := range n {
					want := scalarPhilox(key, counter+uint64(b))
					require.Equal(t, want[:], dst[4*b:4*b+4], "lanes %d, key %x, counter %x, block %d", l.lanes, key, counter, b)
				}
				for _, w := range dst[4*n:] {
					require.Equal(t, uint32(0x5a5a5a5a), w)
				}
			}
		}
	}
	active = nil
	require.Zero(t, PhiloxBlocks(make([]uint32, 400), 1, 1))
}
