//go:build !unix

package serve

// alive cannot tell here: the end of the pipe at standard input says when the host is gone.
func alive(int) bool { return true }
