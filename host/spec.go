package host

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/internal/nearest"
)

// The transports of a Spec.
const (
	Builtin = "builtin"
	Process = "process"
	Shared  = "shared" // an object in this process
)

// Spec names a device: [builtin:|process:|shared:]NAME[:INDEX].
type Spec struct {
	Transport string // "", Builtin, Process or Shared
	Name      string
	Index     int
}

// String prints the spec in full.
func (s Spec) String() string {
	t := fmt.Sprintf("%s:%d", s.Name, s.Index)
	if s.Transport != "" {
		t = s.Transport + ":" + t
	}
	return t
}

// ParseSpec reads a Spec. A missing index is 0.
func ParseSpec(text string) (Spec, error) {
	var s Spec
	rest := text
	if scheme, _, ok := strings.Cut(text, "://"); ok {
		return s, fmt.Errorf("device %q: %s:// is not supported by this version of burn, want NAME[:INDEX], builtin:NAME, process:NAME or shared:NAME: %w",
			text, scheme, core.ErrUnsupported)
	}
	for _, t := range []string{Builtin, Process, Shared} {
		if r, ok := strings.CutPrefix(rest, t+":"); ok {
			s.Transport, rest = t, r
			break
		}
	}
	name, index, ok := strings.Cut(rest, ":")
	if ok {
		n, err := strconv.ParseUint(index, 10, 16)
		if err != nil && s.Transport == "" {
			if hint := nearest.Hint(name, []string{Builtin, Process, Shared}); hint != "" {
				return s, fmt.Errorf("device %q: transport %q, want builtin, process or shared%s: %w", text, name, hint, core.ErrNotFound)
			}
		}
		if err != nil {
			return s, fmt.Errorf("device %q: index %q, want a number from 0: %w", text, index, core.ErrNotFound)
		}
		s.Index = int(n)
	}
	if !validName(name) {
		return s, fmt.Errorf("device %q: name %q, want letters, digits, - and _: %w", text, name, core.ErrNotFound)
	}
	s.Name = name
	return s, nil
}

func validName(name string) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return name != ""
}
