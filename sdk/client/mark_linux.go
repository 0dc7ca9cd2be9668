package client

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// maxEnviron bounds the size of an environment that is read. The kernel allows no larger environments.
const maxEnviron = 8 << 20

// killMarked ends all processes of this user whose environment has one of the marks, and all processes that these start meanwhile.
func killMarked(marks ...string) {
	for range 10 {
		killed := false
		entries, _ := os.ReadDir("/proc")
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err == nil && pid != os.Getpid() && killOne(pid, marks) {
				killed = true
			}
		}
		if !killed {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// killOne ends a process that has one of the marks. It uses a descriptor of the process, so that it cannot kill another process that reuses
// the number.
func killOne(pid int, marks []string) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	defer f.Close()
	env, err := io.ReadAll(io.LimitReader(f, maxEnviron))
	if err != nil {
		return false
	}
	has := slices.ContainsFunc(bytes.Split(env, []byte{0}), func(kv []byte) bool {
		return slices.ContainsFunc(marks, func(m string) bool { return string(kv) == envRun+"="+m })
	})
	return has && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
}
