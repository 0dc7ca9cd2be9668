package host

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/internal/nearest"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/sdk/wire"
)

// Options configure how backends are found and opened. The zero Options are the defaults.
type Options struct {
	// Config is passed to the backend. The options of BackendOptions under its name are added and take precedence.
	Config         core.Config
	BackendOptions map[string]map[string]string
	// Logger receives the log of plugins; nil: it is dropped.
	Logger hclog.Logger
	// Dirs are searched for plugins before all others.
	Dirs []string
	// Development are plugins by name and path that take precedence over all others and are not checked: for authors who rebuild a plugin
	// frequently. A program that sets it must tell the user.
	Development map[string]string
	// Limits bound the resources of a plugin process. If its Threads is 0, Config's applies.
	Limits client.Limits
	// Containment is ContainOn, ContainStrict or ContainOff: whether plugin processes are confined to their folder, the system's programs
	// and libraries, and what their manifests declare. Uncontained lists the names of plugins that are not confined. Status.Containment has
	// the rules in force.
	Containment string
	Uncontained []string
	// Restore restarts a plugin process that is lost, restores the tensors and programs of its streams and repeats the lost calls; see
	// package host/restore. It keeps a copy of all written data in this process. It does not apply to backends within this process and to
	// backends of BURN_REATTACH.
	Restore bool
	// Attempts is the greatest number of consecutive starts of a lost plugin without a successful call; 0: 5. Backoff is the pause before
	// the second start, doubled before each further start; 0: 20 ms.
	Attempts int
	Backoff  time.Duration
	// Heartbeat is the time that a plugin process may take to answer a health check before it is killed and counts as lost; 0: 10 seconds;
	// negative: there are no health checks.
	Heartbeat time.Duration
	// StartTimeout bounds the start of one plugin; 0: 30 seconds for Open, 10 for Devices.
	StartTimeout time.Duration
	// OpenTimeout and DefineTimeout bound the opening of a device or stream of a plugin process and the definition of a program, like the
	// fields of the same names in client.Options; 0: a minute and five minutes; negative: no bound.
	OpenTimeout, DefineTimeout time.Duration
	// Version is the version of the program, sent to plugins.
	Version string
	// Carrier is the command line of a program that calls shared.Serve. The path of a shared object is appended as the last argument.
	// Devices uses the Carrier to describe shared objects, and process:NAME uses it to run them. Empty: neither is possible.
	Carrier []string

	// LockFile and TrustFile decide about installed plugins; see package store. Empty: ./burn.lock or the lock of the store, and
	// the trust file of the user.
	LockFile, TrustFile string

	// Ask is called if a plugin of ./burn_plugins is requested and the user has not allowed that folder. It returns whether the user allows
	// the folder. If so, this is recorded for its path and content. nil: the plugin is refused, with an error that names the command that
	// allows it.
	Ask func(LocalFolder) bool

	generation uint16 // generation of the process that a restored backend uses
}

// config returns the configuration of the backend with a name.
func (o *Options) config(name string) core.Config {
	c := o.Config
	if own := o.BackendOptions[name]; len(own) > 0 {
		c.Options = maps.Clone(own)
		for k, v := range o.Config.Options {
			if _, ok := own[k]; !ok {
				c.Options[k] = v
			}
		}
	}
	return c
}

func (o *Options) client(name string) client.Options {
	limits := o.Limits
	if limits.Threads == 0 {
		limits.Threads = o.Config.Threads
	}
	return client.Options{Name: name, Config: o.config(name), Logger: o.Logger, StartTimeout: o.StartTimeout, HostVersion: o.Version,
		Generation: o.generation, Rebase: true, Heartbeat: o.Heartbeat, Limits: limits,
		OpenTimeout: o.OpenTimeout, DefineTimeout: o.DefineTimeout}
}

// Open opens a device: NAME[:INDEX], with prefix "builtin:", "process:" or "shared:" to force the transport. Without a prefix, a backend of
// this program takes precedence over a plugin of the same name, and a plugin that is a shared object is loaded into this process, if this
// process has a loader. Close of the Place ends the plugin.
//
// An unknown name or index is ErrNotFound; for a plugin that does not start, the error is a *client.StartError or a *Failure.
func Open(ctx context.Context, spec string, o Options) (*core.Place, error) {
	s, err := ParseSpec(spec)
	if err != nil {
		return nil, err
	}
	if s.Transport == "" && slices.Contains(core.Registered(), s.Name) {
		s.Transport = Builtin
	}
	var b core.Backend
	if s.Transport == Builtin {
		b, err = core.Open(s.Name, o.config(s.Name))
	} else {
		b, s.Transport, err = openPlugin(ctx, s, o)
	}
	if err != nil {
		return nil, err
	}
	if n := len(b.Info().Devices); s.Index >= n {
		_ = b.Close()
		return nil, fmt.Errorf("device %v: backend %s has %d devices, want an index below: %w", s, s.Name, n, core.ErrNotFound)
	}
	return &core.Place{Backend: b, Index: s.Index, Spec: s.String(), Transport: s.Transport}, nil
}

// openPlugin opens a plugin and returns the transport that it uses.
func openPlugin(ctx context.Context, s Spec, o Options) (core.Backend, string, error) {
	if runtime.GOOS == "js" {
		return nil, "", fmt.Errorf("plugin %q: WebAssembly has no plugins, and built in are %v: import the backend into the program: %w",
			s.Name, core.Registered(), core.ErrUnsupported)
	}
	running, err := attachable()
	if err != nil {
		return nil, "", err
	}
	if at, ok := running[s.Name]; ok && s.Transport != Shared {
		b, err := client.Attach(ctx, at, o.client(s.Name))
		if err != nil {
			return nil, "", err
		}
		return b, Process, nil
	}
	winners, _ := find(ctx, o, s.Name)
	for i := range winners {
		if p := &winners[i]; p.Name == s.Name {
			transport := s.Transport
			if transport == "" {
				transport = p.Kind
				if loader.Load() == nil {
					transport = Process
				}
			}
			b, err := p.openLasting(ctx, transport, o)
			return b, transport, err
		}
	}
	return nil, "", notFound(s.Name, winners, o)
}

func notFound(name string, found []Plugin, o Options) error {
	var plugins, folders []string
	for _, p := range found {
		plugins = append(plugins, p.Name)
	}
	for _, f := range Folders(o) {
		folders = append(folders, f.Path)
	}
	remedy := wire.InstallRemedy(name)
	if hint := nearest.Hint(name, append(core.Registered(), plugins...)); hint != "" {
		remedy = strings.TrimPrefix(hint, "; ") + " If not, " + remedy
	}
	return fmt.Errorf("plugin %q: %w: built in: %v, plugins: %v, searched: %s; %s",
		name, core.ErrNotFound, core.Registered(), plugins, strings.Join(folders, ", "), remedy)
}

// attachable reads BURN_REATTACH.
func attachable() (map[string]wire.Attach, error) {
	text := os.Getenv(wire.EnvReattach)
	if text == "" {
		return nil, nil
	}
	var m map[string]wire.Attach
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return nil, fmt.Errorf("%s: %w: %v; want the value that burn-backend-NAME --debug prints", wire.EnvReattach, core.ErrNotFound, err)
	}
	return m, nil
}
