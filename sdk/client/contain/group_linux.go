package contain

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Group is a control group (cgroup v2) for one process and the processes that it starts.
type Group struct {
	dir string
	// Bounds describes the limits that the group enforces; empty: none, because no controller is delegated.
	Bounds string
}

// groupPrefix begins the names of all groups, so that a sweep removes no other.
const groupPrefix = "burn-plugin-"

// maxTasks bounds the processes and threads of a plugin, if the group can enforce it.
const maxTasks = 8192

// ownGroup returns the folder of the group of this process.
func ownGroup() (dir, path string, err error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", "", err
	}
	found := false
	for line := range strings.Lines(string(text)) {
		if p, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			path, found = p, true
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || !found {
		return "", "", errors.New("there is no cgroup v2")
	}
	for line := range strings.Lines(string(mounts)) {
		left, right, ok := strings.Cut(line, " - ")
		f := strings.Fields(left)
		if !ok || !strings.HasPrefix(right, "cgroup2 ") || len(f) < 5 {
			continue
		}
		rel, err := filepath.Rel(f[3], path) // f[3] is the mounted group, f[4] its mount point
		if err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			return filepath.Join(f[4], rel), path, nil
		}
	}
	return "", "", errors.New("cgroup v2 is not mounted")
}

// delegated reports whether groups may be created in dir, whose path in the hierarchy is path. dir must be writable and must belong to
// this user. For root it must instead be the root of the visible hierarchy, or the service manager must have marked it as delegated.
func delegated(dir, path string) bool {
	if unix.Access(dir, unix.W_OK) != nil || unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) != nil {
		return false
	}
	if os.Geteuid() == 0 {
		if path == "/" {
			return true
		}
		mark := make([]byte, 8)
		for _, name := range []string{"trusted.delegate", "user.delegate"} {
			if n, err := unix.Getxattr(dir, name, mark); err == nil && n > 0 && mark[0] == '1' {
				return true
			}
		}
		return false
	}
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

// NewGroup returns a group below the group of this process; name is unique among the groups of this user. If no group can be created, the
// error says why. memory bounds the memory of the group in bytes if that is possible; 0: no bound.
func NewGroup(name string, memory int64) (*Group, error) {
	parent, path, err := ownGroup()
	if err != nil {
		return nil, err
	}
	if !delegated(parent, path) {
		return nil, errors.New("no cgroup is delegated to this program")
	}
	g := &Group{dir: filepath.Join(parent, groupPrefix+name)}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(g.dir, "cgroup.kill")); err != nil {
		_ = os.Remove(g.dir)
		return nil, errors.New("this kernel cannot end a cgroup as a whole (Linux before 5.14)")
	}
	var bounds []string
	if g.set("pids.max", strconv.Itoa(maxTasks)) == nil {
		bounds = append(bounds, fmt.Sprintf("%d processes and threads", maxTasks))
	}
	if memory > 0 && g.set("memory.max", strconv.FormatInt(memory, 10)) == nil {
		_ = g.set("memory.oom.group", "1")
		bounds = append(bounds, fmt.Sprintf("%d bytes of memory of all kinds", memory))
	}
	g.Bounds = strings.Join(bounds, ", ")
	return g, nil
}

func (g *Group) set(file, value string) error {
	f, err := os.OpenFile(filepath.Join(g.dir, file), os.O_WRONLY, 0) // does not create a missing file
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// Dir returns the folder of the group.
func (g *Group) Dir() string { return g.dir }

// Bounding reports whether a group would enforce limits: whether controllers of memory or tasks are delegated to groups below the group of
// this process.
func Bounding() bool {
	dir, _, err := ownGroup()
	if err != nil {
		return false
	}
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	return err == nil && (strings.Contains(string(text), "memory") || strings.Contains(string(text), "pids"))
}

// Open opens the folder of the group. With the descriptor of the folder, a process can be started in the group
// (syscall.SysProcAttr.CgroupFD).
func (g *Group) Open() (*os.File, error) { return os.Open(g.dir) }

// Add puts a running process into the group. Processes that this process has started already stay outside.
func (g *Group) Add(pid int) error { return g.set("cgroup.procs", strconv.Itoa(pid)) }

// Kill ends all processes of the group.
func (g *Group) Kill() error { return g.set("cgroup.kill", "1") }

// Remove removes the group. It briefly waits for killed processes to end.
func (g *Group) Remove() error {
	var err error
	for range 200 {
		if err = unix.Rmdir(g.dir); err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return err
}

// Sweep kills the processes of a group that a dead program has left behind, and removes the group. It ignores a dir that NewGroup did not make.
func Sweep(dir string) {
	var fs unix.Statfs_t
	if !strings.HasPrefix(filepath.Base(dir), groupPrefix) || unix.Statfs(dir, &fs) != nil || fs.Type != unix.CGROUP2_SUPER_MAGIC {
		return
	}
	g := &Group{dir: dir}
	_ = g.Kill()
	_ = g.Remove()
}
