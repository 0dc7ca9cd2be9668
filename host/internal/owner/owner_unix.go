//go:build unix

package owner

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Check returns an error unless only this user and the administrator can change or replace the file at path: one of the two must own the
// file and its folder, and others must not be able to write to them. A group may write to files of the administrator. Only two groups may
// write to files of a user: group 0, and the group with the user's number, which usually has no other member. If path is a link, its target
// is checked too. The error wraps ErrForeign and names the file and what is wrong with it, or is an error of the system.
func Check(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	looked := []string{filepath.Dir(path), filepath.Dir(real), real}
	for i, p := range looked {
		if i == 1 && p == looked[0] {
			continue
		}
		info, err := os.Stat(p)
		if err != nil {
			return err
		}
		if err := check(p, info); err != nil {
			return err
		}
	}
	return nil
}

func check(path string, info os.FileInfo) error {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	uid, gid, mode := int(s.Uid), int(s.Gid), info.Mode()
	if mode.IsDir() && mode&os.ModeSticky != 0 && uid == 0 { // the shared folder for temporary files: users can remove only their own files
		return nil
	}
	switch {
	case !trusted(uid):
		return fmt.Errorf("%s belongs to user %d, this is user %d: %w", path, uid, os.Geteuid(), ErrForeign)
	case mode&0o002 != 0:
		return fmt.Errorf("%s has mode %v: %w", path, mode.Perm(), ErrForeign)
	case mode&0o020 != 0 && uid != 0 && gid != uid && gid != 0:
		return fmt.Errorf("%s has mode %v and group %d: %w", path, mode.Perm(), gid, ErrForeign)
	}
	return nil
}

// trusted reports whether a user is the present user, the administrator, or the user who became the administrator with sudo.
func trusted(uid int) bool {
	if uid == 0 || uid == os.Geteuid() {
		return true
	}
	before, err := strconv.Atoi(os.Getenv("SUDO_UID"))
	return err == nil && os.Geteuid() == 0 && uid == before
}
