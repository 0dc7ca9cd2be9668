//go:build !linux

package sealed

// noExec is not asked: the temporary folders of other systems take programs.
func noExec(string) bool { return false }
