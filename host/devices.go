package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/sdk/client/contain"
)

// State is the state of a backend.
type State string

// The states.
const (
	Ready    State = "ready"
	Failed   State = "failed"
	Shadowed State = "shadowed" // another plugin of that name comes first
	Found    State = "found"    // a shared object that cannot be opened, because Options have no Carrier
)

// Status describes one backend, built in or a plugin.
type Status struct {
	Name      string    `json:"name"`
	Transport string    `json:"transport"`
	State     State     `json:"state"`
	Path      string    `json:"path,omitempty"`
	Origin    string    `json:"origin,omitempty"`   // why the plugin's folder is searched; "BURN_REATTACH" for a plugin that is already running
	Version   string    `json:"version,omitempty"`  // version of the backend
	Protocol  string    `json:"protocol,omitempty"` // versions that the plugin supports
	Vendor    string    `json:"vendor,omitempty"`
	Devices   []Device  `json:"devices,omitempty"`
	Manifest  *Manifest `json:"manifest,omitempty"`
	Failure   *Failure  `json:"failure,omitempty"` // set for Failed and Shadowed
	// Containment lists the rules that the process of a plugin ran under; nil if no process was started.
	Containment contain.Report `json:"containment,omitempty"`
}

// Device describes one device of a backend, as reported when it was opened.
type Device struct {
	core.DeviceInfo
	// Emulated names the element types that the hardware has no arithmetic for.
	Emulated []string `json:"emulated,omitempty"`
	// Flushes names the element types whose subnormal numbers the device may flush to zero.
	Flushes []string `json:"flushes,omitempty"`
	// Error is the reason why the device cannot be opened; other devices of the backend may work.
	Error string `json:"error,omitempty"`
}

// devicesOf opens each device of a backend and closes it again.
func devicesOf(ctx context.Context, b core.Backend) []Device {
	var all []Device
	for _, info := range b.Info().Devices {
		x := Device{DeviceInfo: info}
		if d, err := b.Open(ctx, info.Index); err != nil {
			x.Error = err.Error()
		} else {
			for _, t := range d.Capabilities().Emulated.List() {
				x.Emulated = append(x.Emulated, t.String())
			}
			for _, t := range d.Capabilities().Flushes.List() {
				x.Flushes = append(x.Flushes, t.String())
			}
			_ = d.Close()
		}
		all = append(all, x)
	}
	return all
}

// probeTimeout bounds one probe when Options do not.
const probeTimeout = 10 * time.Second

// Devices opens every backend, built in or a plugin, and its devices, describes them and closes them again. It opens all of them in
// parallel, and each plugin, even a shared object, in a separate process. Failures are in the result, with cause and remedy. The context
// bounds the whole call.
func Devices(ctx context.Context, o Options) []Status {
	if o.StartTimeout == 0 {
		o.StartTimeout = probeTimeout
	}
	var jobs []func() Status
	for _, name := range core.Registered() {
		jobs = append(jobs, func() Status { return probeBuiltin(ctx, name, o) })
	}
	running, err := attachable()
	if err != nil {
		jobs = append(jobs, func() Status {
			return Status{Name: "?", Transport: Process, State: Failed, Origin: "BURN_REATTACH",
				Failure: &Failure{client.CauseSystem, err.Error(), "correct or unset BURN_REATTACH", err}}
		})
	}
	for name, at := range running {
		jobs = append(jobs, func() Status {
			s := Status{Name: name, Transport: Process, Origin: "BURN_REATTACH", Path: at.Addr}
			b, err := client.Attach(ctx, at, o.client(name))
			return s.describe(ctx, b, err)
		})
	}
	winners, shadowed := find(ctx, o, "")
	for _, p := range winners {
		if _, ok := running[p.Name]; !ok {
			jobs = append(jobs, func() Status { return p.probe(ctx, o) })
		}
	}
	all := make([]Status, len(jobs))
	var wg sync.WaitGroup
	for i, job := range jobs {
		wg.Go(func() { all[i] = job() })
	}
	wg.Wait()
	for _, p := range shadowed {
		all = append(all, Status{Name: p.Name, Transport: p.Kind, Path: p.Path, Origin: p.Origin, Manifest: p.Manifest,
			State: Shadowed, Failure: p.found})
	}
	slices.SortStableFunc(all, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Transport, b.Transport), cmp.Compare(a.Name, b.Name))
	})
	return all
}

func (p *Plugin) probe(ctx context.Context, o Options) Status {
	s := Status{Name: p.Name, Transport: p.Kind, Path: p.Path, Origin: p.Origin, Manifest: p.Manifest}
	if p.Manifest != nil {
		s.Version = p.Manifest.Version
	}
	unstarted := p.Kind == Shared && len(o.Carrier) == 0
	check := p.check
	if unstarted {
		check = p.Check
	}
	if f := check(); f != nil {
		s.State, s.Failure = Failed, f
		return s
	}
	if unstarted {
		s.State = Found
		return s
	}
	b, err := p.start(ctx, o)
	s = s.describe(ctx, b, err)
	if p.Kind == Shared {
		s.Protocol = "" // the version of the carrier
	}
	return s
}

// describe fills in the description of an opened plugin, and closes it.
func (s Status) describe(ctx context.Context, b *client.Backend, err error) Status {
	if err != nil {
		s.State, s.Failure = Failed, &Failure{client.CauseSystem, err.Error(), "see the error", err}
		var f *Failure
		if errors.As(err, &f) {
			s.Failure = f
		}
		var e *client.StartError
		if errors.As(err, &e) {
			detail := e.Detail
			if e.Stderr != "" {
				detail += "; last output: " + e.Stderr
			}
			s.Failure = &Failure{e.Cause, detail, e.Remedy(), err}
		}
		return s
	}
	defer b.Close()
	info := b.Info()
	_, speaks := b.Protocol()
	s.containment(b)
	s.State, s.Version, s.Vendor, s.Devices, s.Protocol = Ready, info.Version, info.Vendor, devicesOf(ctx, b), speaks.String()
	return s
}

// probeBuiltin opens a backend of this program. It abandons a backend that does not answer in time.
func probeBuiltin(ctx context.Context, name string, o Options) Status {
	ctx, cancel := context.WithTimeout(ctx, o.StartTimeout)
	defer cancel()
	s := Status{Name: name, Transport: Builtin}
	fail := func(err error) Status {
		s.State, s.Failure = Failed, &Failure{CauseBuiltin, err.Error(), "see the error", err}
		return s
	}
	type result struct {
		info    core.Info
		devices []Device
		err     error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r.err = fmt.Errorf("panic: %v: %w", p, core.ErrKernel)
			}
			done <- r
		}()
		var b core.Backend
		if b, r.err = core.Open(name, o.config(name)); r.err == nil {
			r.info, r.devices = b.Info(), devicesOf(ctx, b)
			r.err = b.Close()
		}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return fail(r.err)
		}
		s.State, s.Version, s.Vendor, s.Devices = Ready, r.info.Version, r.info.Vendor, r.devices
		return s
	case <-ctx.Done():
		return fail(fmt.Errorf("%w: %w", core.ErrCanceled, context.Cause(ctx)))
	}
}
