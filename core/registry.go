package core

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Opener creates a Backend. A package that registers an Opener must have no other side effects until the Opener is called.
type Opener func(Config) (Backend, error)

// Config is the configuration of a backend.
type Config struct {
	// Threads is the number of threads with which a host backend computes; 0 means as many as the process may use.
	Threads int
	// Options are backend-specific settings by name.
	Options map[string]string
}

var registry = struct {
	sync.Mutex
	openers map[string]Opener
}{openers: map[string]Opener{}}

// Register makes a backend available in this process. It is called from an init function of a package that programs import for this side
// effect, as with database/sql drivers. It panics on an empty or duplicate name or a nil opener.
func Register(name string, open Opener) {
	registry.Lock()
	defer registry.Unlock()
	if name == "" || open == nil {
		panic("core: Register with an empty name or nil opener")
	}
	if _, dup := registry.openers[name]; dup {
		panic("core: Register called twice for backend " + name)
	}
	registry.openers[name] = open
}

// Registered lists the names of the backends of this process, sorted.
func Registered() []string {
	registry.Lock()
	defer registry.Unlock()
	var names []string
	for n := range registry.openers {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Open opens a registered backend. It returns ErrNotFound for an unknown name.
func Open(name string, c Config) (Backend, error) {
	registry.Lock()
	open := registry.openers[name]
	registry.Unlock()
	if open == nil {
		return nil, fmt.Errorf("core: backend %q: %w: registered in this program: %v; import its package or use host.Open for plugins",
			name, ErrNotFound, Registered())
	}
	b, err := open(c)
	if err != nil {
		return nil, fmt.Errorf("core: open %s: %w", name, err)
	}
	return b, nil
}

// OpenPlace opens a registered backend and selects one of its devices: "cpu" or "cpu:0", also written "builtin:cpu:0". Closing the place
// closes the backend.
func OpenPlace(spec string, c Config) (*Place, error) {
	name, index, err := splitSpec(strings.TrimPrefix(spec, "builtin:"))
	if err != nil {
		return nil, err
	}
	b, err := Open(name, c)
	if err != nil {
		return nil, err
	}
	if n := len(b.Info().Devices); index >= n {
		err := fmt.Errorf("core: device %q: %w: backend %s has %d devices", spec, ErrNotFound, name, n)
		return nil, errors.Join(err, b.Close())
	}
	return &Place{Backend: b, Index: index, Spec: fmt.Sprintf("builtin:%s:%d", name, index), Transport: "builtin"}, nil
}

// splitSpec parses NAME[:INDEX].
func splitSpec(spec string) (name string, index int, err error) {
	name, num, found := strings.Cut(spec, ":")
	if found {
		if index, err = strconv.Atoi(num); err != nil || index < 0 {
			return "", 0, fmt.Errorf("core: device %q: %w: want NAME or NAME:INDEX", spec, ErrNotFound)
		}
	}
	return name, index, nil
}
