package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ErrNone is wrapped by the error of Latest and Best if there is no snapshot that can be read.
var ErrNone = errors.New("no checkpoint")

// Store is a folder of snapshots. Only one goroutine may call Save and Wait; the other methods may be called concurrently.
type Store struct {
	dir     string
	keep    int
	writing chan error // the save in progress, if any
	wrote   func(path string, best bool, err error)
}

// Open opens the store in dir. It creates the folder if necessary, and removes the remains of an interrupted save. keep is the
// number of snapshots to keep in addition to the best one: 0 means 2, so that another remains if one is damaged; a negative number means
// all. If wrote is not nil, the goroutine that writes a snapshot calls it after each save.
func Open(dir string, keep int, wrote func(path string, best bool, err error)) (*Store, error) {
	if keep == 0 {
		keep = 2
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "tmp-*"))
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	for _, l := range left {
		if err := os.RemoveAll(l); err != nil {
			return nil, fmt.Errorf("checkpoint: %w", err)
		}
	}
	return &Store{dir: dir, keep: keep, wrote: wrote}, nil
}

// Save waits for the previous save, starts writing s and returns the error of the previous save. The caller must not change s any
// more. best marks s as the best so far, which is kept until another is marked.
func (st *Store) Save(s *Snapshot, best bool) error {
	err := st.Wait()
	done := make(chan error, 1)
	st.writing = done
	go func() {
		path, err := st.write(s, best)
		if st.wrote != nil {
			st.wrote(path, best, err)
		}
		done <- err
	}()
	return err
}

// Wait waits for the save in progress and returns its error.
func (st *Store) Wait() error {
	if st.writing == nil {
		return nil
	}
	err := <-st.writing
	st.writing = nil
	return err
}

func name(step int) string { return fmt.Sprintf("step-%09d", step) }

func (st *Store) write(s *Snapshot, best bool) (path string, err error) {
	path = filepath.Join(st.dir, name(s.Step))
	tmp, err := os.MkdirTemp(st.dir, "tmp-")
	if err != nil {
		return path, fmt.Errorf("checkpoint: %w", err)
	}
	defer os.RemoveAll(tmp)
	if err := writeFolder(tmp, s); err != nil {
		return path, fmt.Errorf("checkpoint: save %s: %w", path, err)
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return path, fmt.Errorf("checkpoint: %w", err)
	}
	// A snapshot of the same step, from before the run was resumed, is removed.
	if err := os.RemoveAll(path); err != nil {
		return path, fmt.Errorf("checkpoint: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return path, fmt.Errorf("checkpoint: %w", err)
	}
	if err := syncDir(st.dir); err != nil {
		return path, fmt.Errorf("checkpoint: %w", err)
	}
	if best {
		if err := replace(filepath.Join(st.dir, "best"), []byte(name(s.Step)+"\n")); err != nil {
			return path, fmt.Errorf("checkpoint: %w", err)
		}
	}
	return path, st.prune(s.Step)
}

// prune removes all snapshots except the newest ones up to step and the best one. It also removes the snapshots of later steps,
// which belong to an abandoned run; if the best snapshot is among them, no snapshot is the best until another is marked.
func (st *Store) prune(step int) error {
	if st.keep < 0 {
		return nil
	}
	steps, err := st.Steps()
	if err != nil {
		return err
	}
	best, _ := st.bestName()
	kept := 0
	for _, n := range slices.Backward(steps) {
		if n <= step && kept < st.keep {
			kept++
			continue
		}
		if n > step || name(n) != best {
			if name(n) == best {
				if err := os.Remove(filepath.Join(st.dir, "best")); err != nil {
					return fmt.Errorf("checkpoint: %w", err)
				}
			}
			if err := os.RemoveAll(filepath.Join(st.dir, name(n))); err != nil {
				return fmt.Errorf("checkpoint: %w", err)
			}
		}
	}
	return nil
}

// Steps returns the steps of the snapshots, ascending.
func (st *Store) Steps() ([]int, error) {
	entries, err := os.ReadDir(st.dir)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	var steps []int
	for _, e := range entries {
		if digits, ok := strings.CutPrefix(e.Name(), "step-"); ok && e.IsDir() {
			if n, err := strconv.Atoi(digits); err == nil && n >= 0 && name(n) == e.Name() {
				steps = append(steps, n)
			}
		}
	}
	slices.SortFunc(steps, cmp.Compare[int])
	return steps, nil
}

// Latest reads the newest intact snapshot. damaged contains the errors of the snapshots that it skipped. If there is no intact
// snapshot, the error wraps ErrNone and every error of damaged.
func (st *Store) Latest() (s *Snapshot, damaged []error, err error) {
	steps, err := st.Steps()
	if err != nil {
		return nil, nil, err
	}
	for _, n := range slices.Backward(steps) {
		s, err := readFolder(filepath.Join(st.dir, name(n)))
		if err == nil && s.Step != n {
			err = fmt.Errorf("checkpoint: %s holds step %d", name(n), s.Step)
		}
		if err == nil {
			return s, damaged, nil
		}
		damaged = append(damaged, err)
	}
	return nil, damaged, errors.Join(append([]error{fmt.Errorf("checkpoint: %s: %w", st.dir, ErrNone)}, damaged...)...)
}

// Best reads the snapshot that was marked as the best. If none was marked, the error wraps ErrNone.
func (st *Store) Best() (*Snapshot, error) {
	best, err := st.bestName()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("checkpoint: %s has no best one: %w", st.dir, ErrNone)
	} else if err != nil {
		return nil, err
	}
	return readFolder(filepath.Join(st.dir, best))
}

func (st *Store) bestName() (string, error) {
	b, err := os.ReadFile(filepath.Join(st.dir, "best"))
	if err != nil {
		return "", fmt.Errorf("checkpoint: %w", err)
	}
	return filepath.Base(strings.TrimSpace(string(b))), nil
}
