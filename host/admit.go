package host

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/sdk/client"
)

// CauseRefused: the lock, the trust file, the signature or an installed plugin of the same name forbids the start of the plugin.
const CauseRefused client.Cause = "not admitted"

// admission returns the rules that admit installed plugins of a folder.
func (o *Options) admission(dir string) store.Admission {
	return store.Admission{Dir: dir, LockFile: o.LockFile, TrustFile: o.TrustFile}
}

// idOf returns the ID of the build at path, which is HOST/NAMESPACE/NAME/VERSION/OS_ARCH/FILE in a store.
func idOf(path string) store.ID {
	var parts [5]string
	for i := 4; i >= 0; i-- {
		path = filepath.Dir(path)
		parts[i] = filepath.Base(path)
	}
	return store.ID{Address: store.Address{Host: parts[0], Namespace: parts[1], Name: parts[2]}, Version: parts[3], Platform: parts[4]}
}

// admit checks an installed plugin against the lock, the trust file and its signature, and sets the manifest and the files that these
// confirm.
func (p *Plugin) admit() *Failure {
	if p.admission == nil || p.Development {
		return nil
	}
	got, err := p.admission.Admit(idOf(p.Path))
	if err == nil {
		if got != nil {
			p.Manifest = got.Manifest
			if p.files == nil { // otherwise the plugin is in an allowed folder, whose content is already known
				p.files = got.Files
			}
		}
		return nil
	}
	return refused(err)
}

// refused converts an error of package store to a Failure.
func refused(err error) *Failure {
	f := &Failure{CauseRefused, err.Error(), "run `burn plugin verify` to see what is wrong", fmt.Errorf("%w: %w", core.ErrProtocol, err)}
	var r *store.Refusal
	if errors.As(err, &r) && r.Remedy != "" {
		f.Detail, f.Remedy = (&store.Refusal{What: r.What, Err: r.Err}).Error(), r.Remedy
	}
	return f
}
