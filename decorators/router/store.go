package router

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
	Links  map[string]map[string][2]float64
}

const (
	format     = "burn router costs 1"
	mostStored = 64 << 20 // bytes
)

// load reads the file of costs. A file that is not there holds none. What is not of this format changes nothing.
func (l *ledger) load(name string) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	s := stored{}
	d := json.NewDecoder(io.LimitReader(f, mostStored))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil || s.Format != format {
		return fmt.Errorf("router: %s is not a file of costs, want %q: %w", name, format, errors.Join(core.ErrProtocol, err))
	}
	valid := func(t float64) bool { return t >= 0 && t < math.MaxFloat32 }
	for _, units := range s.Units {
		for _, t := range units {
			if !valid(t) {
				return fmt.Errorf("router: %s holds a time of %v: %w", name, t, core.ErrProtocol)
			}
		}
	}
	for _, links := range s.Links {
		for _, t := range links {
			if !valid(t[0]) || !valid(t[1]) {
				return fmt.Errorf("router: %s holds a link of %v: %w", name, t, core.ErrProtocol)
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for m, units := range s.Units {
		l.Units[m] = units
	}
	for m, links := range s.Links {
		l.Links[m] = links
	}
	return nil
}

// save writes the file of costs where they have changed.
func (l *ledger) save(name string) error {
	l.mu.Lock()
	change := l.change
	l.change = false
	data, err := json.Marshal(stored{format, l.Units, l.Links})
	l.mu.Unlock()
	if !change || name == "" || err != nil {
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
