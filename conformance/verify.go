package conformance

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// The errors of Verify.
var (
	// ErrTampered: the package differs from the one that a run wrote.
	ErrTampered = errors.New("report package was changed or is damaged")
	// ErrIncomplete: cases of the suite are missing.
	ErrIncomplete = errors.New("report package is of an incomplete run")
)

func tampered(format string, args ...any) error {
	return fmt.Errorf("conformance: %w: %s", ErrTampered, fmt.Sprintf(format, args...))
}

// Verify checks the report package at path, a directory or an archive: that no byte of it was changed after it was written, that
// its files agree with each other, that its seeds are derived from its challenge, and that every case of its suite and profile
// has a result. The manifest is returned when it could be read. Only the signature, which Manifest.CheckSignature checks, reveals
// that all files were changed consistently; only Rerun reveals results that were made up before signing.
func Verify(path string) (*Manifest, error) {
	files, raw, err := readPackage(path)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{ManifestFile, DigestFile} {
		if files[name] == nil {
			return nil, tampered("%s is missing", name)
		}
	}
	if got := digest(files[ManifestFile]) + "\n"; got != string(files[DigestFile]) {
		return nil, tampered("the digest of %s differs from the digest in %s", ManifestFile, DigestFile)
	}
	m := Manifest{Digest: digest(files[ManifestFile])}
	if err := json.Unmarshal(files[ManifestFile], &m); err != nil {
		return nil, tampered("%s: %v", ManifestFile, err)
	}
	if m.Format != packageFormat {
		return &m, fmt.Errorf("conformance: report package of format %d, this program reads format %d", m.Format, packageFormat)
	}
	for name, data := range files {
		if name == ManifestFile || name == DigestFile || name == SignatureFile {
			continue
		}
		if want, ok := m.Files[name]; !ok {
			return &m, tampered("%s does not belong to the package", name)
		} else if digest(data) != want {
			return &m, tampered("the digest of %s differs from the digest in %s", name, ManifestFile)
		}
	}
	for name := range m.Files {
		if files[name] == nil {
			return &m, tampered("%s is missing", name)
		}
	}
	if text := files[SignatureFile]; text != nil {
		if m.Signature, err = parseSignature(text); err != nil {
			return &m, err
		}
	}
	if raw != nil && m.Environment.Go == runtime.Version() {
		if again, err := archive(files); err != nil || !bytes.Equal(again, raw) {
			return &m, tampered("the archive around the files was changed")
		}
	}
	return &m, m.check(files)
}

// origin checks the description of the plugin in the manifest, and the derivation of the seeds.
func (m *Manifest) origin() error {
	if err := m.Plugin.check(); err != nil {
		return err
	}
	if len(m.Seeds) == 0 || m.Seed != m.Seeds[0] {
		return tampered("the seed is %d, want the first of %d", m.Seed, m.Seeds)
	}
	c := m.Challenge
	if c == nil {
		return nil
	}
	if err := c.check(); err != nil {
		return tampered("%v", err)
	}
	if got := m.Plugin.Content(); c.Content != got {
		return tampered("the challenge is for content %s, the plugin has %s", c.Content, got)
	}
	if !slices.Equal(c.Derive(), m.Seeds) {
		return tampered("the seeds are not derived from the challenge")
	}
	return nil
}

// check compares the files of a package with each other, and looks for missing cases.
func (m *Manifest) check(files map[string][]byte) error {
	lines := strings.Split(strings.TrimSuffix(string(files[CasesFile]), "\n"), "\n")
	suite := newSuite(m.Suite.Version, m.Suite.Table, lines)
	if suite.Hash != m.Suite.Hash || suite.Cases != m.Suite.Cases || suite.Total != m.Suite.Total {
		return tampered("%s is not the list of the suite %s", CasesFile, m.Suite.Hash)
	}
	rows, err := readJSON(files[RowsFile])
	if err != nil {
		return tampered("%s: %v", RowsFile, err)
	}
	m.rows, m.lines = rows, lines
	if m.Profile != Timed && !slices.Contains(Profiles(), m.Profile) {
		return tampered("profile %q, want one of %v", m.Profile, Profiles())
	}
	if err := m.origin(); err != nil {
		return err
	}
	found := map[string]Status{}
	for _, r := range rows {
		if _, twice := found[r.ID]; twice {
			return tampered("case %s has two results", r.ID)
		}
		found[r.ID] = r.Status
	}
	verdicts := map[Profile]*ProfileResult{}
	for _, p := range Profiles() {
		verdicts[p] = &ProfileResult{Profile: p}
	}
	var missing []string
	known := 0
	for _, line := range lines {
		id, profiles := parseCaseLine(line)
		profiles = append(profiles, All)
		status, ran := found[id]
		if ran {
			known++
		} else if slices.Contains(profiles, m.Profile) {
			missing = append(missing, id)
		}
		for _, p := range profiles {
			v := verdicts[p]
			if v == nil {
				return tampered("case %s is of profile %q", id, p)
			}
			v.Total++
			v.count(status)
		}
	}
	if known != len(found) {
		return tampered("%d results are of no case of the suite", len(found)-known)
	}
	for _, p := range m.Profiles {
		v := verdicts[p.Profile]
		if v == nil {
			return tampered("profile %q", p.Profile)
		}
		v.judge()
		if *v != p {
			return tampered("the results of profile %s give %+v, %s says %+v", p.Profile, *v, ManifestFile, p)
		}
	}
	if len(m.Profiles) != len(verdicts) {
		return tampered("%d profiles, want %d", len(m.Profiles), len(verdicts))
	}
	if n := len(missing); n > 0 {
		return fmt.Errorf("conformance: %w: %d of %d cases of profile %s have no result, %s the first", ErrIncomplete, n, verdicts[m.Profile].Total,
			m.Profile, missing[0])
	}
	return nil
}

// Limits of a package, against packages built to exhaust memory: bytes of one file, and number of files.
const (
	maxPackageFile  = 256 << 20
	maxPackageFiles = 64
)

// readPackage reads all files. raw is the content of the archive if path is one.
func readPackage(path string) (files map[string][]byte, raw []byte, err error) {
	files = map[string][]byte{}
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if info.IsDir() {
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || len(files) == maxPackageFiles {
				return nil, nil, tampered("%s does not belong to it", e.Name())
			}
			if info, err := e.Info(); err != nil {
				return nil, nil, err
			} else if info.Size() > maxPackageFile {
				return nil, nil, tampered("%s has %d bytes, want at most %d", e.Name(), info.Size(), maxPackageFile)
			}
			if files[e.Name()], err = os.ReadFile(filepath.Join(path, e.Name())); err != nil {
				return nil, nil, err
			}
		}
		return files, nil, nil
	}
	if raw, err = os.ReadFile(path); err != nil {
		return nil, nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, nil, tampered("%v", err)
	}
	z.Multistream(false)
	t := tar.NewReader(z)
	for {
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, nil, tampered("%v", err)
		}
		if _, twice := files[h.Name]; twice || h.Typeflag != tar.TypeReg || h.Size > maxPackageFile || len(files) == maxPackageFiles {
			return nil, nil, tampered("entry %q", h.Name)
		}
		data, err := io.ReadAll(t)
		if err != nil {
			return nil, nil, tampered("%s: %v", h.Name, err)
		}
		files[h.Name] = data
	}
	if _, err := io.Copy(io.Discard, io.LimitReader(z, maxPackageFile)); err != nil { // the checksum is at the end
		return nil, nil, tampered("%v", err)
	}
	return files, raw, nil
}
