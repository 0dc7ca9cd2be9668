//go:build unix

package sealed

import (
	"os"
	"syscall"
)

// ownFile reports whether this user owns a file.
func ownFile(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
