package store

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goburn/burn/host/manifest"
	"github.com/goburn/burn/internal/tomlfile"
	"github.com/goburn/burn/sdk/client"
)

// Package describes the content of an archive.
type Package struct {
	ID             ID
	Manifest       manifest.Manifest
	Archive        string // digest of the archive
	Size           int64  // bytes of the archive
	ManifestDigest string
	Tree           string
	Files          []File
	Executable     string // name of the file
}

// Inspect unpacks an archive into a temporary folder and describes it.
func Inspect(path string, l Limits) (*Package, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dir, err := os.MkdirTemp("", "burn-inspect-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	sum, n, err := digest(f)
	if err != nil {
		return nil, err
	}
	p, err := unpack(f, n, dir, l)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p.Archive = sum
	return p, nil
}

// unpack extracts an archive into dir and describes it.
func unpack(f io.ReaderAt, size int64, dir string, l Limits) (*Package, error) {
	executable, err := extract(f, size, dir, l)
	if err != nil {
		return nil, err
	}
	files, err := scan(dir, executable)
	if err != nil {
		return nil, err
	}
	p, err := describe(dir, files)
	if err != nil {
		return nil, err
	}
	p.Size = size
	return p, nil
}

// describe checks that a folder contains one plugin, with a matching manifest, and describes it.
func describe(dir string, files []File) (*Package, error) {
	var manifests, others []File
	for _, f := range files {
		switch {
		case !strings.HasPrefix(f.Path, filePrefix):
		case strings.HasSuffix(f.Path, manifestExt):
			manifests = append(manifests, f)
		default:
			others = append(others, f)
		}
	}
	if len(manifests) != 1 || len(others) != 1 {
		return nil, badArchive("archive: %d files burn-backend-NAME and %d manifests burn-backend-NAME.toml at the top, want one of each", len(others), len(manifests))
	}
	p := &Package{Files: files, Tree: Tree(files), ManifestDigest: manifests[0].Digest, Executable: others[0].Path}
	text, err := read(tomlfile.Manifest, filepath.Join(dir, manifests[0].Path))
	if err != nil {
		return nil, err
	}
	m := &p.Manifest
	if err := decode(tomlfile.Manifest, text, m); err != nil {
		return nil, badArchive("%s: %v", manifests[0].Path, err)
	}
	return p, p.check(dir, manifests[0].Path, others[0])
}

func (p *Package) check(dir, file string, exe File) error {
	m := &p.Manifest
	host, ns, _ := strings.Cut(m.Namespace, "/")
	p.ID = ID{Address{host, ns, m.Name}, m.Version, m.OS + "_" + m.Arch}
	if err := p.ID.check(); err != nil {
		return badArchive("%s: %v", file, err)
	}
	if m.Kind != "process" && m.Kind != "shared" {
		return badArchive("%s: kind %q, want \"process\" or \"shared\"", file, m.Kind)
	}
	if want := filePrefix + m.Name + manifestExt; file != want {
		return badArchive("%s: it is of plugin %q, want %s", file, m.Name, want)
	}
	if want := Executable(m.Name, m.Kind, p.ID.Platform); exe.Path != want {
		return badArchive("%s: the plugin is %s, the archive has %s", file, want, exe.Path)
	}
	if got := strings.TrimPrefix(exe.Digest, "sha256:"); !strings.EqualFold(got, m.SHA256) {
		return badArchive("%s: %s has sha256 %s, the manifest says %q", file, exe.Path, got, m.SHA256)
	}
	built := strings.ReplaceAll(client.FormatOf(filepath.Join(dir, exe.Path)), "/", "_")
	if built != "" && built != p.ID.Platform {
		return refuse(ErrPlatform, "", "%s: it is built for %s, the manifest says %s", exe.Path, built, p.ID.Platform)
	}
	return nil
}

const manifestExt = ".toml"

// Sorted returns the paths of the files.
func (p *Package) Sorted() []string {
	var s []string
	for _, f := range p.Files {
		s = append(s, f.Path)
	}
	slices.Sort(s)
	return s
}
