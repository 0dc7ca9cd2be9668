package machine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The texts are in the formats of cgroups(7) and proc_pid_mountinfo(5).
func TestLimitFiles(t *testing.T) {
	const (
		v2 = "35 24 0:30 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
		v1 = "36 24 0:31 /docker/ab /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n" +
			"37 24 0:32 /docker/ab /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	)
	for _, c := range []struct {
		name, groups, mounts string
		want                 []string
	}{
		{"a service of systemd", "0::/system.slice/train.service\n", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" + v2, []string{
			"/sys/fs/cgroup/system.slice/train.service/memory.max", "/sys/fs/cgroup/system.slice/memory.max", "/sys/fs/cgroup/memory.max"}},
		{"a namespace of its own", "0::/\n", v2, []string{"/sys/fs/cgroup/memory.max"}},
		{"the mount is a group", "0::/pod/c/inner\n", "35 24 0:30 /pod/c /cg rw - cgroup2 cgroup2 rw\n", []string{"/cg/inner/memory.max", "/cg/memory.max"}},
		{"outside the mounted group", "0::/other\n", "35 24 0:30 /pod/c /cg rw - cgroup2 cgroup2 rw\n", nil},
		{"v1", "5:memory:/docker/ab/x\n4:cpu,cpuacct:/docker/ab\n", v1, []string{
			"/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}},
		{"a colon in a name", "0::/a:b\n", v2, []string{"/sys/fs/cgroup/a:b/memory.max", "/sys/fs/cgroup/memory.max"}},
		{"nothing known", "", "", nil},
	} {
		require.Equal(t, c.want, limitFiles(c.groups, c.mounts), c.name)
	}
}
