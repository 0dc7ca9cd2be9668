package wire

import (
	"fmt"

	"github.com/goburn/burn/core"
)

// Version is the newest protocol version that this build supports, and Oldest the oldest version.
const (
	Version = 2
	Oldest  = 2
)

// Range is the range of protocol versions that one side supports, both ends included.
type Range struct{ Min, Max uint32 }

// Speaks returns the range of this build.
func Speaks() Range { return Range{Oldest, Version} }

// String prints "1", or "1 to 3".
func (r Range) String() string {
	if r.Min == r.Max {
		return fmt.Sprint(r.Max)
	}
	return fmt.Sprintf("%d to %d", r.Min, r.Max)
}

// Valid reports whether r contains at least one version. Version 0 does not count.
func (r Range) Valid() bool { return r.Min >= 1 && r.Min <= r.Max }

// Newest returns the newest version that both ranges contain, and whether such a version exists.
func (r Range) Newest(o Range) (uint32, bool) {
	lo, hi := max(r.Min, o.Min), min(r.Max, o.Max)
	return hi, r.Valid() && o.Valid() && lo <= hi
}

// Mismatch returns the ErrProtocol for a plugin whose range does not overlap the host's. It names both ranges and the remedy.
func Mismatch(name string, plugin, host Range) error {
	return fmt.Errorf("plugin %s: %w: it speaks version %v, this program %v; %s",
		name, core.ErrProtocol, plugin, host, MismatchRemedy(name, plugin, host))
}

// MismatchRemedy returns the command that resolves a mismatch.
func MismatchRemedy(name string, plugin, host Range) string {
	if plugin.Valid() && plugin.Min > host.Max {
		return "the program is older: upgrade burn, or install an older plugin with `burn plugin install " + name + "@VERSION`"
	}
	return "the plugin is older: run `burn plugin upgrade " + name + "` if a mirror has a newer one, or `burn plugin install FILE.tar.gz` with one from its maker"
}

// InstallRemedy returns the command that installs a plugin. Only the mirror knows whether it has the plugin.
func InstallRemedy(name string) string {
	return "run `burn plugin install FILE.tar.gz` with an archive from its maker, or `burn plugin install " + name + "` if the mirror of your configuration or of --mirror has it"
}
