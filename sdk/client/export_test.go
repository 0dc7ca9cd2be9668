package client

// WithoutGroups makes Start use no control groups, as on a system that delegates none, until restore is called.
func WithoutGroups() (restore func()) {
	noGroups = true
	return func() { noGroups = false }
}
