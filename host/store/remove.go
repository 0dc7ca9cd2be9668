package store

import (
	"context"
	"os"
	"path/filepath"
	"slices"
)

// Remove removes builds from the store, and the plugin from the lock if none of its builds is left.
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
	own := lock // a plugin that was installed for a project may be in the lock of the store too
	if !samePath(lock.File, ownLock(s.Dir)) {
		if own, err = ReadLock(ownLock(s.Dir)); err != nil {
			return err
		}
	}
	for _, b := range builds {
		if !slices.ContainsFunc(left, func(l Installed) bool { return l.Plugin == b.Plugin }) {
			lock.Remove(b.ID.Address)
			own.Remove(b.ID.Address)
		}
	}
	if own != lock && exists(own.File) {
		if err := own.Write(); err != nil {
			return err
		}
	}
	return lock.Write()
}

// removeDir removes a build atomically by a rename, then deletes it. The caller holds the store.
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
		if os.Remove(d) != nil { // the folder is not empty
			break
		}
	}
	return nil
}

// Kept is a version that is not removed because it is in a lock.
type Kept struct {
	Version string `json:"version"`
	Lock    string `json:"lock"` // path
}

// removeOthers removes the other versions of a plugin on its platform, except versions that are in a lock.
func (s *Store) removeOthers(id ID) (removed []string, kept []Kept, err error) {
	all, err := s.List()
	if err != nil {
		return nil, nil, err
	}
	held, err := s.holders(id.Address)
	if err != nil {
		return nil, nil, err
	}
	for _, i := range all {
		if i.ID.Address != id.Address || i.ID.Platform != id.Platform || i.ID.Version == id.Version {
			continue
		}
		if lock, ok := held[i.Version]; ok {
			kept = append(kept, Kept{i.Version, lock})
			continue
		}
		if err := s.removeDir(i.ID); err != nil {
			return removed, kept, err
		}
		removed = append(removed, i.Version)
	}
	return removed, kept, nil
}

// HeldElsewhere returns the builds that are in locks of other projects.
func (s *Store) HeldElsewhere(builds []Installed) ([]Kept, error) {
	var kept []Kept
	for _, b := range builds {
		held, err := s.holders(b.ID.Address)
		if err != nil {
			return nil, err
		}
		if lock := held[b.Version]; lock != "" && !samePath(lock, s.LockFile) && !samePath(lock, ownLock(s.Dir)) {
			kept = append(kept, Kept{b.Version, lock})
		}
	}
	return kept, nil
}
