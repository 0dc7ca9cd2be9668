package client

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

const needsExecBit = false

func isExecFormat(err error) bool { return errors.Is(err, windows.ERROR_BAD_EXE_FORMAT) }

// killGroup ends nothing: there are no process groups.
func killGroup(int) {}

// lock locks an open file for the lifetime of this process. It returns false if another process holds the lock.
func lock(f *os.File) bool {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, new(windows.Overlapped)) == nil
}

// killedBy returns "": this system has no signals.
func killedBy(*os.ProcessState) string { return "" }

// openOwn opens a file to read and write.
func openOwn(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDWR, 0) }

// ownFile reports whether this user owns a file. It returns true, because folders for temporary files belong to the user on this system.
func ownFile(os.FileInfo) bool { return true }
