package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host"
	"github.com/spf13/cobra"
)

func (a *app) devicesCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "List all devices, built in and of plugins",
		Long: `List every device of the built-in backends and of the plugins found. Each plugin is started in a process of its own, with a
deadline; one that fails is listed with the cause and what to do. The exit code is 1 only when no device is usable.

Plugins are searched in --plugin-path and BURN_PLUGIN_PATH, ./burn_plugins, the user's data folder, the system's, and the
folder of the burn command. The first of a name is used.`,
		Example: `  burn devices
  burn devices --plugin-path ./bin
  burn devices --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.devices(cmd.Context(), asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) devices(ctx context.Context, asJSON bool) error {
	all := host.Devices(ctx, a.hostOptions())
	if ctx.Err() != nil {
		return core.ErrCanceled
	}
	usable := 0
	for _, s := range all {
		usable += len(s.Devices)
	}
	if asJSON {
		if err := a.json(map[string]any{"backends": all}); err != nil {
			return err
		}
	} else if err := a.printDevices(all, usable); err != nil {
		return err
	}
	if usable == 0 {
		return errors.New("no device is usable")
	}
	return nil
}

func (a *app) printDevices(all []host.Status, usable int) error {
	t := a.table()
	if usable > 0 {
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
			spec := host.Spec{Transport: s.Transport, Name: s.Name, Index: d.Index}
			fmt.Fprintf(t, "%v\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", spec, d.Kind, s.Transport, memory, dash(s.Version), dash(s.Protocol), s.State, hardware)
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
			fmt.Fprintf(a.out, "\nnot used:\n")
			header = true
		}
		fmt.Fprintf(a.out, "  %s:%s  %s\n", s.Transport, s.Name, s.State)
		t := a.table()
		if s.Path != "" {
			fmt.Fprintf(t, "    file\t%s\n", s.Path)
		}
		if s.Origin != "" {
			fmt.Fprintf(t, "    found in\t%s\n", s.Origin)
		}
		fmt.Fprintf(t, "    cause\t%s: %s\n", s.Failure.Cause, oneLine(s.Failure.Detail))
		fmt.Fprintf(t, "    remedy\t%s\n", oneLine(s.Failure.Remedy))
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
