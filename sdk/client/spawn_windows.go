package client

import "os/exec"

// spawn starts a process. The plugin itself watches for the end of its host.
func spawn(cmd *exec.Cmd) error { return cmd.Start() }

// limit does nothing: limits are set from outside a process on Linux alone.
func limit(int, Limits) error { return nil }

// reap waits for the end of a process and ends what it has started.
func reap(cmd *exec.Cmd) {
	_ = cmd.Wait()
	killGroup(cmd.Process.Pid)
}
