// Package flock locks files between processes, for packages host/store and host/sealed. Locks end with the process that holds them. The
// package must not read or write the files.
package flock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrNotRegular is the error if a lock file is a link, a named pipe or another special file.
var ErrNotRegular = errors.New("want a regular file")

// Take opens or creates the lock file at path and locks it. It waits for another holder until ctx ends. waiting, if not nil, is called once
// before a wait. Closing the file releases the lock.
func Take(ctx context.Context, path string, waiting func()) (*os.File, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	for first := true; ; first = false {
		ok, err := Try(f)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if ok {
			return f, nil
		}
		if first && waiting != nil {
			waiting()
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
