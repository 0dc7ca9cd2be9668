package conformance

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
)

// The files of a report package. DigestFile contains the SHA-256 of the manifest. The manifest contains the SHA-256 of every other file
// except the signature.
const (
	ManifestFile = "manifest.json"
	DigestFile   = "DIGEST"
	RowsFile     = "report.jsonl"
	JUnitFile    = "junit.xml"
	PageFile     = "index.html"
	CasesFile    = "cases.txt" // the cases of the suite with their profiles
	SummaryFile  = "summary.txt"
)

// Manifest describes the content of a report package.
type Manifest struct {
	Format       int               `json:"format"`
	Suite        Suite             `json:"suite"`
	Profile      Profile           `json:"profile"`
	Run          string            `json:"run,omitempty"`
	Seed         uint64            `json:"seed"`
	Seeds        []uint64          `json:"seeds"`
	Challenge    *Challenge        `json:"challenge,omitempty"` // Seeds are derived from it
	Plugin       Plugin            `json:"plugin"`
	Backend      core.Info         `json:"backend"`
	Capabilities capabilities      `json:"capabilities"`
	Environment  Environment       `json:"environment"`
	Started      time.Time         `json:"started"`
	Seconds      float64           `json:"seconds"`
	Expect       []string          `json:"expect,omitempty"`
	Profiles     []ProfileResult   `json:"profiles"`
	Disclosure   Disclosure        `json:"disclosure"`
	Files        map[string]string `json:"files"`

	// Digest identifies the package. Signature is the signature, or nil. Verify sets both.
	Digest    string     `json:"-"`
	Signature *Signature `json:"-"`
	rows      []row
	lines     []string // the lines of CasesFile
}

const packageFormat = 3

// capabilities is the capability document with names in place of codes, so that other programs can read it.
type capabilities struct {
	Types         string               `json:"types"`
	Emulated      string               `json:"emulated,omitempty"`
	Flushes       string               `json:"flushes,omitempty"`
	Ops           map[string]opSupport `json:"ops"`
	Limits        limits               `json:"limits"`
	Deterministic bool                 `json:"deterministic"`
	Features      []string             `json:"features"`
}

type opSupport struct {
	Version  uint16   `json:"version"`
	Operands []string `json:"operands,omitempty"` // types by operand; the last entry also holds for further operands
	Results  []string `json:"results,omitempty"`
	Limits   limits   `json:"limits,omitzero"`
}

// limits is core.Limits; 0 means no bound.
type limits struct {
	Rank     int   `json:"rank,omitempty"`
	Bytes    int64 `json:"bytes,omitempty"`
	Elements int64 `json:"elements,omitempty"`
	Buffers  int   `json:"buffers,omitempty"`
}

func typeNames(sets []dtype.Set) []string {
	var names []string
	for _, s := range sets {
		names = append(names, s.String())
	}
	return names
}

func capabilitiesOf(c *core.Capabilities) capabilities {
	if c == nil {
		return capabilities{}
	}
	d := capabilities{Types: c.Types.String(), Ops: map[string]opSupport{}, Limits: limits(c.Limits), Deterministic: c.Deterministic, Features: c.Features}
	if c.Emulated != 0 {
		d.Emulated = c.Emulated.String()
	}
	if c.Flushes != 0 {
		d.Flushes = c.Flushes.String()
	}
	for name, o := range c.Ops {
		d.Ops[name] = opSupport{o.Version, typeNames(o.Operands), typeNames(o.Results), limits(o.Limits)}
	}
	return d
}

// files returns the contents of the package's files by name.
func (r *Report) files() (map[string][]byte, error) {
	files := map[string][]byte{}
	writers := map[string]func(io.Writer) error{RowsFile: r.WriteJSON, SummaryFile: r.Write}
	if !r.Lean {
		writers[JUnitFile], writers[PageFile] = r.WriteJUnit, r.WriteHTML
	}
	for name, write := range writers {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = b.Bytes()
	}
	if err := r.disclosed(files); err != nil {
		return nil, err
	}
	files[CasesFile] = []byte(strings.Join(r.Suite.lines, "\n") + "\n")
	m := Manifest{Format: packageFormat, Suite: r.Suite, Profile: r.Options.Profile, Run: r.Options.Run, Seed: r.Seed, Seeds: r.Seeds, Challenge: r.Options.Challenge, Plugin: r.Plugin, Backend: r.Backend,
		Capabilities: capabilitiesOf(r.Capabilities), Environment: r.Environment, Started: r.Started, Seconds: r.Duration.Seconds(),
		Expect: r.Options.Expect, Profiles: r.Profiles, Disclosure: r.Disclosure(), Files: map[string]string{}}
	if m.Profile == "" {
		m.Profile = All
	}
	for name, data := range files {
		m.Files[name] = digest(data)
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	files[ManifestFile] = append(data, '\n')
	files[DigestFile] = []byte(digest(files[ManifestFile]) + "\n")
	return files, nil
}

func digest(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// WritePackage writes the report package to path: an archive if path ends in .tar.gz, else a directory, which it creates. It returns the
// digest that identifies the package. Files of an older package in the directory are replaced.
func (r *Report) WritePackage(path string) (string, error) { return r.WriteSigned(path, nil) }

// WriteSigned is like WritePackage, and adds the signature that sign returns for the Statement of the digest. A nil sign adds none.
func (r *Report) WriteSigned(path string, sign func(statement []byte) Signature) (string, error) {
	files, err := r.files()
	if err != nil {
		return "", fmt.Errorf("conformance: report: %w", err)
	}
	name := strings.TrimSpace(string(files[DigestFile]))
	if sign != nil {
		files[SignatureFile] = sign(Statement(name)).encode()
	}
	if isArchive(path) {
		data, err := archive(files)
		if err != nil {
			return "", fmt.Errorf("conformance: report: %w", err)
		}
		return name, os.WriteFile(path, data, 0o644)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return "", err
	}
	if sign == nil { // the signature of an older package does not match this one
		if err := os.Remove(filepath.Join(path, SignatureFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	for file, data := range files {
		if err := os.WriteFile(filepath.Join(path, file), data, 0o644); err != nil {
			return "", err
		}
	}
	return name, nil
}

func isArchive(path string) bool { return strings.HasSuffix(path, ".tar.gz") }

// archive returns the archive of files. It is deterministic: the same files result in the same bytes.
func archive(files map[string][]byte) ([]byte, error) {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	t := tar.NewWriter(z)
	for _, name := range names {
		h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name])), Format: tar.FormatUSTAR, Typeflag: tar.TypeReg}
		if err := t.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := t.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(t.Close(), z.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
