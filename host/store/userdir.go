package store

import (
	"os"
	"path/filepath"
	"runtime"
)

// UserDir returns the store of this user. It is empty if the system defines no folder for data.
func UserDir() string {
	if d := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(d) { // a relative path would depend on the working folder
		return filepath.Join(d, "burn", "plugins")
	}
	if runtime.GOOS == "windows" {
		if d := os.Getenv("LocalAppData"); d != "" {
			return filepath.Join(d, "burn", "plugins")
		}
		return ""
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "burn", "plugins")
	}
	return filepath.Join(home, ".local", "share", "burn", "plugins")
}
