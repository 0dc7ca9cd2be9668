package micro

const (
	// MinWork is the least number of multiply-adds for which another thread is used with a kernel in plain Go. MinNativeWork is that number
	// for a kernel in assembly.
	MinWork       = 64 << 10
	MinNativeWork = 256 << 10
	// MinVectorWork is the least number of matrix elements for which a product with a vector uses another thread with a kernel in plain Go.
	// MinNativeVectorWork is that number for a kernel in assembly.
	MinVectorWork       = 32 << 10
	MinNativeVectorWork = 128 << 10
)

// Grain returns the least number of multiply-adds for which another thread is used.
func (kern *Kernel[T]) Grain() int {
	if kern.Tile != nil {
		return MinNativeWork
	}
	return MinWork
}
