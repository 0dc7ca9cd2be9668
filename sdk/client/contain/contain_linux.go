package contain

import (
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Apply enforces the rules for the calling thread and for processes that it starts from then on. This cannot be undone, so it must be
// called in a function passed to OnThread.
func Apply(r Rules) Report {
	files := prepareLandlock(&r) // open paths before rules are in force
	report := Report{privileges()}
	report = append(report, files.restrict(&r)...)
	return append(report, filter(&r, files)...)
}

// OnThread calls f on a dedicated thread, and ends the thread when done is closed. It returns when f returns. If f starts a process that
// asks the kernel for a signal at the end of its parent, this thread is the parent.
func OnThread(f func(), done <-chan struct{}) {
	returned := make(chan struct{})
	go runOnThread(f, returned, done)
	<-returned
}

func runOnThread(f func(), returned chan<- struct{}, done <-chan struct{}) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() { // the main thread represents the process and must not end: use another one
		started := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(started)
			f()
			close(returned)
			<-done
		}()
		<-started
		runtime.UnlockOSThread()
		return
	}
	f()
	close(returned)
	<-done // a goroutine that ends while it is locked takes its thread with it
}

// privileges drops all capabilities and every way to gain new capabilities.
func privileges() Measure {
	var failed []string
	fail := func(what string, err error) {
		if err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", what, err))
		}
	}
	fail("no_new_privs", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	// If the process may not shrink the bounding set, it has no capabilities, and no_new_privs prevents new capabilities.
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) != nil {
			break
		}
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	fail("capset", unix.Capset(&header, &none[0]))
	if len(failed) > 0 {
		return Measure{Privileges, false, strings.Join(failed, ", ")}
	}
	return Measure{Privileges, true, "no_new_privs, no capabilities"}
}
