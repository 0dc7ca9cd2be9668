package ref

// philox computes Philox 4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
func philox(counter [4]uint32, key [2]uint32) [4]uint32 {
	x := counter
	for range 10 {
		p0 := 0xD2511F53 * uint64(x[0])
		p1 := 0xCD9E8D57 * uint64(x[2])
		x = [4]uint32{uint32(p1>>32) ^ x[1] ^ key[0], uint32(p1), uint32(p0>>32) ^ x[3] ^ key[1], uint32(p0)}
		key[0] += 0x9E3779B9
		key[1] += 0xBB67AE85
	}
	return x
}
