package store

import (
	"context"
	"os"
	"path/filepath"
)

// Remove takes builds out of the store, and out of the lock when no build of the plugin is left.
func (s *Store) Remove(ctx context.Context, builds []Installed) error {
	release, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	lock, err := ReadLock(s.LockFile)
	if err != nil {
		return err
	}
	for _, b := range builds {
		if err := s.removeDir(b.ID); err != nil {
			return err
		}
	}
	left, err := s.List()
	if err != nil {
		return err
	}
	for _, b := range builds {
		still := false
		for _, l := range left {
			still = still || l.Plugin == b.Plugin
		}
		if !still {
			lock.Remove(b.ID.Address)
		}
	}
	return lock.Write()
}

// removeDir takes a build away at once, then deletes it. The store must be held.
func (s *Store) removeDir(id ID) error {
	stage, err := s.stage()
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	from := filepath.Join(s.Dir, id.Dir())
	if err := os.Rename(from, filepath.Join(stage, "gone")); err != nil && !os.IsNotExist(err) {
		return err
	}
	checkpoint("taken away")
	for d := filepath.Dir(from); len(d) > len(s.Dir); d = filepath.Dir(d) {
		if os.Remove(d) != nil { // it is not empty
			break
		}
	}
	return nil
}

// removeOthers removes the other versions of a plugin on its platform.
func (s *Store) removeOthers(id ID) ([]string, error) {
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	var removed []string
	for _, i := range all {
		if i.ID.Address == id.Address && i.ID.Platform == id.Platform && i.ID.Version != id.Version {
			if err := s.removeDir(i.ID); err != nil {
				return removed, err
			}
			removed = append(removed, i.Version)
		}
	}
	return removed, nil
}
