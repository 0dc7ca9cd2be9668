package client

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// spawner starts processes on a thread of its own that never ends. The kernel is asked to kill a plugin when its parent
// dies, and by parent it means the thread that started it: on a thread that Go gives back, the plugin would die with it.
var spawner struct {
	once sync.Once
	jobs chan func()
}

func spawn(cmd *exec.Cmd) error {
	spawner.once.Do(func() {
		spawner.jobs = make(chan func())
		go func() {
			runtime.LockOSThread()
			for job := range spawner.jobs {
				job()
			}
		}()
	})
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	done := make(chan error)
	spawner.jobs <- func() { done <- cmd.Start() }
	return <-done
}
