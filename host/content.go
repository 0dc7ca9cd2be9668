package host

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host/internal/owner"
	"github.com/goburn/burn/host/sealed"
	"github.com/goburn/burn/sdk/client"
)

// EnvPluginDir is the environment variable with the folder of a plugin's files. For an installed plugin, that is a checked copy of the
// package.
const EnvPluginDir = "BURN_PLUGIN_DIR"

// content is the file that is executed or loaded. Dir is the folder with the copies of the plugin's files, empty if there are no copies.
// The copies must not be removed while the plugin is in use.
type content interface {
	Path() string
	Dir() string
	Close() error
}

// unchecked is the path of a file without a hash, used in place.
type unchecked string

func (u unchecked) Path() string { return string(u) }
func (u unchecked) Dir() string  { return "" }
func (u unchecked) Close() error { return nil }

// seal returns the content of the plugin. If its files are known (it was installed, or the user allowed its folder), all are copied and
// hashed; otherwise only the program is, if its manifest contains a hash.
func (p *Plugin) seal(how sealed.How) (content, *Failure) {
	if p.Development {
		return unchecked(p.Path), nil
	}
	var f *sealed.File
	var err error
	switch items, program := p.items(); {
	case len(items) > 1 && program != nil:
		f, err = sealed.Tree(filepath.Dir(p.Path), filepath.Base(p.Path), items)
	case p.files != nil && program == nil:
		err = fmt.Errorf("%s: it is not among the files of the plugin: %w", p.Path, sealed.ErrMismatch)
	case program != nil:
		f, err = sealed.Alone(p.Path, program.SHA256, how)
	case p.Manifest == nil || p.Manifest.SHA256 == "":
		return unchecked(p.Path), nil
	default:
		f, err = sealed.Open(p.Path, p.Manifest.SHA256, how)
	}
	switch {
	case errors.Is(err, sealed.ErrMismatch):
		remedy := "the file was changed or is damaged: copy file and manifest again; if you built it, update sha256 in the manifest, or omit it"
		if p.admission != nil {
			remedy = "the file was changed or is damaged: run `burn plugin verify` to check the other files, and install it again from its source with `burn plugin install --force`"
		}
		return nil, &Failure{CauseChecksum, err.Error() + " as in the manifest", remedy, fmt.Errorf("%w: %w", core.ErrProtocol, err)}
	case errors.Is(err, sealed.ErrOutside):
		return nil, &Failure{client.CauseNotExecutable, err.Error(), "put the libraries into its folder, or take the hash from its manifest",
			fmt.Errorf("%w: %w", core.ErrUnsupported, err)}
	case err != nil:
		return nil, &Failure{client.CauseNotExecutable, err.Error(), "make " + p.Path + " readable", fmt.Errorf("%w: %w", core.ErrNotFound, err)}
	}
	return f, nil
}

// items returns the files of the plugin for package sealed, and the file that is executed. A manifest alone does not count as a further
// file.
func (p *Plugin) items() (items []sealed.Item, program *sealed.Item) {
	stem, _ := plainName(filepath.Base(p.Path))
	var manifest []sealed.Item
	for _, f := range p.files {
		it := sealed.Item{Path: f.Path, SHA256: strings.TrimPrefix(f.Digest, "sha256:"), Size: f.Size, Executable: f.Executable}
		switch f.Path {
		case stem + manifestExt:
			manifest = append(manifest, it)
			continue
		case filepath.Base(p.Path):
			it.Executable = true
			program = &it
		}
		items = append(items, it)
	}
	if len(items) > 1 {
		items = append(items, manifest...)
	}
	return items, program
}

// CauseForeign: other users of the machine can change the plugin.
const CauseForeign client.Cause = "not safe from other users"

// guarded returns a Failure if other users can change a file without a known hash.
func (p *Plugin) guarded() *Failure {
	if p.files != nil || p.Development {
		return nil
	}
	err := owner.Check(p.Path)
	if !errors.Is(err, owner.ErrForeign) {
		return nil // a missing or unreadable file causes a separate failure
	}
	return &Failure{CauseForeign, err.Error(),
		"make it and its folder yours alone (chown, chmod go-w), or install it with `burn plugin install`", fmt.Errorf("%w: %w", core.ErrProtocol, err)}
}
