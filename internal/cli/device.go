package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/internal/nearest"
	"github.com/goburn/burn/internal/title"
	"github.com/goburn/burn/sdk/client"
	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	_ "github.com/goburn/burn/plugins/cpu" // the built-in backend
)

// hostOptions returns the settings of the host: plugins to search, threads, and the log, which goes to stderr.
//
// Plugins may be started after this call. From then on the process list of the machine, which plugins can read too, does not show
// the command line.
func (a *app) hostOptions() host.Options {
	title.Hide("burn")
	o := host.Options{Config: core.Config{Threads: a.config.Threads}, Dirs: a.config.PluginPath, Development: a.config.DevPlugins, Version: buildInfo().Version,
		Carrier: carrier(), BackendOptions: a.config.Options, StartTimeout: a.config.Plugins.StartTimeout, OpenTimeout: a.config.Plugins.OpenTimeout,
		DefineTimeout: a.config.Plugins.DefineTimeout, Heartbeat: a.config.Plugins.Heartbeat, Attempts: a.config.Plugins.RestartAttempts, Backoff: a.config.Plugins.RestartBackoff,
		Limits:      client.Limits{Memory: a.config.Plugins.Memory, Threads: a.config.Plugins.Threads, Files: a.config.Plugins.Files},
		Containment: a.config.Plugins.Containment, Uncontained: a.config.Plugins.Uncontained}
	if a.interactive() {
		if a.asked == nil {
			a.asked = a.ask(a.in)
		}
		o.Ask = a.asked
	}
	if level := hclog.LevelFromString(a.config.Log); level != hclog.Off && level != hclog.NoLevel {
		o.Logger = hclog.New(&hclog.LoggerOptions{Name: "burn", Level: level, Output: a.err})
	}
	return o
}

// open opens the device that flags or configuration name. The state of a plugin that dies is restored where possible.
func (a *app) open(ctx context.Context) (*core.Place, error) { return a.openDevice(ctx, true) }

// openDevice opens the device like open. Without restore, the loss of a plugin is returned as core.ErrBackendLost, for callers
// that recover themselves.
func (a *app) openDevice(ctx context.Context, restore bool) (*core.Place, error) {
	return a.openSpec(ctx, a.config.Device, restore)
}

func (a *app) openSpec(ctx context.Context, spec string, restore bool) (*core.Place, error) {
	if members, ok := routerMembers(spec); ok {
		return a.openRouter(ctx, spec, members, restore)
	}
	s, err := host.ParseSpec(spec)
	if err == nil && s.Transport == host.Builtin && !slices.Contains(core.Registered(), s.Name) {
		return nil, withLine(usage("device %s: no such backend is built in, want one of %s%s", spec, strings.Join(core.Registered(), ", "),
			nearest.Hint(s.Name, core.Registered())), "see: burn devices")
	}
	o := a.hostOptions()
	o.Restore = restore // recovers from a plugin that dies
	d, err := host.Open(ctx, spec, o)
	switch {
	case err == nil:
		return d, nil
	case errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrUnsupported):
		return nil, withLine(usage("%w", err), "see: burn devices")
	}
	return nil, fmt.Errorf("open %s: %w", spec, err)
}

// lost adds the name of the device to the error of a lost backend.
func lost(d *core.Place, err error) error {
	if err == nil || !errors.Is(err, core.ErrBackendLost) {
		return err
	}
	what := "backend"
	if d.Transport == host.Process {
		what = "plugin"
	}
	name := d.Backend.Info().Name
	return fmt.Errorf("%s %s was lost (%s): %w", what, name, d.Spec, err)
}

// completeDevices completes device names: backends of this program, and plugins found, which it does not start.
func (a *app) completeDevices(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if err := a.configure(cmd.Flags()); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var specs []string
	for _, name := range core.Registered() {
		specs = append(specs, name, host.Builtin+":"+name)
	}
	plugins, _ := host.Find(a.hostOptions())
	for _, p := range plugins {
		specs = append(specs, p.Name, host.Process+":"+p.Name)
	}
	slices.Sort(specs)
	specs = slices.DeleteFunc(slices.Compact(specs), func(s string) bool { return !strings.HasPrefix(s, prefix) })
	return specs, cobra.ShellCompDirectiveNoFileComp
}

// completeModels completes .onnx files for the first argument.
func completeModels(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return []string{"onnx"}, cobra.ShellCompDirectiveFilterFileExt
	}
	return nil, cobra.ShellCompDirectiveDefault
}
