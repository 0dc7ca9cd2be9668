package ir

// sharedAlign is the alignment of shared arrays in bytes, the same as of the widest access.
const sharedAlign = 16

// SharedOffset returns the offset of shared array m in bytes, when all shared arrays are in one block of memory.
func (k *Kernel) SharedOffset(m Mem) int {
	n := 0
	for _, a := range k.Shared[:m] {
		n += (a.Len*a.Type.Size() + sharedAlign - 1) / sharedAlign * sharedAlign
	}
	return n
}

// SharedBytes returns the size of the shared memory of a block, in bytes.
func (k *Kernel) SharedBytes() int { return k.SharedOffset(Mem(len(k.Shared))) }
