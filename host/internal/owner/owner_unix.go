//go:build unix

package owner

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Check requires that nobody but this user and the administrator can change the file at path, or put another into its place: both the
// file and its folder are owned by one of the two, and others cannot write to them. A group may write to what the administrator
// owns, and the group that has this user alone to what is this user's. Where path is a link, what it leads to is looked at too. The
// error is an ErrForeign that says what to do, or of the system.
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
	if mode.IsDir() && mode&os.ModeSticky != 0 && uid == 0 { // the shared folder for temporary files: each removes his own alone
		return nil
	}
	switch {
	case !friend(uid):
		return fmt.Errorf("%s belongs to user %d, this is user %d: %w", path, uid, os.Geteuid(), ErrForeign)
	case mode&0o002 != 0:
		return fmt.Errorf("%s has mode %v: %w", path, mode.Perm(), ErrForeign)
	case mode&0o020 != 0 && uid != 0 && gid != uid && gid != 0:
		return fmt.Errorf("%s has mode %v and group %d: %w", path, mode.Perm(), gid, ErrForeign)
	}
	return nil
}

// friend reports whether a user is this one, the administrator, or the one who became the administrator with sudo.
func friend(uid int) bool {
	if uid == 0 || uid == os.Geteuid() {
		return true
	}
	before, err := strconv.Atoi(os.Getenv("SUDO_UID"))
	return err == nil && os.Geteuid() == 0 && uid == before
}
