package machine

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// memory returns the least of the limits of the machine, the control groups and the process (ulimit -v, ulimit -d).
func memory() int64 {
	var total int64
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		total = int64(info.Totalram) * int64(info.Unit)
	}
	groups, _ := os.ReadFile("/proc/self/cgroup")
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for _, file := range append(limitFiles(string(groups), string(mounts)), "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes") {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && n > 0 && (total == 0 || n < total) {
			total = n
		}
	}
	for _, resource := range []int{unix.RLIMIT_AS, unix.RLIMIT_DATA} {
		var r unix.Rlimit
		if unix.Getrlimit(resource, &r) == nil && r.Cur < uint64(math.MaxInt64) && (total == 0 || int64(r.Cur) < total) {
			total = int64(r.Cur)
		}
	}
	return total
}

// limitFiles returns the files that hold the memory limits of the control groups of a process: of its own group and of each ancestor up to
// the mounted group, of cgroup v2 and of v1. groups is the text of /proc/PID/cgroup, mounts the text of /proc/PID/mountinfo. The files need
// not exist: the root group and groups without the memory controller have none.
func limitFiles(groups, mounts string) []string {
	var unified, memory string // the path of the group in the hierarchy of v2, and in the hierarchy of v1 with the memory controller
	for line := range strings.Lines(groups) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(f) != 3:
		case f[0] == "0" && f[1] == "":
			unified = f[2]
		case slices.Contains(strings.Split(f[1], ","), "memory"):
			memory = f[2]
		}
	}
	var files []string
	for line := range strings.Lines(mounts) {
		left, right, ok := strings.Cut(strings.TrimSpace(line), " - ")
		f, kind := strings.Fields(left), strings.Fields(right)
		if !ok || len(f) < 5 || len(kind) < 3 {
			continue
		}
		group, name := "", ""
		switch {
		case kind[0] == "cgroup2":
			group, name = unified, "memory.max"
		case kind[0] == "cgroup" && slices.Contains(strings.Split(kind[2], ","), "memory"):
			group, name = memory, "memory.limit_in_bytes"
		}
		if group == "" {
			continue
		}
		rel, err := filepath.Rel(f[3], group) // f[3] is the mounted group, f[4] its mount point
		if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
			continue
		}
		for ; rel != "."; rel = filepath.Dir(rel) {
			files = append(files, filepath.Join(f[4], rel, name))
		}
		files = append(files, filepath.Join(f[4], name))
	}
	return files
}
