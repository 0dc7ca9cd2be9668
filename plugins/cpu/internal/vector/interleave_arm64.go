package vector

func interleaveRows(rows, cols int, dst *float32, dstRow int, src, odd *float32, srcRow int) {
	interleaveRowsNEON(rows, cols, dst, dstRow, src, odd, srcRow)
}

func sampleRows(rows, cols int, dst *float32, dstRow int, src *float32, srcRow int) {
	sampleRowsNEON(rows, cols, dst, dstRow, src, srcRow)
}
