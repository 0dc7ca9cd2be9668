package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"
)

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// watchMemory looks at a running process until stop is called, which gives the most memory, in bytes, that it had resident when it
// was last seen. The kernel's account of an ended process does not do: it counts the memory of whoever started it.
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
