package store

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// extract unpacks an archive of size bytes into dir, an empty folder. It creates only regular files and folders, only inside dir, and
// returns which files are executable. If extract refuses the archive, the error is ErrArchive.
func extract(f io.ReaderAt, size int64, dir string, l Limits) (map[string]bool, error) {
	l = l.complete()
	if size > l.Archive {
		return nil, badArchive("archive: %d bytes, want at most %d", size, l.Archive)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	x := &extraction{root: root, names: names{limits: l, seen: map[string]bool{}}, budget: l.budget(size), executable: map[string]bool{}}
	var magic [4]byte
	_, _ = f.ReadAt(magic[:], 0) // a shorter file is of no known format
	switch {
	case magic[0] == 0x1f && magic[1] == 0x8b:
		err = x.tarGz(io.NewSectionReader(f, 0, size))
	case string(magic[:]) == "PK\x03\x04":
		err = x.zip(f, size)
	default:
		return nil, badArchive("archive: starts with % x, want a .tar.gz or .zip", magic)
	}
	if err != nil {
		return nil, err
	}
	if len(x.executable) == 0 {
		return nil, badArchive("archive: no files")
	}
	return x.executable, nil
}

type extraction struct {
	root       *os.Root
	names      names
	budget     *budget
	executable map[string]bool // whether each file is executable
}

func (x *extraction) tarGz(r io.Reader) error {
	gz, err := gzip.NewReader(bufio.NewReaderSize(r, 1<<16))
	if err != nil {
		return badArchive("archive: %v", err)
	}
	limited := x.budget.reader(gz)
	t := tar.NewReader(limited)
	for {
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return damaged(err)
		}
		for k := range h.PAXRecords {
			if strings.HasPrefix(k, "GNU.sparse") {
				return badArchive("archive: entry %q is sparse, want a regular file", h.Name)
			}
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = x.folder(h.Name)
		case tar.TypeReg:
			err = x.file(h.Name, h.FileInfo().Mode(), h.Size, t)
		default:
			return badArchive("archive: entry %q is %s, want a regular file or folder", h.Name, tarKind(h.Typeflag))
		}
		if err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, limited); err != nil { // read up to the checksum
		return damaged(err)
	}
	return nil
}

func tarKind(t byte) string {
	switch t {
	case tar.TypeLink:
		return "a hard link"
	case tar.TypeSymlink:
		return "a symbolic link"
	case tar.TypeChar, tar.TypeBlock:
		return "a device"
	case tar.TypeFifo:
		return "a pipe"
	}
	return "of type " + string(rune(t))
}

func (x *extraction) zip(f io.ReaderAt, size int64) error {
	// The directory is read into memory at once. The limit of bytes read also bounds its entries.
	directory := &budgetReaderAt{f, &budget{int64(x.names.limits.Files)*1024 + 1<<20, "its directory has too many entries"}}
	z, err := zip.NewReader(directory, size)
	if err != nil {
		return damaged(err)
	}
	directory.b = nil
	for _, e := range z.File {
		mode := e.Mode()
		switch {
		case mode.IsDir():
			err = x.folder(e.Name)
		case !mode.IsRegular():
			return badArchive("archive: entry %q has mode %v, want a regular file or folder", e.Name, mode)
		case e.Flags&1 != 0:
			return badArchive("archive: entry %q is encrypted", e.Name)
		case e.UncompressedSize64 > uint64(max(x.budget.left, 0)):
			return badArchive("archive: %s", x.budget.why)
		default:
			err = x.zipFile(e, mode)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (x *extraction) zipFile(e *zip.File, mode fs.FileMode) error {
	r, err := e.Open()
	if err != nil {
		return damaged(err)
	}
	defer r.Close()
	return x.file(e.Name, mode, int64(e.UncompressedSize64), x.budget.reader(r))
}

type budgetReaderAt struct {
	r io.ReaderAt
	b *budget // nil: unlimited
}

func (r *budgetReaderAt) ReadAt(p []byte, at int64) (int, error) {
	n, err := r.r.ReadAt(p, at)
	if r.b != nil {
		if e := r.b.spend(n); e != nil {
			return 0, e
		}
	}
	return n, err
}

func (x *extraction) folder(name string) error {
	name, err := x.names.add(name, true)
	if err != nil || name == "." {
		return err
	}
	return x.root.MkdirAll(name, 0o755)
}

func (x *extraction) file(name string, mode fs.FileMode, size int64, r io.Reader) error {
	name, err := x.names.add(name, false)
	if err != nil {
		return err
	}
	if dir := path.Dir(name); dir != "." {
		if err := x.root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	perm := fs.FileMode(0o444)
	if mode&0o100 != 0 || strings.HasPrefix(name, filePrefix) && !strings.HasSuffix(name, manifestExt) { // a .zip may contain no file modes
		perm = 0o555
	}
	w, err := x.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(disk(w), r)
	if err == nil && n != size {
		err = badArchive("archive: entry %q has %d bytes, want %d", name, n, size)
	}
	if err != nil {
		w.Close()
		return damaged(err)
	}
	checkpoint("file unpacked")
	if err := errors.Join(w.Chmod(perm), syncFile(w), w.Close()); err != nil {
		return err
	}
	x.executable[name] = perm&0o100 != 0
	return nil
}

// syncFile makes the content of a file durable. A fuzz test replaces it, for speed.
var syncFile = (*os.File).Sync

// disk returns the writer of a file. A test replaces it by a full disk.
var disk = func(f *os.File) io.Writer { return f }

// damaged turns an error of the decoders into an ErrArchive; errors of the system and of this package stay unchanged.
func damaged(err error) error {
	var r *Refusal
	var sys *fs.PathError
	if errors.As(err, &r) || errors.As(err, &sys) || errors.Is(err, ErrArchive) {
		return err
	}
	return badArchive("archive: %v", err)
}
