package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goburn/burn/internal/wholefile"
)

// outputs are the files that a run writes at its end, independently: if one fails, for example on a full disk, the others are
// still written.
type outputs struct {
	dir, name string
	made      []string
	failed    []string
	errs      []error

	elsewhere []string // written outside dir, because dir was not writable
}

// theTest is the name of the test among the outputs.
const theTest = "the test"

// try records the result of writing an output.
func (o *outputs) try(what string, err error) {
	if err == nil {
		o.made = append(o.made, what)
		return
	}
	o.fail(what, err)
}

func (o *outputs) fail(what string, err error) {
	o.failed = append(o.failed, what)
	o.errs = append(o.errs, fmt.Errorf("%s: %w", what, err))
}

// export writes the model into the folder of the run. If that folder is not writable, which is recorded as an error, the model is
// written to a new folder elsewhere, so that the run is not lost.
func (o *outputs) export(what string, write func(dir string) error) {
	err := write(o.dir)
	o.try(what, err)
	var file *fs.PathError
	var link *os.LinkError
	if err == nil || !errors.As(err, &file) && !errors.As(err, &link) && !errors.Is(err, wholefile.ErrIrregular) {
		return
	}
	home, _ := os.UserHomeDir()
	for _, parent := range []string{os.TempDir(), ".", home} {
		if parent == "" {
			continue
		}
		dir, err := os.MkdirTemp(parent, "burn-"+o.name+"-")
		if err != nil {
			continue
		}
		if abs, err := filepath.Abs(dir); err == nil {
			dir = abs
		}
		if write(dir) == nil {
			o.elsewhere = append(o.elsewhere, filepath.Join(dir, what))
			return
		}
		_ = os.RemoveAll(dir)
	}
}

// done describes the steps completed with the weights.
func (o *outputs) done() string {
	var done []string
	if slices.Contains(o.made, theTest) {
		done = append(done, "tested")
	}
	if len(o.elsewhere) > 0 || slices.Contains(o.made, "model.burn") || slices.Contains(o.made, "model.onnx") {
		done = append(done, "exported")
	}
	if done == nil {
		return "neither tested nor exported"
	}
	return strings.Join(done, " and ")
}

// there lists the locations of the files, one per line.
func (o *outputs) there() []string {
	files := slices.DeleteFunc(slices.Clone(o.made), func(s string) bool { return filepath.Ext(s) == "" })
	var lines []string
	switch n := len(files); n {
	case 0:
		lines = append(lines, "nothing could be written to "+o.dir)
	case 1:
		lines = append(lines, files[0]+" is in "+o.dir)
	default:
		lines = append(lines, strings.Join(files[:n-1], ", ")+" and "+files[n-1]+" are in "+o.dir)
	}
	for _, path := range o.elsewhere {
		lines = append(lines, filepath.Base(path)+", which could not be written there, is "+path)
	}
	return lines
}

// err returns nil if everything was written.
func (o *outputs) err() error {
	if len(o.errs) == 0 {
		return nil
	}
	return fmt.Errorf("train %s: failed: %s\n%w", o.name, strings.Join(o.failed, ", "), errors.Join(o.errs...))
}
