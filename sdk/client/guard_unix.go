//go:build unix

package client

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// guard is a small process that detects the end of this process, however it ends, and then ends the processes that plugins have started.
// The guard is a shell, because not every program that uses this package can start a copy of itself. Without a shell there is no guard, and
// the sweep of the next host ends these processes.
type guard struct {
	pipe *os.File
}

// guardShell is the program that runs the guard.
const guardShell = "/bin/sh"

// guardScript reads lines "+ PID MARK CGROUP" and "- PID" until its input ends, which happens when the host ends. It then kills the control
// groups, the process groups and all processes with a mark in their environment.
const guardScript = `trap '' HUP INT QUIT TERM
live=' '
while read -r what pid mark group; do
	case $what in
	+) live="$live$pid:$mark:$group " ;;
	-) case $live in *" $pid:"*) live="${live%% $pid:*} ${live#* $pid:* }" ;; esac ;;
	esac
done
for entry in $live; do
	pid=${entry%%:*} rest=${entry#*:}
	mark=${rest%%:*} group=${rest#*:}
	if [ -n "$group" ]; then echo 1 >"$group/cgroup.kill"; fi
	kill -s KILL -- "-$pid"
	for pass in 1 2 3; do
		for file in /proc/[0-9]*/environ; do
			if grep -q "` + envRun + `=$mark" "$file"; then
				process=${file#/proc/}
				kill -s KILL "${process%/environ}"
			fi
		done
	done
	tries=0
	while [ -n "$group" ] && [ -d "$group" ] && ! rmdir "$group" && [ $tries -lt 20 ]; do # until what was killed is gone
		tries=$((tries + 1))
		sleep 0.1 || sleep 1
	done
done`

// startGuard starts the guard. It returns nil if the guard cannot be started.
func startGuard() *guard {
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer r.Close()
	cmd := exec.Command(guardShell, "-c", guardScript, "burn-guard")
	cmd.Stdin, cmd.Dir, cmd.Env = r, "/", []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // so that the end of the host's session or process group does not end the guard
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil
	}
	go func() { _ = cmd.Wait() }()
	return &guard{w}
}

// watch adds a process group to the guard's list. When this process ends, the guard ends the process group, and other processes with the
// mark or in the control group.
func (g *guard) watch(pid int, mark, group string) {
	if g == nil {
		return
	}
	if strings.ContainsAny(group, " \t\n\\*?[") { // these break the shell's word splitting
		group = ""
	}
	_, _ = fmt.Fprintf(g.pipe, "+ %d %s %s\n", pid, mark, group)
}

// forget removes a process group from the guard's list. The number of the group may be reused from then on.
func (g *guard) forget(pid int) {
	if g != nil {
		_, _ = fmt.Fprintf(g.pipe, "- %d\n", pid)
	}
}

// close ends the guard.
func (g *guard) close() {
	if g != nil {
		_ = g.pipe.Close()
	}
}
