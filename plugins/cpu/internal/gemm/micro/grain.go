package micro

const (
	// MinWork is the fewest multiply-adds in plain Go that are worth another
	// thread, MinNativeWork in assembly.
	MinWork       = 64 << 10
	MinNativeWork = 256 << 10
	// MinVectorWork is the fewest elements of the matrix of a product with a
	// vector that are worth another thread in plain Go, MinNativeVectorWork in
	// assembly.
	MinVectorWork       = 32 << 10
	MinNativeVectorWork = 128 << 10
)

// Grain returns the fewest multiply-adds that are worth another thread.
func (kern *Kernel[T]) Grain() int {
	if kern.Tile != nil {
		return MinNativeWork
	}
	return MinWork
}
