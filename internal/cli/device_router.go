package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/decorators/router"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/internal/plain"
)

// routed is the transport of a device that combines several devices. The spec of such a device begins with it.
const routed = "router"

// routerMembers splits router:A+B+C, and reports whether spec has this form.
func routerMembers(spec string) (members []string, ok bool) {
	rest, ok := strings.CutPrefix(spec, routed+":")
	if !ok {
		return nil, false
	}
	return strings.Split(rest, "+"), true
}

// openRouter opens all members and combines them to one device. Members of the same backend share one opened backend if it has both
// devices.
func (a *app) openRouter(ctx context.Context, spec string, members []string, restore bool) (*core.Place, error) {
	options, err := a.routerOptions()
	if err != nil {
		return nil, err
	}
	var places []*core.Place
	var specs []string
	fail := func(err error) (*core.Place, error) {
		for _, p := range places {
			_ = p.Close() // the first error is the one to report
		}
		return nil, err
	}
	for i, m := range members {
		if _, nested := routerMembers(m); nested || m == "" {
			return fail(withLine(usage("device %s: member %q, want the spec of a device", spec, m), "see: burn devices"))
		}
		p := sharing(places, members[:i], m)
		if p == nil {
			if p, err = a.openSpec(ctx, m, restore); err != nil {
				return fail(err)
			}
		}
		places, specs = append(places, p), append(specs, p.Spec)
	}
	r, err := router.New(places, options...)
	if err != nil {
		return fail(err)
	}
	a.router = r
	return &core.Place{Backend: r, Spec: routed + ":" + strings.Join(specs, "+"), Transport: routed}, nil
}

// sharing returns a place on a backend that was opened under the same name; nil if there is none.
func sharing(open []*core.Place, names []string, name string) *core.Place {
	s, err := host.ParseSpec(name)
	if err != nil {
		return nil
	}
	for i, p := range open {
		before, err := host.ParseSpec(names[i])
		if err == nil && before.Name == s.Name && before.Transport == s.Transport && s.Index < len(p.Backend.Info().Devices) {
			full := host.Spec{Transport: p.Transport, Name: s.Name, Index: s.Index}
			return &core.Place{Backend: p.Backend, Index: s.Index, Spec: full.String(), Transport: p.Transport}
		}
	}
	return nil
}

// routerOptions returns the options in [options.router]: strict and split, which are "on" or "off". Nodes that fall back, and
// errors in the file of costs, are logged to stderr.
func (a *app) routerOptions() ([]router.Option, error) {
	all := []router.Option{
		router.OnFallback(func(f router.Fallback) { plain.Fprintf(a.err, "router: %v\n", f) }),
		router.OnError(func(err error) { plain.Fprintf(a.err, "%v\n", err) }),
	}
	for name, value := range a.config.Options[routed] {
		if value != "on" && value != "off" {
			return nil, usage("option %s of router is %q, want on or off", name, value)
		}
		switch on := value == "on"; {
		case name != "strict" && name != "split":
			return nil, usage("router has no option %s, want strict or split", name)
		case on && name == "strict":
			all = append(all, router.Strict())
		case on:
			dir, err := os.UserCacheDir()
			if err != nil {
				return nil, fmt.Errorf("the folder of the router's costs: %w", errors.Join(core.ErrNotFound, err))
			}
			all = append(all, router.SplitMeasured(filepath.Join(dir, "burn", "router-costs.json")))
		}
	}
	return all, nil
}

// printRouter prints the members of the device in use, if it is a router.
func (a *app) printRouter(all []host.Status) error {
	members, ok := routerMembers(a.config.Device)
	if !ok {
		return nil
	}
	plain.Fprintf(a.out, "\n%s\n", a.config.Device)
	t := a.table()
	for i, m := range members {
		role, state := "helper", "not there"
		if i == 0 {
			role = "main member"
		}
		if s, err := host.ParseSpec(m); err == nil && present(all, s) {
			state = "ready"
		}
		plain.Fprintf(t, "  %s\t%s\t%s\n", m, role, state)
	}
	return t.Flush()
}

// present reports whether a device is among those that can be opened.
func present(all []host.Status, spec host.Spec) bool {
	for _, s := range all {
		if s.Name == spec.Name && (spec.Transport == "" || s.Transport == spec.Transport) && spec.Index < len(s.Devices) {
			return true
		}
	}
	return false
}
