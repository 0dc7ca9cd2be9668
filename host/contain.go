package host

import (
	"fmt"
	"os"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/sdk/client/contain"
)

// The values of Options.Containment.
const (
	ContainOn     = "on"     // ContainOn confines plugins as far as the system supports it; the same as ""
	ContainStrict = "strict" // a plugin is not started if a rule cannot be enforced
	ContainOff    = "off"    // plugins have all rights of the user
)

// contained sets the rules of containment for the plugin in a client's options.
func (p *Plugin) contained(c *client.Options, o *Options) *Failure {
	needs := contain.Needs{}
	if p.Manifest != nil && p.Manifest.Needs != nil {
		needs = *p.Manifest.Needs
	}
	if err := needs.Check(); err != nil {
		return &Failure{CauseManifest, err.Error(), "correct the section [needs] of the manifest", fmt.Errorf("%w: %w", core.ErrNotFound, err)}
	}
	c.Sees = needs.Sees
	switch {
	case !slices.Contains([]string{"", ContainOn, ContainStrict, ContainOff}, o.Containment):
		return &Failure{client.CauseSystem, fmt.Sprintf("containment %q, want on, strict or off", o.Containment), "correct the setting", core.ErrNotFound}
	case o.Containment != ContainOff && !slices.Contains(o.Uncontained, p.Name):
		c.Contain, c.Strict = &needs, o.Containment == ContainStrict
	}
	return nil
}

// Environment returns the environment that a process of the plugin at path sees: the variables of this process that all plugins see, and
// the variables that the manifest beside the plugin requests.
func Environment(path string) ([]string, error) {
	p := development("", path)
	if p.found != nil {
		return nil, p.found
	}
	var asked func(name string) bool
	if p.Manifest != nil {
		asked = p.Manifest.Needs.Sees
	}
	return client.Environment(os.Environ(), client.Limits{}, asked), nil
}

// containment records the containment report of a plugin process.
func (s *Status) containment(b *client.Backend) {
	s.Containment = b.Containment()
	if !slices.ContainsFunc(s.Containment, func(m contain.Measure) bool { return m.Name == contain.Files }) {
		s.Containment = append(contain.Off("it is switched off, or the process runs already"), s.Containment...)
	}
}
