package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/internal/config"
	"github.com/goburn/burn/sdk/wire"
	"github.com/spf13/cobra"
)

// diagnosis is the output of burn doctor.
type diagnosis struct {
	Burn     versionInfo   `json:"burn"`
	Program  string        `json:"program"`
	CPUs     int           `json:"cpus"`
	Config   configState   `json:"config"`
	Folders  []folderState `json:"folders"`
	Backends []host.Status `json:"backends"`
	Hardware []hardware    `json:"hardware"`
	Store    storeState    `json:"store"`
	Trust    trustState    `json:"trust"`
	Mirror   mirrorState   `json:"mirror"`
	Findings []finding     `json:"findings"`

	mirror *store.Mirror // nil if none can be read
}

// finding is a problem and its remedy.
type finding struct {
	Severity string `json:"severity"` // "error" results in exit code 1; "note" does not
	What     string `json:"what"`
	Remedy   string `json:"remedy,omitempty"`
}

type configState struct {
	File   string         `json:"file"` // the path searched
	Found  bool           `json:"found"`
	Values []settingState `json:"values"`
}

type settingState struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

type folderState struct {
	Path    string   `json:"path"`
	Origin  string   `json:"origin"`
	State   string   `json:"state"` // "ok", "missing", or why it cannot be read
	Plugins []string `json:"plugins"`
}

type storeState struct {
	Dir       string   `json:"dir"`
	Lock      string   `json:"lock"`
	LockFound bool     `json:"lock_found"`
	Locked    []string `json:"locked"`
	Checked   int      `json:"checked"`
	Problems  int      `json:"problems"`
	Notes     []string `json:"notes,omitempty"`
}

type trustState struct {
	File string     `json:"file"`
	Keys []keyState `json:"keys"`
}

type keyState struct {
	ID         string   `json:"id"`
	Owner      string   `json:"owner,omitempty"`
	State      string   `json:"state"`
	Namespaces []string `json:"namespaces"`
}

type mirrorState struct {
	Base    string `json:"base,omitempty"`
	State   string `json:"state"`
	Plugins int    `json:"plugins"`
}

