package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/goburn/burn/train"
)

// runFolder is the folder of a run. It remembers what existed before.
type runFolder struct {
	dir    string
	before []string // entries that existed
	made   []string // folders created for it, innermost first
	began  bool     // an epoch has begun
}

// prepare creates the folder and writes the settings.
func (r *trainRun) prepare(dir string) (*runFolder, error) {
	held, err := filepath.Glob(filepath.Join(escapeGlob(dir), "checkpoint", "step-*"))
	if err != nil {
		return nil, err
	}
	switch {
	case len(held) > 0 && !r.flags.resume:
		return nil, usage("%s contains an earlier run: continue it with --resume, name another folder with --out, or remove it", dir)
	case len(held) == 0 && r.flags.resume:
		return nil, usage("%s contains no run to resume: omit --resume, or name the folder with --out", dir)
	}
	f := &runFolder{dir: dir}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, usage("--out: %w", err)
	}
	for _, e := range entries {
		f.before = append(f.before, e.Name())
	}
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			break
		}
		f.made = append(f.made, at)
	}
	err = os.MkdirAll(dir, 0o777)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "config.toml"), r.config.text(), 0o666)
	}
	if err != nil {
		return nil, errors.Join(err, f.remove())
	}
	return f, nil
}

// Event records that training has begun.
func (f *runFolder) Event(e train.Event) {
	if _, ok := e.(train.EpochStarted); ok {
		f.began = true
	}
}

// failed removes the files of a run that did not get as far as training.
func (f *runFolder) failed() error {
	if f.began {
		return nil
	}
	return f.remove()
}

// remove removes everything that did not exist before.
func (f *runFolder) remove() error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	var errs []error
	for _, e := range entries {
		if !slices.Contains(f.before, e.Name()) {
			errs = append(errs, os.RemoveAll(filepath.Join(f.dir, e.Name())))
		}
	}
	for _, dir := range f.made {
		errs = append(errs, os.Remove(dir))
	}
	return errors.Join(errs...)
}

// escapeGlob escapes the special characters of a path for Glob.
func escapeGlob(path string) string {
	if filepath.Separator == '\\' {
		return path
	}
	var out []rune
	for _, r := range path {
		if r == '*' || r == '?' || r == '[' || r == '\\' {
			out = append(out, '\\')
		}
		out = append(out, r)
	}
	return string(out)
}
