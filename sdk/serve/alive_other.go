//go:build !unix

package serve

// alive always returns true on this system: the end of the pipe at standard input shows that the host is gone.
func alive(int) bool { return true }
