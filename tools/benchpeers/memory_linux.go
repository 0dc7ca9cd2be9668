package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"
)

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// watchMemory polls a running process until stop is called. stop returns the greatest resident memory seen, in bytes. The
// kernel's account of an ended process is not suitable, because it includes the memory of the process that started it.
func watchMemory(pid int) (stop func() int64) {
	path := fmt.Sprintf("/proc/%d/status", pid)
	done, result := make(chan struct{}), make(chan int64)
	go func() {
		most := int64(0)
		for {
			if text, err := os.ReadFile(path); err == nil {
				if m := highWater.FindSubmatch(text); m != nil {
					if kib, err := strconv.ParseInt(string(m[1]), 10, 64); err == nil {
						most = max(most, kib<<10)
					}
				}
			}
			select {
			case <-done:
				result <- most
				return
			case <-time.After(300 * time.Microsecond):
			}
		}
	}()
	return func() int64 {
		close(done)
		return <-result
	}
}
