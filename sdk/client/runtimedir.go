package client

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

const (
	dirPrefix = "burn-host-"
	lockName  = "lock"
	// sweepAge is the age below which the sweep keeps a folder, because another host may still be creating it.
	sweepAge = 10 * time.Second
	// longestBase leaves room for a socket's path, which systems limit to about a hundred bytes.
	longestBase = 48
)

// host is the folder with the sockets of this process's plugins, private to the user. It exists while any plugin runs, and is locked: if a
// folder can be locked by another process, its host is dead.
var host struct {
	sync.Mutex
	dir   string
	lock  *os.File
	guard *guard
	users int
	made  int
}

// runtimeDir creates a folder for one plugin. It returns the path, and a function that removes the folder.
func runtimeDir() (dir string, release func(), err error) {
	host.Lock()
	defer host.Unlock()
	if host.users == 0 {
		if err := openHostDir(); err != nil {
			return "", nil, err
		}
	}
	host.made++
	dir = filepath.Join(host.dir, fmt.Sprint(host.made))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", nil, err
	}
	host.users++
	return dir, func() {
		host.Lock()
		defer host.Unlock()
		_ = os.RemoveAll(dir)
		_ = os.Remove(dir + recordExt)
		host.users--
		if host.users == 0 {
			host.guard.close()
			host.lock.Close()
			_ = os.RemoveAll(host.dir)
		}
	}, nil
}

func baseDir() string {
	base := os.TempDir()
	if runtime.GOOS != "windows" && len(base) > longestBase {
		return "/tmp"
	}
	return base
}

func openHostDir() error {
	base := baseDir()
	sweep(base)
	dir, err := os.MkdirTemp(base, fmt.Sprintf("%s%d-", dirPrefix, os.Getpid()))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		_ = os.RemoveAll(dir)
		return err
	}
	if !lock(f) {
		f.Close()
		_ = os.RemoveAll(dir)
		return fmt.Errorf("the lock of %s is taken", dir)
	}
	host.dir, host.lock, host.guard = dir, f, startGuard()
	return nil
}

// sweep removes the folders of dead hosts of this user, and ends the remaining processes of their plugins. Files of other users in a shared
// folder are neither locked nor removed.
func sweep(base string) {
	dirs, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, d := range dirs {
		info, err := d.Info()
		if err != nil || !d.IsDir() || !strings.HasPrefix(d.Name(), dirPrefix) || !ownFile(info) || time.Since(info.ModTime()) < sweepAge {
			continue
		}
		dir := filepath.Join(base, d.Name())
		f, err := openOwn(filepath.Join(dir, lockName))
		if err != nil {
			if os.IsNotExist(err) {
				_ = os.RemoveAll(dir)
			}
			continue
		}
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && ownFile(info) && lock(f) {
			sweepProcesses(dir)
			_ = os.RemoveAll(dir)
		}
		f.Close()
	}
}

// watched tells the guard to watch the processes that a plugin starts; unwatched ends that.
func watched(pid int, mark, group string) {
	host.Lock()
	defer host.Unlock()
	host.guard.watch(pid, mark, group)
}

func unwatched(pid int) {
	host.Lock()
	defer host.Unlock()
	host.guard.forget(pid)
}
