//go:build unix

package client

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const needsExecBit = true

func isExecFormat(err error) bool { return errors.Is(err, unix.ENOEXEC) }

// killGroup ends a process and the processes that it has started, except processes that have left its process group.
func killGroup(pid int) { _ = unix.Kill(-pid, unix.SIGKILL) }

// killedBy returns the signal that ended a process, such as "SIGKILL (killed)", or "" if none did.
func killedBy(s *os.ProcessState) string {
	w, ok := s.Sys().(syscall.WaitStatus)
	if !ok || !w.Signaled() {
		return ""
	}
	name := unix.SignalName(w.Signal())
	if name == "" {
		name = fmt.Sprintf("%d", int(w.Signal()))
	}
	return fmt.Sprintf("%s (%v)", name, w.Signal())
}

// lock locks an open file for the lifetime of this process. It returns false if another process holds the lock.
func lock(f *os.File) bool { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }

// openOwn opens a file for reading and writing. It does not follow links or block on named pipes.
func openOwn(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// ownFile reports whether this user owns a file.
func ownFile(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
