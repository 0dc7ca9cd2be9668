package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/internal/plain"
	"github.com/spf13/cobra"
)

func (a *app) devicesCommand() *cobra.Command {
	var asJSON, verbose bool
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "List all devices of built-in backends and plugins",
		Long: `List every device of the built-in backends and of the plugins found. Each plugin is started in a process of its own, with a
deadline; a failure is listed with the cause and the remedy. The exit code is 1 only if no device is usable.

Plugins are searched in --plugin-path and BURN_PLUGIN_PATH, ./burn_plugins, the user's data folder, the system's, and the
folder of the burn command. The first plugin of a name is used. Plugins in ./burn_plugins do not start until you allow
them: on a terminal the command asks, elsewhere run burn plugin allow.

The name router:A+B+C combines several devices to one: nodes that A does not support run on B or C, and each kind of node is reported once on
stderr. [options.router] of the configuration has two options. With strict = "on" such nodes are errors instead. With split = "on"
programs are divided among the devices by measured times, which are kept in the user's cache folder. If the device in force is a
router, its members are listed.

--verbose prints for each plugin process the rules that the system enforces, and the reason for each missing rule.`,
		Example: `  burn devices
  burn devices --plugin-path ./bin
  burn devices --verbose
  burn devices --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.devices(cmd.Context(), asJSON, verbose) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "print the rules of each plugin process")
	return cmd
}

func (a *app) devices(ctx context.Context, asJSON, verbose bool) error {
	all := host.Devices(ctx, a.hostOptions())
	if ctx.Err() != nil {
		return core.ErrCanceled
	}
	usable := 0
	for _, s := range all {
		for _, d := range s.Devices {
			if d.Error == "" {
				usable++
			}
		}
	}
	if asJSON {
		if err := a.json(map[string]any{"backends": all}); err != nil {
			return err
		}
	} else if err := errors.Join(a.printDevices(all), a.printRouter(all), a.printContainment(all, verbose)); err != nil {
		return err
	}
	if usable == 0 {
		return errors.New("no device is usable")
	}
	return nil
}

func (a *app) printDevices(all []host.Status) error {
	t := a.table()
	if slices.ContainsFunc(all, func(s host.Status) bool { return len(s.Devices) > 0 }) {
		fmt.Fprintln(t, "DEVICE\tKIND\tTRANSPORT\tMEMORY\tVERSION\tPROTOCOL\tSTATE\tHARDWARE")
	}
	for _, s := range all {
		for _, d := range s.Devices {
			memory := "-"
			if d.Memory > 0 {
				memory = bytesText(d.Memory)
			}
			hardware := d.Name
			if d.Detail != "" {
				hardware += ", " + d.Detail
			}
			if len(d.Emulated) > 0 {
				hardware += ", emulates " + strings.Join(d.Emulated, " ")
			}
			if len(d.Flushes) > 0 {
				hardware += ", subnormal " + strings.Join(d.Flushes, " ") + " may be 0"
			}
			state := string(s.State)
			if d.Error != "" {
				state, hardware = string(host.Failed), hardware+": "+oneLine(d.Error)
			}
			spec := host.Spec{Transport: s.Transport, Name: s.Name, Index: d.Index}
			plain.Fprintf(t, "%v\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", spec, d.Kind, s.Transport, memory, dash(versionText(s)), dash(s.Protocol), state, hardware)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	header := false
	for _, s := range all {
		if s.Failure == nil {
			continue
		}
		if !header {
			plain.Fprintf(a.out, "\nnot used:\n")
			header = true
		}
		plain.Fprintf(a.out, "  %s:%s  %s\n", s.Transport, s.Name, s.State)
		t := a.table()
		if s.Path != "" {
			plain.Fprintf(t, "    file\t%s\n", s.Path)
		}
		if s.Origin != "" {
			plain.Fprintf(t, "    found in\t%s\n", s.Origin)
		}
		plain.Fprintf(t, "    cause\t%s: %s\n", s.Failure.Cause, oneLine(s.Failure.Detail))
		plain.Fprintf(t, "    remedy\t%s\n", oneLine(s.Failure.Remedy))
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// versionText returns the version in a plugin's manifest, which installation and locking use, else the version that the backend
// reports. If they differ, it returns both.
func versionText(s host.Status) string {
	if s.Manifest == nil || s.Manifest.Version == "" || s.Manifest.Version == s.Version {
		return s.Version
	}
	if s.Version == "" {
		return s.Manifest.Version
	}
	return s.Manifest.Version + " (backend " + s.Version + ")"
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
