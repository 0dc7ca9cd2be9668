//go:build unix

package client

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const needsExecBit = true

func isExecFormat(err error) bool { return errors.Is(err, unix.ENOEXEC) }

// killGroup ends a process and what it has started, apart from what has left its process group.
func killGroup(pid int) { _ = unix.Kill(-pid, unix.SIGKILL) }

// lock takes the lock of an open file for as long as this process lives, if nobody holds it.
func lock(f *os.File) bool { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }
