package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/sdk/wire"
)

// Options say how backends are found and opened. The zero Options are the usual.
type Options struct {
	// Config is handed to the backend.
	Config core.Config
	// Logger takes the log of plugins; nil: it is dropped.
	Logger hclog.Logger
	// Dirs are searched for plugins before all others.
	Dirs []string
	// StartTimeout bounds the start of one plugin; 0: 30 seconds for Open, 10 for Devices.
	StartTimeout time.Duration
	// Version is that of the program, told to plugins.
	Version string
}

func (o *Options) client(name string) client.Options {
	return client.Options{Name: name, Config: o.Config, Logger: o.Logger, StartTimeout: o.StartTimeout, HostVersion: o.Version}
}

// Open opens a device: NAME[:INDEX], with prefix "builtin:" or "process:" to force the transport. Without a prefix a
// backend of this program wins over a plugin of the same name. Close of the Device ends the plugin.
//
// An unknown name or index is ErrNotFound; a plugin that does not start gives a *client.StartError or a *Failure.
func Open(ctx context.Context, spec string, o Options) (*core.Device, error) {
	s, err := ParseSpec(spec)
	if err != nil {
		return nil, err
	}
	if s.Transport == "" {
		s.Transport = Process
		if slices.Contains(core.Registered(), s.Name) {
			s.Transport = Builtin
		}
	}
	var b core.Backend
	if s.Transport == Builtin {
		b, err = core.Open(s.Name, o.Config)
	} else {
		b, err = openPlugin(ctx, s.Name, o)
	}
	if err != nil {
		return nil, err
	}
	if n := len(b.Info().Devices); s.Index >= n {
		_ = b.Close()
		return nil, fmt.Errorf("device %v: backend %s has %d devices, want an index below: %w", s, s.Name, n, core.ErrNotFound)
	}
	return &core.Device{Backend: b, Index: s.Index, Spec: s.String(), Transport: s.Transport}, nil
}

func openPlugin(ctx context.Context, name string, o Options) (core.Backend, error) {
	running, err := attachable()
	if err != nil {
		return nil, err
	}
	if at, ok := running[name]; ok {
		return client.Attach(ctx, at, o.client(name))
	}
	winners, _ := Find(o)
	for i := range winners {
		if winners[i].Name == name {
			return winners[i].open(ctx, o)
		}
	}
	return nil, notFound(name, winners, o)
}

// open checks and starts a plugin.
func (p *Plugin) open(ctx context.Context, o Options) (*client.Backend, error) {
	if f := p.Check(); f != nil {
		return nil, fmt.Errorf("plugin %s (%s): %w", p.Name, p.Path, f)
	}
	b, err := client.Start(ctx, p.Path, o.client(p.Name))
	if err != nil {
		var e *client.StartError
		if errors.As(err, &e) {
			return nil, fmt.Errorf("%w; %s", err, e.Remedy())
		}
		return nil, err
	}
	return b, nil
}

func notFound(name string, found []Plugin, o Options) error {
	var plugins, folders []string
	for _, p := range found {
		plugins = append(plugins, p.Name)
	}
	for _, f := range Folders(o) {
		folders = append(folders, f.Path)
	}
	return fmt.Errorf("plugin %q: %w: built in: %v, plugins: %v, searched: %s; install it with `burn plugin install %s`",
		name, core.ErrNotFound, core.Registered(), plugins, strings.Join(folders, ", "), name)
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
