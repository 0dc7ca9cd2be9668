package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/BurntSushi/toml"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host/manifest"
	"github.com/goburn/burn/host/sealed"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/sdk/wire"
)

// Manifest is what burn-backend-NAME.toml says of a plugin. Empty fields say nothing.
type Manifest = manifest.Manifest

// Protocol is the range of protocol versions that a plugin speaks.
type Protocol = manifest.Protocol

const (
	manifestExt = ".toml"
	maxManifest = 64 << 10
)

// readManifest reads the manifest beside a plugin. It is nil when there is none.
func readManifest(exe string) (*Manifest, error) {
	stem, _ := plainName(exe)
	path := stem + manifestExt
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m := &Manifest{}
	if _, err := toml.NewDecoder(io.LimitReader(f, maxManifest)).Decode(m); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// Failure is why a backend is not to be had, and what to do about it.
type Failure struct {
	Cause  client.Cause `json:"cause"`
	Detail string       `json:"detail"`
	Remedy string       `json:"remedy"`
	Err    error        `json:"-"` // wraps a sentinel of core
}

// Error prints "cause: detail; remedy".
func (f *Failure) Error() string { return string(f.Cause) + ": " + f.Detail + "; " + f.Remedy }

// Unwrap gives the sentinel or cause.
func (f *Failure) Unwrap() error { return f.Err }

// The causes that are found before a plugin is started, beside those of package client.
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

// check asks whether an installed plugin may start, and compares the manifest with this program and with the name of the file.
func (p *Plugin) check() *Failure {
	if p.found != nil {
		return p.found
	}
	if f := p.admit(); f != nil {
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
			"install the build for " + core.Platform() + ": `burn plugin install " + p.Name + "`", core.ErrUnsupported}
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

// EnvPluginDir names, to a plugin, the folder that it lies in: what is executed may be a checked copy elsewhere.
const EnvPluginDir = "BURN_PLUGIN_DIR"

// content is what is executed or loaded.
type content interface {
	Path() string
	Close() error
}

// unchecked is a file without a hash, as it lies.
type unchecked string

func (u unchecked) Path() string { return string(u) }
func (u unchecked) Close() error { return nil }

// seal gives the content of the plugin's file: the very bytes that have the hash of the manifest, if that has one.
func (p *Plugin) seal(how sealed.How) (content, *Failure) {
	if p.Manifest == nil || p.Manifest.SHA256 == "" || p.Development {
		return unchecked(p.Path), nil
	}
	f, err := sealed.Open(p.Path, p.Manifest.SHA256, how)
	switch {
	case errors.Is(err, sealed.ErrMismatch):
		return nil, &Failure{CauseChecksum, err.Error() + " as in the manifest",
			"the file was changed or is damaged: run `burn plugin verify` to see what else, `burn plugin install --force " + p.Name +
				"` to put it right, or correct the manifest if you built it", fmt.Errorf("%w: %w", core.ErrProtocol, err)}
	case err != nil:
		return nil, &Failure{client.CauseNotExecutable, err.Error(), "make " + p.Path + " readable", fmt.Errorf("%w: %w", core.ErrNotFound, err)}
	}
	return f, nil
}
