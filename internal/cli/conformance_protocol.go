package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	protocolrules "github.com/goburn/burn/conformance/protocol"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/internal/plain"
)

// protocolFlags are the flags of burn conformance protocol.
type protocolFlags struct {
	run, json     string
	list, verbose bool
	start, answer time.Duration
}

func (a *app) conformanceProtocolCommand() *cobra.Command {
	var f protocolFlags
	cmd := &cobra.Command{
		Use:   "protocol PLUGIN",
		Short: "Check that a plugin process follows the protocol",
		Long: `Check that a plugin, in any language, follows the plugin protocol (sdk/wire/PROTOCOL.md): start and end, TLS,
the services, frames that are truncated, too long or out of order, ids that are stale, unknown or used twice, events, poison,
programs, errors, and the data plane. PLUGIN is the name of a plugin that is installed or found, the path of its program, or
the path of a folder with one. A shared object runs in a process of this program.

The test starts the plugin as a host does, but without containment, and then acts as a hostile host: it gets killed, closes connections, presents
no certificate, and sends invalid data. Each rule quotes the sentence of the document that it checks. Rules for an
extension or a feature that the plugin does not declare are skipped, with the reason.

The last line is "N passed, N failed, N skipped". The exit code is 1 if a rule is broken, or none was checked.`,
		Example: `  burn conformance protocol cpu
  burn conformance protocol ./burn-backend-mine --json report.json
  burn conformance protocol ./my-plugin --run '^(tls|end)/' -v`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeSuite,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.conformanceProtocol(cmd.Context(), args, f)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.run, "run", "", "check only the rules whose id matches `REGEX`")
	fl.StringVar(&f.json, "json", "", "write the report to `FILE` as JSON")
	fl.DurationVar(&f.start, "start-timeout", 30*time.Second, "time limit `TIME` of a start")
	fl.DurationVar(&f.answer, "timeout", 10*time.Second, "time limit `TIME` of an answer")
	fl.BoolVar(&f.list, "list", false, "print the rules with the quoted sentences, and check nothing")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "print every rule")
	return cmd
}

func (a *app) conformanceProtocol(ctx context.Context, args []string, f protocolFlags) error {
	o := protocolrules.Options{StartTimeout: f.start, Patience: f.answer}
	var err error
	if o.Run, err = regexp.Compile(f.run); err != nil {
		return usage("--run: %w", err)
	}
	if f.start <= 0 || f.answer <= 0 {
		return usage("want a positive --start-timeout and --timeout")
	}
	if f.list {
		for _, r := range protocolrules.Rules() {
			if o.Run.MatchString(r.ID) {
				plain.Fprintf(a.out, "%-24s section %d: %s\n", r.ID, r.Section, r.Text)
			}
		}
		return nil
	}
	if len(args) == 0 {
		return usage("want the name or the path of a plugin")
	}
	path, name, err := a.pluginProgram(args[0])
	if err != nil {
		return err
	}
	o.Command, o.Debug = processCommand(path, a.hostOptions().Carrier)
	if o.Command == nil {
		return fmt.Errorf("plugin %s is a shared object, and this program cannot start itself to carry it", path)
	}
	h := a.hostOptions()
	o.Config = h.BackendOptions[name]
	if o.Env, err = host.Environment(path); err != nil {
		return err
	}
	o.Progress = func(r protocolrules.Result) {
		switch {
		case r.Status == protocolrules.Failed:
			plain.Fprintf(a.err, "FAIL  %s  %s\n", r.ID, strings.ReplaceAll(r.Reason, "\n", " "))
		case f.verbose:
			plain.Fprintf(a.out, "%-7s  %s  %.1fs%s\n", r.Status, r.ID, r.Seconds, note(r.Reason))
		}
	}
	report, err := protocolrules.Check(ctx, o)
	if err != nil {
		return err
	}
	if f.json != "" {
		if err := writeFile(f.json, func(w *os.File) error { return report.WriteJSON(w) }); err != nil {
			return err
		}
	}
	if err := report.Write(a.out); err != nil {
		return err
	}
	switch {
	case report.Failed > 0:
		return errors.New("") // the summary line has reported it
	case report.Passed == 0:
		return errors.New("no rule was checked")
	}
	return nil
}

// pluginProgram finds the program that an argument names: a plugin by name, a file, or the only plugin of a folder.
func (a *app) pluginProgram(arg string) (path, name string, err error) {
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.Mode().IsRegular():
		path, err = filepath.Abs(arg)
		return path, host.PluginName(path), err
	case err == nil && info.IsDir():
		entries, err := os.ReadDir(arg)
		if err != nil {
			return "", "", err
		}
		for _, e := range entries {
			if n := host.PluginName(e.Name()); n != "" && e.Type().IsRegular() && filepath.Ext(e.Name()) != ".toml" {
				if path != "" {
					return "", "", usage("folder %s has more than one plugin: %s and %s", arg, filepath.Base(path), e.Name())
				}
				if path, err = filepath.Abs(filepath.Join(arg, e.Name())); err != nil {
					return "", "", err
				}
				name = n
			}
		}
		if path == "" {
			return "", "", usage("folder %s has no file burn-backend-NAME", arg)
		}
		return path, name, nil
	case strings.ContainsAny(arg, `/\`):
		return "", "", usage("plugin %s: want a file or a folder; see burn devices", arg)
	}
	s, err := host.ParseSpec(arg)
	if err != nil {
		return "", "", usage("%w", err)
	}
	winners, _ := host.Find(a.hostOptions())
	for _, p := range winners {
		if p.Name == s.Name {
			return p.Path, p.Name, nil
		}
	}
	return "", "", usage("no plugin has the name %s; see burn devices", s.Name)
}

// processCommand returns the command line of a plugin's process, and whether the program accepts the flags of a plugin.
func processCommand(path string, carrier []string) (command []string, own bool) {
	switch filepath.Ext(path) {
	case ".so", ".dylib", ".dll":
		if carrier == nil {
			return nil, false
		}
		return append(carrier[:len(carrier):len(carrier)], path), false
	}
	return []string{path}, true
}

// protocolOf returns the function conformance.Options.Protocol for the plugin at path, or nil if this program cannot start it.
func (a *app) protocolOf(path, name string) func(ctx context.Context, part string) (int, error) {
	h := a.hostOptions()
	o := protocolrules.Options{Config: h.BackendOptions[name]}
	if o.Command, o.Debug = processCommand(path, h.Carrier); o.Command == nil {
		return nil
	}
	return func(ctx context.Context, part string) (int, error) {
		var err error
		if o.Env, err = host.Environment(path); err != nil {
			return 0, err
		}
		o.Run = regexp.MustCompile("^" + part + "/")
		r, err := protocolrules.Check(ctx, o)
		if err != nil {
			return 0, err
		}
		return r.Passed, r.Broken()
	}
}
