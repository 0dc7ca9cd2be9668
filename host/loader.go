package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host/sealed"
	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/sdk/client"
)

// Loader opens the backend in a shared object, inside this process.
type Loader func(path string, c core.Config) (core.Backend, error)

var loader atomic.Pointer[Loader]

// RegisterLoader makes shared objects usable in this process. Package host/shared calls it when it is imported.
func RegisterLoader(l Loader) { loader.Store(&l) }

// CauseNoLoader: the program cannot load shared objects.
const CauseNoLoader client.Cause = "no loader for shared objects"

// load opens a shared object in this process.
func (p *Plugin) load(o Options) (core.Backend, error) {
	l := loader.Load()
	if l == nil {
		return nil, &Failure{CauseNoLoader, "this program is built without one", "import github.com/goburn/burn/host/shared in it", core.ErrUnsupported}
	}
	f, failure := p.sealOnce()
	if failure != nil {
		return nil, failure
	}
	if f.Dir() == "" {
		defer f.Close()
	}
	return (*l)(f.Path(), o.config(p.Name))
}

// placed contains the copies of packages with an object that was loaded into this process. An object stays loaded, and may open files
// beside it at any time, so its copy is kept and reused.
var placed = struct {
	sync.Mutex
	by map[string]content // by path and content
}{by: map[string]content{}}

// sealOnce is like seal, for an object that is loaded into this process. It reuses an earlier copy.
func (p *Plugin) sealOnce() (content, *Failure) {
	placed.Lock()
	defer placed.Unlock()
	key := p.Path + " " + store.Tree(p.files)
	if p.Manifest != nil {
		key += " " + p.Manifest.SHA256
	}
	if f := placed.by[key]; f != nil {
		return f, nil
	}
	f, failure := p.seal(sealed.Load)
	if failure == nil && f.Dir() != "" {
		placed.by[key] = f
	}
	return f, failure
}

// start starts the plugin in a separate process. A shared object runs in a process of the carrier.
func (p *Plugin) start(ctx context.Context, o Options) (*client.Backend, error) {
	c := o.client(p.Name)
	if failure := p.contained(&c, &o); failure != nil {
		return nil, failure
	}
	how := sealed.Execute
	if p.Kind == Shared {
		if len(o.Carrier) == 0 {
			return nil, &Failure{CauseNoLoader, "there is no carrier to run it as a process", "set Carrier in the options of host", core.ErrUnsupported}
		}
		how = sealed.Load
	}
	f, failure := p.seal(how)
	if failure != nil {
		return nil, failure
	}
	dir := filepath.Dir(p.Path)
	if f.Dir() != "" {
		if p.files != nil {
			dir = f.Dir()
		}
		c.Ended = func() { _ = f.Close() }
	}
	c.Env = append(c.Env, EnvPluginDir+"="+dir)
	path := p.Path
	if p.Kind == Shared {
		path, c.Args = o.Carrier[0], append(append(c.Args, o.Carrier[1:]...), f.Path())
	} else {
		c.Image = f.Path()
	}
	b, err := client.Start(ctx, path, c)
	if f.Dir() == "" || err != nil {
		_ = f.Close()
	}
	return b, err
}

// open checks a plugin and opens it by a transport.
func (p *Plugin) open(ctx context.Context, transport string, o Options) (core.Backend, error) {
	if f := p.check(); f != nil { // the process that loads the object checks its content
		return nil, fmt.Errorf("plugin %s (%s): %w", p.Name, p.Path, f)
	}
	if transport == Shared {
		if p.Kind != Shared {
			f := &Failure{CauseManifest, "it is an executable, not a shared object", "open it as process:" + p.Name, core.ErrUnsupported}
			return nil, fmt.Errorf("plugin %s (%s): %w", p.Name, p.Path, f)
		}
		b, err := p.load(o)
		if err != nil {
			return nil, fmt.Errorf("plugin %s (%s): %w", p.Name, p.Path, err)
		}
		return b, nil
	}
	b, err := p.start(ctx, o)
	if err != nil {
		var e *client.StartError
		if errors.As(err, &e) {
			return nil, fmt.Errorf("%w; %s", err, e.Remedy())
		}
		return nil, fmt.Errorf("plugin %s (%s): %w", p.Name, p.Path, err)
	}
	return b, nil
}