func (a *app) doctorCommand() *cobra.Command {
	f := &storeFlags{}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the installation, and print remedies",
		Long: `Check everything that affects the available devices: versions, configuration with the source of each value, the searched
folders, every backend (each plugin is started), hardware and drivers, the installed plugins (every file is hashed), trust,
lock and mirror. The exit code is 1 if a configured item does not work; each such finding has a remedy.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := a.diagnose(cmd.Context(), f)
			if cmd.Context().Err() != nil {
				return core.ErrCanceled
			}
			if asJSON {
				if err := a.json(d); err != nil {
					return err
				}
			} else if err := a.printDiagnosis(d); err != nil {
				return err
			}
			errs := 0
			for _, x := range d.Findings {
				if x.Severity == "error" {
					errs++
				}
			}
			if errs > 0 {
				return fmt.Errorf("%s found", count(errs, "problem"))
			}
			return nil
		},
	}
	f.register(cmd, true)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (d *diagnosis) error(remedy, format string, args ...any) {
	d.Findings = append(d.Findings, finding{"error", oneLine(fmt.Sprintf(format, args...)), oneLine(remedy)})
}

func (d *diagnosis) note(remedy, format string, args ...any) {
	d.Findings = append(d.Findings, finding{"note", oneLine(fmt.Sprintf(format, args...)), oneLine(remedy)})
}

func (a *app) diagnose(ctx context.Context, f *storeFlags) *diagnosis {
	d := &diagnosis{Burn: buildInfo(), CPUs: runtime.NumCPU(), Findings: []finding{}}
	d.Program, _ = os.Executable()
	d.Config = a.configState()
	a.mirrorState(ctx, f, d) // first, as the remedies depend on the content of the mirror
	last := d.Findings
	d.Findings = []finding{}
	o := a.hostOptions()
	d.Folders = folderStates(o)
	d.Backends = host.Devices(ctx, o)
	d.backends(a.config.Device)
	d.Hardware = findHardware(d.Backends, d.install)
	for _, h := range d.Hardware {
		if h.Present && !h.Usable {
			d.note(h.Remedy, "%s: hardware is present (%s), but no usable backend", h.Backend, strings.Join(h.Found, ", "))
		}
	}
	if len(a.config.DevPlugins) > 0 {
		d.note("unset BURN_DEV_PLUGINS or dev_plugins when you are done", "development plugins are used before all others, unchecked")
	}
	a.storeState(ctx, f, d)
	d.Findings = append(d.Findings, last...)
	return d
}

// configState finds the sources of the values again, as flags have overridden some.
func (a *app) configState() configState {
	env := a.env
	if a.flags.config != "" {
		env = func(name string) string {
			if name == "BURN_CONFIG" {
				return a.flags.config
			}
			return a.env(name)
		}
	}
	path, _ := config.Path(env)
	c, origins, err := config.Trace(env)
	if err != nil { // it was readable a moment ago
		return configState{File: path}
	}
	was := settings(c)
	s := configState{File: path, Found: c.File != ""}
	for i, v := range settings(a.config) {
		v.Origin = origins[v.Key]
		if v.Value != was[i].Value {
			v.Origin = "flag --" + strings.ReplaceAll(v.Key, "_", "-")
		}
		s.Values = append(s.Values, v)
	}
	return s
}

func settings(c config.Config) []settingState {
	dev := []string{}
	for _, name := range sortedKeys(c.DevPlugins) {
		dev = append(dev, name+"="+c.DevPlugins[name])
	}
	options := []string{}
	for _, backend := range sortedKeys(c.Options) {
		for _, name := range sortedKeys(c.Options[backend]) {
			options = append(options, backend+"."+name+"="+c.Options[backend][name])
		}
	}
	values := []settingState{{Key: "device", Value: c.Device}, {Key: "threads", Value: fmt.Sprint(c.Threads)},
		{Key: "plugin_path", Value: strings.Join(c.PluginPath, string(os.PathListSeparator))}, {Key: "log", Value: c.Log},
		{Key: "mirror", Value: c.Mirror}, {Key: "mirror_stale", Value: strconv.FormatBool(c.MirrorStale)}, {Key: "fusion", Value: strconv.FormatBool(c.Fusion)}, {Key: "dev_plugins", Value: strings.Join(dev, string(os.PathListSeparator))},
		{Key: "options", Value: strings.Join(options, string(os.PathListSeparator))}}
	texts := c.Plugins.Texts()
	for _, key := range config.Keys {
		if text, ok := texts[key]; ok {
			values = append(values, settingState{Key: key, Value: text})
		}
	}
	return values
}

func folderStates(o host.Options) []folderState {
	winners, shadowed := host.Find(o)
	var all []folderState
	for _, f := range host.Folders(o) {
		s := folderState{Path: f.Path, Origin: f.Origin, State: "ok", Plugins: []string{}}
		if _, err := os.ReadDir(f.Path); errors.Is(err, os.ErrNotExist) {
			s.State = "missing"
		} else if err != nil {
			s.State = err.Error()
		}
		for _, p := range append(winners, shadowed...) {
			if rel, err := filepath.Rel(f.Path, p.Path); err == nil && filepath.IsLocal(rel) && p.Origin == f.Origin {
				s.Plugins = append(s.Plugins, p.Name)
			}
		}
		all = append(all, s)
	}
	return all
}

// backends records findings for backends that do not open, and for the configured device.
func (d *diagnosis) backends(device string) {
	for _, s := range d.Backends {
		switch {
		case s.Failure != nil && s.Failure.Cause == host.CauseNotAllowed:
			d.note(s.Failure.Remedy, "%s:%s at %s is not used: %s", s.Transport, s.Name, s.Path, s.Failure.Detail)
		case s.State == host.Failed:
			d.error(s.Failure.Remedy, "%s:%s: %s: %s", s.Transport, s.Name, s.Failure.Cause, s.Failure.Detail)
		case s.State == host.Shadowed:
			d.note(s.Failure.Remedy, "%s:%s at %s is not used: %s", s.Transport, s.Name, s.Path, s.Failure.Detail)
		}
	}
	members, ok := routerMembers(device)
	if !ok {
		members = []string{device}
	}
	for _, m := range members {
		d.inForce(m)
	}
}

// inForce records a finding for a device that the configuration names and that does not exist.
func (d *diagnosis) inForce(device string) {
	spec, err := host.ParseSpec(device)
	if err != nil {
		d.error("correct device in the configuration", "%v", err)
		return
	}
	if present(d.Backends, spec) {
		return
	}
	var there []string
	for _, s := range d.Backends {
		for _, x := range s.Devices {
			there = append(there, host.Spec{Transport: s.Transport, Name: s.Name, Index: x.Index}.String())
		}
	}
	remedy := "name one of " + strings.Join(there, ", ")
	if !slices.ContainsFunc(d.Backends, func(s host.Status) bool { return s.Name == spec.Name }) {
		remedy += ", or get the plugin: " + d.install(spec.Name)
	}
	d.error(remedy, "the device in force, %s, does not exist", device)
}

// install returns how to get the plugin called name, according to the mirror in use.
func (d *diagnosis) install(name string) string {
	if d.mirror == nil {
		return wire.InstallRemedy(name)
	}
	if _, err := d.mirror.Index.Find(name); err != nil {
		return fmt.Sprintf("the mirror %s has no plugin %s; run `burn plugin install FILE.tar.gz` with an archive from its maker", d.Mirror.Base, name)
	}
	return "run `burn plugin install " + name + " --mirror " + d.Mirror.Base + "`"
}

func (a *app) storeState(ctx context.Context, f *storeFlags, d *diagnosis) {
	s, err := a.store(f)
	if err != nil {
		remedy := "correct or remove the file"
		var r *store.Refusal
		if errors.As(err, &r) && r.Remedy != "" {
			remedy, err = r.Remedy, &store.Refusal{What: r.What, Err: r.Err}
		}
		d.error(remedy, "plugin store: %v", err)
		return
	}
	d.Store = storeState{Dir: s.Dir, Lock: s.LockFile, Locked: []string{}}
	d.Trust = trustState{File: s.Trust.File, Keys: []keyState{}}
	for i := range s.Trust.Keys {
		k := &s.Trust.Keys[i]
		d.Trust.Keys = append(d.Trust.Keys, keyState{k.ID, k.Owner, k.State(time.Now()), k.Namespaces})
	}
	if lock, err := store.ReadLock(s.LockFile); err == nil {
		for _, p := range lock.Plugins {
			d.Store.Locked = append(d.Store.Locked, p.Plugin+" "+p.Version)
		}
		_, err := os.Stat(s.LockFile)
		d.Store.LockFound = err == nil
	}
	r, err := s.Verify(ctx)
	if err != nil {
		d.error("see the error", "plugin store: %v", err)
		return
	}
	d.Store.Checked, d.Store.Problems, d.Store.Notes = len(r.Checked), len(r.Problems), r.Notes
	for _, p := range r.Problems {
		d.error(p.Remedy, "%s: %s", p.Plugin, p.What)
	}
	for _, i := range r.Checked {
		if i.Active && i.Err == nil {
			p := wire.Range(i.Manifest.Protocol)
			if _, ok := wire.Speaks().Newest(p); !ok && p.Valid() {
				d.error(wire.MismatchRemedy(i.ID.Name, p, wire.Speaks()), "%s speaks protocol %v, this program %v", i.ID, p, wire.Speaks())
			}
		}
	}
}

func (a *app) mirrorState(ctx context.Context, f *storeFlags, d *diagnosis) {
	d.Mirror = mirrorState{Base: f.mirror, State: "none is configured"}
	if d.Mirror.Base == "" {
		d.Mirror.Base = a.config.Mirror
	}
	fetch, clear := a.fetcher()
	m, err := a.mirror(ctx, f, fetch)
	clear()
	switch {
	case err != nil:
		d.Mirror.State = err.Error()
		d.error("correct mirror in the configuration, or check the network", "%v", err)
	case m != nil:
		d.mirror = m
		d.Mirror.State, d.Mirror.Plugins = "ok", len(m.Index.Plugins)
	}
}
