//go:build unix

package protocol

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

var interrupt os.Signal = syscall.SIGINT

// ownGroup makes a process the leader of a group, which killGroup ends.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// running reports whether a process that is not a child of this one exists.
func running(pid int) bool {
	if stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil {
		if _, state, ok := bytes.Cut(stat, []byte(") ")); ok && len(state) > 0 && state[0] == 'Z' {
			return false // a zombie
		}
	}
	return syscall.Kill(pid, 0) == nil
}

// foreign reports whether users other than the owner have any permission on a folder.
func foreign(info os.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }
