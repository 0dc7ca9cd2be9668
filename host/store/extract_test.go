package store

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type entry struct {
	name string
	kind byte // type flag of tar; 0: a regular file
	link string
	text string
	mode int64
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	w := tar.NewWriter(gz)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.link, Mode: e.mode | 0o644, Size: int64(len(e.text))}
		if e.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		require.NoError(t, w.WriteHeader(h))
		_, err := io.WriteString(w, e.text)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, gz.Close())
	return b.Bytes()
}

func zipOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		mode := fs.FileMode(e.mode | 0o644)
		switch e.kind {
		case tar.TypeSymlink:
			mode, e.text = mode|fs.ModeSymlink, e.link
		case tar.TypeChar:
			mode |= fs.ModeDevice | fs.ModeCharDevice
		case tar.TypeFifo:
			mode |= fs.ModeNamedPipe
		case tar.TypeDir:
			mode |= fs.ModeDir
		}
		h.SetMode(mode)
		f, err := w.CreateHeader(h)
		require.NoError(t, err)
		_, err = io.WriteString(f, e.text)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

// treeOf returns the paths of all files and folders below dir.
func treeOf(t testing.TB, dir string) []string {
	t.Helper()
	names := []string{}
	require.NoError(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && p != dir {
			rel, _ := filepath.Rel(dir, p)
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	}))
	return names
}

func TestExtract(t *testing.T) {
	good := []entry{{name: "./"[:2], kind: tar.TypeDir}, {name: "a b.txt", text: "hello"}, {name: "lib/", kind: tar.TypeDir, mode: 0o111}, {name: "lib/run", text: "x", mode: 0o111},
		{name: "deep/er/f", text: ""}, {name: "./dot", text: "d"}}
	for name, archive := range map[string][]byte{"tar": tarOf(t, good...), "zip": zipOf(t, good[1:]...)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			x, err := extract(bytes.NewReader(archive), int64(len(archive)), dir, Limits{})
			require.NoError(t, err)
			require.Equal(t, map[string]bool{"a b.txt": false, "lib/run": true, "deep/er/f": false, "dot": false}, x)
			got, err := os.ReadFile(filepath.Join(dir, "a b.txt"))
			require.NoError(t, err)
			require.Equal(t, "hello", string(got))
			require.Equal(t, []string{"a b.txt", "deep", "deep/er", "deep/er/f", "dot", "lib", "lib/run"}, treeOf(t, dir))
		})
	}
}

