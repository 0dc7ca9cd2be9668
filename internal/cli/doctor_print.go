package cli

import (
	"fmt"
	"strings"

	"github.com/goburn/burn/host"
	"github.com/goburn/burn/internal/plain"
	"github.com/goburn/burn/sdk/wire"
)

func (a *app) printDiagnosis(d *diagnosis) error {
	t := a.table()
	plain.Fprintf(t, "burn\t%s, %s, %s, plugin protocol %v\n", d.Burn.Version, d.Burn.Platform, d.Burn.Go, wire.Range(d.Burn.Protocol))
	plain.Fprintf(t, "program\t%s, %s\n", d.Program, count(d.CPUs, "cpu"))
	if err := t.Flush(); err != nil {
		return err
	}
	state := "there is none"
	if d.Config.Found {
		state = "read"
	}
	plain.Fprintf(a.out, "\nconfiguration\n")
	plain.Fprintf(t, "  file\t%s\t%s\n", d.Config.File, state)
	for _, v := range d.Config.Values {
		plain.Fprintf(t, "  %s\t%s\tfrom %s\n", v.Key, dash(v.Value), v.Origin)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	plain.Fprintf(a.out, "\nplugins are searched in\n")
	for _, f := range d.Folders {
		found := f.State
		if len(f.Plugins) > 0 {
			found = strings.Join(f.Plugins, ", ")
		} else if found == "ok" {
			found = "no plugin"
		}
		plain.Fprintf(t, "  %s\t%s\t%s\n", f.Path, f.Origin, found)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	a.printBackends(d)
	plain.Fprintf(a.out, "\nhardware\n")
	for _, h := range d.Hardware {
		found := "nothing found"
		if len(h.Found) > 0 {
			found = strings.Join(h.Found, ", ")
		}
		usable := "no backend"
		if h.Usable {
			usable = "in use"
		}
		plain.Fprintf(t, "  %s\t%s\t%s\n\t  looked for %s\n", h.Backend, usable, found, strings.Join(h.Looked, ", "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return a.printStore(d)
}

func (a *app) printBackends(d *diagnosis) {
	t := a.table()
	plain.Fprintf(a.out, "\nbackends\n")
	for _, s := range d.Backends {
		for _, dev := range s.Devices {
			plain.Fprintf(t, "  %v\t%s\t%s %s\n", host.Spec{Transport: s.Transport, Name: s.Name, Index: dev.Index}, s.State, dash(versionText(s)), dev.Name)
		}
		if len(s.Devices) == 0 {
			why := ""
			if s.Failure != nil {
				why = fmt.Sprintf("%s: %s", s.Failure.Cause, oneLine(s.Failure.Detail))
			}
			plain.Fprintf(t, "  %s:%s\t%s\t%s\n", s.Transport, s.Name, s.State, why)
		}
		if s.Path != "" {
			plain.Fprintf(t, "  \t\t%s\n", s.Path)
		}
	}
	_ = t.Flush()
}

func (a *app) printStore(d *diagnosis) error {
	t := a.table()
	plain.Fprintf(a.out, "\ninstallation\n")
	plain.Fprintf(t, "  store\t%s\t%s checked, %s\n", d.Store.Dir, count(d.Store.Checked, "plugin"), count(d.Store.Problems, "problem"))
	lock := "there is none"
	if d.Store.LockFound {
		lock = "holds " + dash(strings.Join(d.Store.Locked, ", "))
	}
	plain.Fprintf(t, "  lock\t%s\t%s\n", d.Store.Lock, lock)
	plain.Fprintf(t, "  trust\t%s\t%s\n", d.Trust.File, count(len(d.Trust.Keys), "key"))
	for _, k := range d.Trust.Keys {
		plain.Fprintf(t, "\t  %s %s\t%s for %s\n", k.ID, k.Owner, k.State, strings.Join(k.Namespaces, " "))
	}
	plain.Fprintf(t, "  mirror\t%s\t%s\n", dash(d.Mirror.Base), oneLine(d.Mirror.State))
	for _, n := range d.Store.Notes {
		plain.Fprintf(t, "  note\t%s\n", n)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(d.Findings) == 0 {
		_, err := plain.Fprintf(a.out, "\nnothing is wrong\n")
		return err
	}
	plain.Fprintf(a.out, "\nfindings\n")
	for _, f := range d.Findings {
		plain.Fprintf(a.out, "  %s: %s\n", f.Severity, f.What)
		if f.Remedy != "" {
			plain.Fprintf(a.out, "    remedy: %s\n", f.Remedy)
		}
	}
	return nil
}
