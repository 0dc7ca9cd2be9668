package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host/store"
)

// Contents lists the files of a plugin.
type Contents struct {
	// ID names an installed plugin, and Archive is the digest of its archive. Both are zero for other plugins.
	ID      store.ID
	Archive string
	// Files are the files of the plugin, in order of path: for an installation and an allowed folder all files; for another script
	// all files in and below its folder except other plugins; for another program only the program.
	Files []store.File
}

// Contents lists the files of the plugin. For an installation and an allowed folder these are the files that are copied, checked and
// started. The files of a plugin elsewhere are hashed as they are now.
func (p *Plugin) Contents() (*Contents, error) {
	c := &Contents{Files: p.files}
	if p.admission != nil && !p.Development {
		id := idOf(p.Path)
		got, err := p.admission.Admit(id)
		if err != nil {
			return nil, refused(err)
		}
		if got != nil {
			c.ID, c.Archive, c.Files = id, got.Archive, got.Files
		}
	}
	if c.Files != nil {
		return c, nil
	}
	var err error
	c.Files, err = filesAt(p.Path)
	return c, err
}

// ContentsOf is like Contents, for the plugin in the file at path.
func ContentsOf(path string) (*Contents, error) {
	p := development(PluginName(path), path)
	return p.Contents()
}

// filesAt hashes the plugin at path.
func filesAt(path string) ([]store.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	start := make([]byte, 2)
	n, err := io.ReadFull(f, start)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	dir := filepath.Dir(path)
	if !bytes.Equal(start[:n], []byte("#!")) {
		file, err := store.HashFile(path)
		return []store.File{file}, err
	}
	all, err := store.HashFolder(dir)
	if err != nil {
		return nil, fmt.Errorf("plugin %s is a script, which runs files of its folder: %w; put it into a folder of its own, or make an archive with `burn plugin pack`: %w",
			path, err, core.ErrUnsupported)
	}
	return within(all, dir, path), nil
}