func TestAttacks(t *testing.T) {
	zeros := strings.Repeat("\x00", 1<<20)
	for name, c := range map[string]struct {
		entries []entry
		want    string
		tarOnly bool
		limits  Limits
	}{
		"traversal":          {entries: []entry{{name: "../evil"}}, want: "leads out"},
		"deep traversal":     {entries: []entry{{name: "a/../../evil"}}, want: "leads out"},
		"harmless dots":      {entries: []entry{{name: "a/../b"}}, want: "leads out"},
		"absolute":           {entries: []entry{{name: "/etc/evil"}}, want: "leads out"},
		"windows absolute":   {entries: []entry{{name: `C:\evil`}}, want: "every system"},
		"windows traversal":  {entries: []entry{{name: `..\evil`}}, want: "every system"},
		"stream":             {entries: []entry{{name: "a:b"}}, want: "every system"},
		"device name":        {entries: []entry{{name: "NUL.txt"}}, want: "every system"},
		"trailing dot":       {entries: []entry{{name: "a."}}, want: "every system"},
		"hidden":             {entries: []entry{{name: ".burn-receipt.toml"}}, want: "every system"},
		"escape":             {entries: []entry{{name: "a\x1b[2Jb"}}, want: "every system"},
		"beyond ASCII":       {entries: []entry{{name: "\u00e9"}}, want: "every system"},
		"empty part":         {entries: []entry{{name: "a//b"}}, want: "every system"},
		"long":               {entries: []entry{{name: strings.Repeat("a/", 3) + strings.Repeat("n", 250)}}, want: "at most 240"},
		"deep":               {entries: []entry{{name: strings.Repeat("d/", 9) + "f"}}, want: "at most 8"},
		"symlink":            {entries: []entry{{name: "l", kind: tar.TypeSymlink, link: "/etc/passwd"}}, want: "regular file"},
		"through a symlink":  {entries: []entry{{name: "l", kind: tar.TypeSymlink, link: ".."}, {name: "l/f", text: "x"}}, want: "regular file"},
		"hard link":          {entries: []entry{{name: "l", kind: tar.TypeLink, link: "/etc/passwd"}}, want: "a hard link", tarOnly: true},
		"device":             {entries: []entry{{name: "d", kind: tar.TypeChar}}, want: "regular file"},
		"pipe":               {entries: []entry{{name: "d", kind: tar.TypeFifo}}, want: "regular file"},
		"twice":              {entries: []entry{{name: "a"}, {name: "a"}}, want: "twice"},
		"twice, dotted":      {entries: []entry{{name: "a"}, {name: "./a"}}, want: "twice"},
		"case":               {entries: []entry{{name: "a"}, {name: "A"}}, want: "upper and lower case"},
		"case of folders":    {entries: []entry{{name: "lib/a"}, {name: "LIB/b"}}, want: "upper and lower case"},
		"file, then folder":  {entries: []entry{{name: "a"}, {name: "a/b"}}, want: "twice"},
		"folder, then file":  {entries: []entry{{name: "a/b"}, {name: "a"}}, want: "twice"},
		"second plugin":      {entries: []entry{{name: "x/1.0.0/linux_amd64/burn-backend-x"}}, want: "at the top"},
		"too many":           {entries: []entry{{name: "a"}, {name: "b"}, {name: "c"}}, want: "more than 2", limits: Limits{Files: 2}},
		"too many folders":   {entries: []entry{{name: "a/b/c/d"}}, want: "more than 3", limits: Limits{Files: 3}},
		"bomb":               {entries: []entry{{name: "a", text: zeros}, {name: "b", text: zeros}}, want: "more than 1500000 bytes", limits: Limits{Total: 1500000}},
		"bomb by ratio":      {entries: []entry{{name: "a", text: strings.Repeat(zeros, 18)}}, want: "for each of its own", limits: Limits{Ratio: 5}},
		"nothing":            {entries: nil, want: "no files"},
		"nothing but folder": {entries: []entry{{name: "a/", kind: tar.TypeDir}}, want: "no files"},
	} {
		t.Run(name, func(t *testing.T) {
			archives := map[string][]byte{"tar": tarOf(t, c.entries...)}
			if !c.tarOnly && len(c.entries) > 0 {
				archives["zip"] = zipOf(t, c.entries...)
			}
			for kind, a := range archives {
				outer := t.TempDir()
				dir := filepath.Join(outer, "one", "two")
				require.NoError(t, os.MkdirAll(dir, 0o755))
				_, err := extract(bytes.NewReader(a), int64(len(a)), dir, c.limits)
				require.ErrorIs(t, err, ErrArchive, kind)
				require.ErrorContains(t, err, c.want, kind)
				for _, n := range treeOf(t, outer) {
					require.True(t, n == "one" || strings.HasPrefix(n, "one/two"), n)
				}
			}
		})
	}
}

func TestDamagedArchives(t *testing.T) {
	good := tarOf(t, entry{name: "a", text: strings.Repeat("hello", 1000)})
	z := zipOf(t, entry{name: "a", text: strings.Repeat("hello", 1000)})
	flipped := bytes.Clone(good)
	flipped[len(flipped)-6] ^= 1 // in the checksum
	lying := bytes.Clone(z)
	end := bytes.LastIndex(lying, []byte("PK\x05\x06"))
	lying[end+8], lying[end+10] = 9, 9 // entries
	for name, a := range map[string][]byte{"empty": {}, "text": []byte("hello there"), "cut": good[:len(good)/2], "cut at the end": good[:len(good)-4],
		"checksum": flipped, "cut zip": z[:len(z)-8], "lying zip": lying, "gzip of text": func() []byte {
			var b bytes.Buffer
			w := gzip.NewWriter(&b)
			io.WriteString(w, "hello")
			w.Close()
			return b.Bytes()
		}()} {
		_, err := extract(bytes.NewReader(a), int64(len(a)), t.TempDir(), Limits{})
		require.ErrorIs(t, err, ErrArchive, name)
	}
}

