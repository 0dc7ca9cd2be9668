package vector

func interleaveRows(rows, cols int, dst *float32, dstRow int, src, odd *float32, srcRow int) {
	if active == &wide {
		interleaveRows32AVX512(rows, cols, dst, dstRow, src, odd, srcRow)
	} else {
		interleaveRows32AVX2(rows, cols, dst, dstRow, src, odd, srcRow)
	}
}

func sampleRows(rows, cols int, dst *float32, dstRow int, src *float32, srcRow int) {
	if active == &wide {
		sampleRows32AVX512(rows, cols, dst, dstRow, src, srcRow)
	} else {
		sampleRows32AVX2(rows, cols, dst, dstRow, src, srcRow)
	}
}
