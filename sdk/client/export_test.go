package client

// WithoutGroups has plugins started without control groups, as where none is delegated, until the result is called.
func WithoutGroups() (restore func()) {
	noGroups = true
	return func() { noGroups = false }
}
