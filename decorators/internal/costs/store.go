package costs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/goburn/burn/core"
)

// stored is the file of costs.
type stored struct {
	Format string
	Units  map[string]map[string]float64
	Links  map[string]map[string]Line
}

const (
	format    = "burn router costs 1"
	maxStored = 64 << 20 // bytes
)

// Load reads the file of costs. A missing file counts as empty. If the file is invalid, Load returns an error and changes nothing.
func (t *Table) Load(name string) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	s := stored{}
	d := json.NewDecoder(io.LimitReader(f, maxStored))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil || s.Format != format {
		return fmt.Errorf("costs: %s is not a file of costs, want %q: %w", name, format, errors.Join(core.ErrProtocol, err))
	}
	valid := func(x float64) bool { return x >= 0 && x < math.MaxFloat32 }
	for _, units := range s.Units {
		for _, x := range units {
			if !valid(x) {
				return fmt.Errorf("costs: %s holds a time of %v: %w", name, x, core.ErrProtocol)
			}
		}
	}
	for _, links := range s.Links {
		for _, x := range links {
			if !valid(x[0]) || !valid(x[1]) {
				return fmt.Errorf("costs: %s holds a link of %v: %w", name, x, core.ErrProtocol)
			}
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for m, units := range s.Units {
		t.units[m] = units
	}
	for m, links := range s.Links {
		t.links[m] = links
	}
	return nil
}

// Save writes the file of costs if costs have changed.
func (t *Table) Save(name string) (err error) {
	t.mu.Lock()
	change := t.changed
	t.changed = false
	data, err := json.Marshal(stored{format, t.units, t.links})
	t.mu.Unlock()
	if !change || name == "" {
		return err
	}
	defer func() {
		if err != nil { // the next Save tries again
			t.mu.Lock()
			t.changed = true
			t.mu.Unlock()
		}
	}()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".costs-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
