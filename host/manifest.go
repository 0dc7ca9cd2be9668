package host

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host/manifest"
	"github.com/goburn/burn/host/sealed"
	"github.com/goburn/burn/internal/tomlfile"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/sdk/wire"
)

// Manifest is the content of burn-backend-NAME.toml, which describes a plugin. Empty fields are unset.
type Manifest = manifest.Manifest

// Protocol is the range of protocol versions that a plugin supports.
type Protocol = manifest.Protocol

const manifestExt = ".toml"

// readManifest reads the manifest beside a plugin. It returns nil if there is no manifest.
func readManifest(exe string) (*Manifest, error) {
	stem, _ := plainName(exe)
	m := &Manifest{}
	_, err := tomlfile.Load(tomlfile.Manifest, stem+manifestExt, m)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return m, nil
}

// Failure is the error of a backend that is not available, with a remedy.
type Failure struct {
	Cause  client.Cause `json:"cause"`
	Detail string       `json:"detail"`
	Remedy string       `json:"remedy"`
	Err    error        `json:"-"` // wraps a sentinel of core
}

// Error prints "cause: detail; remedy".
func (f *Failure) Error() string { return string(f.Cause) + ": " + f.Detail + "; " + f.Remedy }

// Unwrap returns the sentinel or cause.
func (f *Failure) Unwrap() error { return f.Err }

// The causes of failures before a plugin is started, in addition to those of package client.
const (
	CauseManifest client.Cause = "manifest"
	CauseChecksum client.Cause = "sha256 mismatch"
	CauseShadowed client.Cause = "shadowed"
	CauseBuiltin  client.Cause = "built-in backend does not open"
)

// Check compares the manifest with this program and with the file, which it hashes when the manifest has a hash.
func (p *Plugin) Check() *Failure {
	if f := p.check(); f != nil {
		return f
	}
	s, f := p.seal(sealed.Load)
	if f == nil {
		_ = s.Close()
	}
	return f
}

// check checks whether an installed plugin may start, and compares the manifest with this program and with the name of the file.
func (p *Plugin) check() *Failure {
	if p.found != nil {
		return p.found
	}
	if f := p.admit(); f != nil {
		return f
	}
	if f := p.guarded(); f != nil {
		return f
	}
	m := p.Manifest
	if m == nil {
		return nil
	}
	goos, arch := m.OS, m.Arch
	if goos == "" {
		goos = runtime.GOOS
	}
	if arch == "" {
		arch = runtime.GOARCH
	}
	switch {
	case m.Name != "" && m.Name != p.Name:
		return &Failure{CauseManifest, fmt.Sprintf("it is for plugin %q, the file is %s", m.Name, p.Path),
			"rename the file to burn-backend-" + m.Name + ", or correct the manifest", core.ErrNotFound}
	case goos+"/"+arch != core.Platform():
		return &Failure{client.CauseWrongPlatform, fmt.Sprintf("the plugin is for %s/%s, this is %s", goos, arch, core.Platform()),
			"get the build for " + core.Platform() + ": " + wire.InstallRemedy(p.Name), core.ErrUnsupported}
	case m.Kind != "" && m.Kind != p.Kind:
		return &Failure{CauseManifest, fmt.Sprintf("kind %q, want %q for %s", m.Kind, p.Kind, filepath.Base(p.Path)),
			"upgrade burn, or install the " + p.Kind + " build of the plugin", core.ErrUnsupported}
	}
	if r := (wire.Range{Min: m.Protocol.Min, Max: m.Protocol.Max}); r != (wire.Range{}) {
		if _, ok := wire.Speaks().Newest(r); !ok {
			return &Failure{client.CauseProtocol, wire.Mismatch(p.Name, r, wire.Speaks()).Error(),
				wire.MismatchRemedy(p.Name, r, wire.Speaks()), core.ErrProtocol}
		}
	}
	return nil
}
