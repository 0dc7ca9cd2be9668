package sealed

import "golang.org/x/sys/unix"

// noExec reports whether dir is on a file system that is mounted with noexec.
func noExec(dir string) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) == nil && s.Flags&unix.ST_NOEXEC != 0
}
