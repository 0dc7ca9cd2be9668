//go:build !linux && !windows && !js

package client

import (
	"os/exec"
	"syscall"

	"github.com/goburn/burn/sdk/client/contain"
)

// spawn starts a process in a new process group. The plugin itself watches for the end of its host.
func spawn(cmd *exec.Cmd, c *confinement) (report contain.Report, err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if c.rules != nil {
		report = contain.Apply(*c.rules)
		if err := c.check(report); err != nil {
			return nil, err
		}
	}
	return report, cmd.Start()
}

// hasLimits reports whether limit has an effect.
const hasLimits = false

// limit does nothing: only Linux sets limits from outside a process.
func limit(int, Limits) error { return nil }

// await waits for the end of a process and reaps it.
func await(cmd *exec.Cmd) { _ = cmd.Wait() }
