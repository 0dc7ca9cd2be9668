package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of the times in /proc on Linux.
const tick = 10 * time.Millisecond

// processorTime returns the processor time that this process and its children, such as a plugin, have used, or 0 if the system
// has no /proc. Other programs on the machine affect it less than they affect the wall-clock time.
func processorTime() time.Duration {
	sum := timeOf("self")
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, path := range lists {
		b, err := os.ReadFile(filepath.Clean(path))
		if err != nil {
			continue // the thread has ended
		}
		for _, pid := range strings.Fields(string(b)) {
			sum += timeOf(pid)
		}
	}
	return sum
}

// timeOf returns the processor time of all threads of a process.
func timeOf(pid string) time.Duration {
	b, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return 0
	}
	d, err := statTime(string(b))
	if err != nil {
		return 0
	}
	return d
}

// statTime returns the user and system time in a line of /proc/PID/stat.
func statTime(line string) (time.Duration, error) {
	fields := strings.Fields(line[strings.LastIndexByte(line, ')')+1:]) // the name may contain spaces
	const user = 11                                                     // index of utime after the name; stime follows
	if len(fields) < user+2 {
		return 0, fmt.Errorf("%d fields behind the name, want %d", len(fields), user+2)
	}
	var sum time.Duration
	for _, text := range fields[user : user+2] {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}