// An archive must contain exactly one plugin, and the plugin must match its manifest.
func TestPackages(t *testing.T) {
	const sum = "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1" // of "text"
	require.Equal(t, "sha256:"+sum, digestBytes([]byte("text")))
	m := func(replace ...string) string {
		text := "name = \"demo\"\nnamespace = \"example.org/acme\"\nversion = \"1.0.0\"\nkind = \"process\"\nos = \"linux\"\narch = \"amd64\"\nsha256 = \"" + sum + "\"\n"
		return strings.NewReplacer(replace...).Replace(text)
	}
	elf, err := hex.DecodeString("7f454c4602010100000000000000000003003e0001000000" + strings.Repeat("00", 40)) // x86-64
	require.NoError(t, err)
	exe, toml := "burn-backend-demo", "burn-backend-demo.toml"
	for name, c := range map[string]struct {
		entries []entry
		want    string
		is      error
	}{
		"good":                {[]entry{{name: exe, text: "text"}, {name: toml, text: m()}}, "", nil},
		"no manifest":         {[]entry{{name: exe, text: "text"}}, "want one of each", ErrArchive},
		"no program":          {[]entry{{name: toml, text: m()}}, "want one of each", ErrArchive},
		"two programs":        {[]entry{{name: exe, text: "text"}, {name: toml, text: m()}, {name: exe + "2", text: "text"}}, "want one of each", ErrArchive},
		"name of program":     {[]entry{{name: "burn-backend-cuda", text: "text"}, {name: toml, text: m()}}, "the archive has burn-backend-cuda", ErrArchive},
		"name of manifest":    {[]entry{{name: exe, text: "text"}, {name: "burn-backend-cuda.toml", text: m()}}, "want burn-backend-demo.toml", ErrArchive},
		"name in manifest":    {[]entry{{name: exe, text: "text"}, {name: toml, text: m("\"demo\"", "\"../x\"")}}, "plugin address", ErrArchive},
		"no namespace":        {[]entry{{name: exe, text: "text"}, {name: toml, text: m("example.org/acme", "")}}, "plugin address", ErrArchive},
		"namespace leads out": {[]entry{{name: exe, text: "text"}, {name: toml, text: m("example.org/acme", "../..")}}, "plugin address", ErrArchive},
		"version":             {[]entry{{name: exe, text: "text"}, {name: toml, text: m("1.0.0", "../1")}}, "version", ErrArchive},
		"kind":                {[]entry{{name: exe, text: "text"}, {name: toml, text: m("process", "magic")}}, "kind", ErrArchive},
		"platform":            {[]entry{{name: exe, text: "text"}, {name: toml, text: m("amd64", "z80")}}, "platform", ErrArchive},
		"windows":             {[]entry{{name: exe, text: "text"}, {name: toml, text: m("linux", "windows")}}, "burn-backend-demo.exe", ErrArchive},
		"shared":              {[]entry{{name: exe, text: "text"}, {name: toml, text: m("process", "shared")}}, "burn-backend-demo.so", ErrArchive},
		"hash":                {[]entry{{name: exe, text: "tex"}, {name: toml, text: m()}}, "sha256", ErrArchive},
		"no TOML":             {[]entry{{name: exe, text: "text"}, {name: toml, text: "name = "}}, "burn-backend-demo.toml", ErrArchive},
		"unknown key":         {[]entry{{name: exe, text: "text"}, {name: toml, text: m() + "sudo = true\n"}}, "unknown key", ErrArchive},
		"built for another":   {[]entry{{name: exe, text: string(elf)}, {name: toml, text: m(sum, strings.TrimPrefix(digestBytes(elf), "sha256:"), "amd64", "arm64")}}, "built for linux_amd64", ErrPlatform},
	} {
		t.Run(name, func(t *testing.T) {
			for _, a := range [][]byte{tarOf(t, c.entries...), zipOf(t, c.entries...)} {
				p, err := unpack(bytes.NewReader(a), int64(len(a)), t.TempDir(), Limits{})
				if c.is == nil {
					require.NoError(t, err)
					require.Equal(t, "example.org/acme/demo 1.0.0 linux_amd64", p.ID.String())
					continue
				}
				require.ErrorIs(t, err, c.is)
				require.ErrorContains(t, err, c.want)
			}
		})
	}
}

// FuzzExtract checks that for any bytes extract does not panic, writes only regular files and folders, only below dir, and keeps the
// limits.
func FuzzExtract(f *testing.F) {
	syncFile = func(*os.File) error { return nil }
	f.Cleanup(func() { syncFile = (*os.File).Sync })
	f.Add(tarOf(f, entry{name: "a/b", text: "x", mode: 0o111}, entry{name: "../c", text: "y"}))
	f.Add(tarOf(f, entry{name: "l", kind: tar.TypeSymlink, link: ".."}, entry{name: "l/c", text: "y"}))
	f.Add(zipOf(f, entry{name: "a/b", text: "x"}, entry{name: "C", text: "y"}))
	f.Add(zipOf(f, entry{name: "l", kind: tar.TypeSymlink, link: "/"}))
	f.Fuzz(func(t *testing.T, a []byte) {
		outer, err := os.MkdirTemp("", "fuzz-extract-")
		require.NoError(t, err)
		defer os.RemoveAll(outer)
		dir := filepath.Join(outer, "in")
		require.NoError(t, os.Mkdir(dir, 0o755))
		l := Limits{Files: 20, Total: 1 << 20}
		x, err := extract(bytes.NewReader(a), int64(len(a)), dir, l)
		names := treeOf(t, outer)
		require.LessOrEqual(t, len(names), 21)
		total := int64(0)
		for _, n := range names {
			require.True(t, n == "in" || strings.HasPrefix(n, "in/"), n)
			info, e := os.Lstat(filepath.Join(outer, n))
			require.NoError(t, e)
			require.True(t, info.IsDir() || info.Mode().IsRegular(), n)
			if !info.IsDir() {
				total += info.Size()
			}
		}
		require.LessOrEqual(t, total, l.Total)
		if err == nil {
			require.NotEmpty(t, x)
		}
	})
}
