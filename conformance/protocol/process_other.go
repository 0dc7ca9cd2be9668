//go:build !unix

package protocol

import (
	"os"
	"os/exec"
)

var interrupt = os.Interrupt

func ownGroup(*exec.Cmd)       {}
func killGroup(cmd *exec.Cmd)  { _ = cmd.Process.Kill() }
func running(int) bool         { return false }
func foreign(os.FileInfo) bool { return false }
