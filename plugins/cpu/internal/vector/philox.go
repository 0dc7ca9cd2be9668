package vector

// PhiloxBlocks writes blocks of four words of Philox 4x32 with ten rounds to dst, for consecutive counters that begin with counter. It
// writes complete groups of blocks only and returns the number of blocks; the caller writes the rest.
func PhiloxBlocks(dst []uint32, key, counter uint64) int {
	if active == nil {
		return 0
	}
	per := active.lanes // two vectors of lanes of 64 bits
	groups := len(dst) / (4 * per)
	if groups == 0 {
		return 0
	}
	_ = dst[4*per*groups-1]
	philox(groups, &dst[0], key, counter)
	return groups * per
}
