package sealed

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrOutside is the error for a program or object that searches for libraries outside of its folder.
var ErrOutside = errors.New("it looks for libraries outside of its folder")

// Item is one file of a tree.
type Item struct {
	Path       string // path within the tree, with slashes
	SHA256     string // hex, any case; empty: any content
	Size       int64  // in bytes; negative: any size
	Executable bool
}

// Tree copies the items of dir into a folder that is open to this user alone, and hashes the bytes as they are copied. It returns the copy
// of program, which is one of the items. An item with other content is an ErrMismatch. Other files in dir are not copied. The copies stay
// until Close; copies of a process that died are removed when the next tree or file is sealed.
func Tree(dir, program string, items []Item) (*File, error) {
	to, err := newFolder()
	if err != nil {
		return nil, err
	}
	main := ""
	for _, it := range items {
		local := filepath.FromSlash(it.Path)
		if !filepath.IsLocal(local) {
			err = fmt.Errorf("%s: it lies outside of %s", it.Path, dir)
		} else {
			err = copyItem(filepath.Join(to.content(), local), filepath.Join(dir, local), it)
		}
		if err != nil {
			_ = to.remove()
			return nil, err
		}
		if it.Path == program {
			main = filepath.Join(to.content(), local)
		}
	}
	if main == "" {
		_ = to.remove()
		return nil, fmt.Errorf("%s: it is not among the files of %s", program, dir)
	}
	return newFile(main, to.content(), to.remove), nil
}

func copyItem(to, from string, it Item) error {
	src, err := openRead(from)
	if err != nil {
		return err
	}
	defer src.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return copyTo(to, src, from, it)
}

// copyTo copies src, the file at from, to a new file. It returns ErrMismatch if the hash of the copied bytes is not it.SHA256, and another
// error if their number is not it.Size.
func copyTo(to string, src *os.File, from string, it Item) error {
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return err
	}
	mode := os.FileMode(0o400)
	if it.Executable {
		mode = 0o500
		// A process that is forked now would hold the file open for writing. The file could then not be executed.
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
	}
	w, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	var r io.Reader = src
	if it.Size >= 0 {
		r = io.LimitReader(src, it.Size+1) // the file may grow while it is read
	}
	h := sha256.New()
	size, err := copyHashed(w, h, r)
	if e := w.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); it.SHA256 != "" && !strings.EqualFold(got, it.SHA256) {
		return mismatch(from, got, strings.ToLower(it.SHA256))
	}
	if it.Size >= 0 && size != it.Size {
		return fmt.Errorf("%s: it does not have the %d bytes that it had before; it changes while it is copied, try again when it is complete", from, it.Size)
	}
	return nil
}

// copyHashed copies r to w, hashes each piece while it is written, and returns the number of bytes.
func copyHashed(w io.Writer, h hash.Hash, r io.Reader) (size int64, err error) {
	piece := make([]byte, 1<<20)
	for {
		n, err := io.ReadFull(r, piece)
		hashed := make(chan struct{})
		go func() {
			h.Write(piece[:n])
			close(hashed)
		}()
		_, failed := w.Write(piece[:n])
		<-hashed
		size += int64(n)
		switch {
		case failed != nil:
			return size, failed
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return size, nil
		case err != nil:
			return size, err
		}
	}
}

// private copies src without other files.
func private(src *os.File, path, want string) (*File, error) {
	to, err := newFolder()
	if err != nil {
		return nil, err
	}
	name := filepath.Join(to.content(), filepath.Base(path))
	if err := copyTo(name, src, path, Item{SHA256: want, Size: -1, Executable: true}); err != nil {
		_ = to.remove()
		return nil, err
	}
	return newFile(name, "", to.remove), nil
}
