// Package wholefile replaces files atomically: a reader sees the old or the new content, never a part. The packages that write models and
// results use it. It must not know the format of a file.
package wholefile

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ErrIrregular is wrapped by errors for a path that names something other than a regular file, such as a device.
var ErrIrregular = errors.New("no regular file")

// Replace creates or replaces a file with the content that write writes, atomically: a reader sees the old content or the new one,
// also after a crash. It keeps the permissions of the old file, and replaces the file that a symbolic link names, not the link. After an
// error the old file is unchanged and no temporary file remains.
func Replace(path string, write func(w io.Writer) error) (err error) {
	if path, err = target(path); err != nil {
		return err
	}
	var salt [6]byte
	if _, err := rand.Read(salt[:]); err != nil {
		return err
	}
	mode := os.FileMode(0o666)
	old, missing := os.Stat(path)
	if missing == nil {
		if !old.Mode().IsRegular() {
			return fmt.Errorf("%s is %w", path, ErrIrregular)
		}
		mode = old.Mode().Perm()
	}
	dir := filepath.Dir(path)
	temp := filepath.Join(dir, "."+filepath.Base(path)+"."+hex.EncodeToString(salt[:])+".tmp")
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			if rerr := os.Remove(temp); rerr != nil && !os.IsNotExist(rerr) {
				err = fmt.Errorf("%w; removing what was written: %v", err, rerr)
			}
		}
	}()
	b := bufio.NewWriterSize(f, 1<<16)
	if missing == nil {
		err = keepMode(f, mode)
	}
	if err == nil {
		err = write(b)
	}
	if err == nil {
		err = b.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return fmt.Errorf("%s is as it was: %w", path, err)
	}
	syncDir(dir)
	return nil
}

// target returns the path that path names by symbolic links. The last of them may name a file that does not exist.
func target(path string) (string, error) {
	const most = 40 // as in Linux
	for range most {
		link, err := os.Readlink(path)
		if err != nil {
			return path, nil // no link: opening the path returns the error, if any
		}
		if !filepath.IsAbs(link) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return "", err
			}
			link = filepath.Join(dir, link)
		}
		path = link
	}
	return "", fmt.Errorf("%s: more than %d symbolic links, want fewer: is there a cycle?", path, most)
}

// keepMode sets the permissions of f to mode. The umask may have cleared some of them when f was created.
func keepMode(f *os.File, mode os.FileMode) error {
	now, err := f.Stat()
	if err != nil || now.Mode().Perm() == mode {
		return err
	}
	return f.Chmod(mode)
}

// syncDir makes a rename durable, if the system supports it. It ignores errors, because some systems cannot open or sync folders; the
// file is complete in any case.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}
