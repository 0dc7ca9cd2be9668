package client

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ownSocket returns an error unless path, which a plugin has sent, is a socket of this user in a folder that only this user may enter. If
// dir is not empty, the folder must be dir or below it. Without this check the host could send data and descriptors to another program.
func ownSocket(dir, path string) error {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("socket %.200q: %w", path, err)
	}
	if dir != "" {
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return err
		}
		if rel, err := filepath.Rel(dir, folder); err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return fmt.Errorf("socket %.200q: want one in the plugin's folder %s", path, dir)
		}
	}
	in, err := os.Stat(folder)
	if err != nil {
		return err
	}
	s, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("socket %.200q: %w", path, err)
	}
	switch {
	case !ownFile(in) || needsExecBit && in.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("socket %.200q: want a folder that the user alone may enter, got mode %v", path, in.Mode().Perm())
	case needsExecBit && s.Mode().Type() != os.ModeSocket:
		return fmt.Errorf("socket %.200q: want a socket, got %v", path, s.Mode().Type())
	case !ownFile(s):
		return fmt.Errorf("socket %.200q: it belongs to another user", path)
	}
	return nil
}
