package tomlfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/internal/tomlfile"
)

var kinds = []tomlfile.Kind{tomlfile.Signature, tomlfile.Manifest, tomlfile.Settings, tomlfile.Trust, tomlfile.Lock, tomlfile.Receipt, tomlfile.Index}

// fill returns head and as many copies of text as a file of kind k may contain.
func fill(k tomlfile.Kind, head, text string) string {
	return head + strings.Repeat(text, max(0, k.Bytes-len(head))/len(text))
}

// attacks returns documents for which the parser needs much more time, memory or stack than their length suggests.
func attacks(k tomlfile.Kind) map[string]string {
	var distinct, deep, inline strings.Builder
	inline.WriteString("a = {")
	for i := 0; distinct.Len() < k.Bytes-300; i++ {
		fmt.Fprintf(&distinct, "k%d = 1\n", i)
		fmt.Fprintf(&inline, "k%d=1,", i)
		fmt.Fprintf(&deep, "[a%d.b.c.d.e.f.g.h.i.j]\n", i)
	}
	long := strings.Repeat("x", k.Bytes/2)
	return map[string]string{
		"arrays":             fill(k, "a = ", "["),
		"brackets":           fill(k, "", "["),
		"arrays of tables":   fill(k, "a = ", "[{a="),
		"inline tables":      fill(k, "a = ", "{a="),
		"a dotted key":       fill(k, "a", ".a") + " = 1",
		"a dotted section":   fill(k, "[a", ".a") + "]",
		"dotted with quotes": fill(k, "a", `."."`) + " = 1",
		"dotted inline":      fill(k, "a = {a", ".a") + " = 1}",
		"after a mark":       fill(k, "\xff\xfe[a", ".a") + "]",
		"after a string":     fill(k, `s = """""" `+"\n"+`t = """ \""" " """"" # [`+"\na", ".a") + " = 1",
		"after a literal":    fill(k, "s = '\\'\nt = '''\\'''\na", ".a") + " = 1",
		"a long section":     fill(k, "["+long+"]\n", "a.b = 1\n"),
		"elements":           fill(k, "a = [", "0,") + "]",
		"empty tables":       fill(k, "a = [", "{},") + "]",
		"array of sections":  fill(k, "", "[[a]]\n"),
		"keys":               distinct.String(),
		"keys of a line":     inline.String(),
		"deep sections":      deep.String(),
		"backslashes":        fill(k, `a = """`, "\\\n"),
		"comments":           fill(k, "a = [", "#\n"),
	}
}

// decode decodes a document and returns the error, the number of bytes allocated and the duration.
func decode(k tomlfile.Kind, text string) (err error, bytes uint64, took time.Duration) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	_, err = tomlfile.Decode(k, []byte(text), &map[string]any{})
	took = time.Since(start)
	runtime.ReadMemStats(&after)
	return err, after.TotalAlloc - before.TotalAlloc, took
}

// TestAttacks checks that the memory allocated for a document is bounded by the limits of its kind, whether the document is accepted or
// refused, and that no document takes minutes.
func TestAttacks(t *testing.T) {
	for _, k := range kinds {
		for name, text := range attacks(k) {
			t.Run(k.Name+"/"+name, func(t *testing.T) {
				text = text[:min(len(text), k.Bytes)]
				err, bytes, took := decode(k, text)
				// A key allocates at most a few times the length of its path, and maps and slices of the parser. Everything else is proportional to
				// the text.
				require.Less(t, bytes, uint64(8<<20+64*k.Bytes+4096*k.Entries), "%v, %v", took, err)
				require.Less(t, took, 2*time.Minute, "quadratic time takes hours for 4 MiB; the slowest document takes a second, or half a minute with -race on a loaded machine")
			})
		}
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"size":      {strings.Repeat("#", 4097), "signature: refused: want at most 4096 bytes, got 4097"},
		"arrays":    {"a = 1\nb = " + strings.Repeat("[", 17), "line 2: refused: values nested too deeply, want at most 16 levels"},
		"key":       {strings.Repeat("a.", 16) + "a = 1", "line 1: refused: a key nested too deeply, want at most 16 parts"},
		"section":   {"[" + strings.Repeat("a.", 16) + "a]", "a key nested too deeply"},
		"together":  {"[" + strings.Repeat("a.", 7) + "a]\n" + strings.Repeat("b.", 8) + "c = 1", "line 2: refused: a key nested too deeply"},
		"long":      {strings.Repeat("k", 257) + " = 1", "a key is too long: want at most 256 bytes"},
		"long name": {`"` + strings.Repeat("k", 257) + `" = 1`, "a key is too long: want at most 256 bytes"},
		"entries":   {"a = [" + strings.Repeat("1,", 40) + "]", "too many entries, want at most 32"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tomlfile.Decode(tomlfile.Signature, []byte(c.text), &map[string]any{})
			require.ErrorIs(t, err, tomlfile.ErrRefused)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// TestLegal checks that documents of all forms that burn writes or reads are accepted.
func TestLegal(t *testing.T) {
	const text = "# a [comment] with a \"quote\n" +
		"a = \"#[[[[[[[[[[[[[[[[[[[[[[[[[\"\nb = '''\n[[[[[[[[[[[[[[[[[[[[[[[[[''''\nc = \"\"\"\\\"\"\"x\\\n \"\"\"\"\"\n" +
		"d = [1.5, 2.5, [3, 4], {x.y = 1, z = \"}\"}] # end\ne.f.\"g.h\" = 1979-05-27T07:32:00Z\n[t.\"u.v\"]\nw = \"\"\n[[list]]\nx = ''\n[[list]]\nx = 1e3\n"
	var got map[string]any
	_, err := tomlfile.Decode(tomlfile.Manifest, []byte(text), &got)
	require.NoError(t, err)
	require.Equal(t, "[[[[[[[[[[[[[[[[[[[[[[[[['", got["b"])
	require.Equal(t, "\"\"\"x\"\"", got["c"])
	require.Len(t, got["list"], 2)
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	require.NoError(t, os.WriteFile(path, []byte("12345"), 0o600))
	text, err := tomlfile.Read(path, 5)
	require.NoError(t, err)
	require.Equal(t, "12345", string(text))
	_, err = tomlfile.Read(path, 4)
	require.ErrorIs(t, err, tomlfile.ErrRefused)
	require.ErrorContains(t, err, "want at most 4 bytes, got 5")
	_, err = tomlfile.Read(dir, 4)
	require.ErrorContains(t, err, "want a regular file, got a folder")
	_, err = tomlfile.Read(filepath.Join(dir, "none"), 4)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// FuzzScan checks that every document, accepted or refused, is decoded within the memory limit.
func FuzzScan(f *testing.F) {
	k := tomlfile.Kind{Name: "fuzz", Bytes: 8 << 10, Entries: 256}
	for _, text := range attacks(k) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		err, bytes, took := decode(k, text)
		if bytes > uint64(8<<20+64*k.Bytes+4096*k.Entries) {
			t.Fatalf("%d bytes, %v, %v", bytes, took, err)
		}
	})
}

func TestLines(t *testing.T) {
	const text = "a = '''\nx = 1\n'''\n  \"b c\".d = [\n  1,\n]\n# y = 2\n'e' = {\n  z = 1 }\n[f.g]\nh = 1\n[[i]]\na = 1\n"
	require.Equal(t, map[string]int{"a": 1, "b c": 4, "e": 8, "f": 10, "i": 12}, tomlfile.Lines([]byte(text)))
	many := []byte(strings.Repeat("\n", 1<<20) + "k = 1")
	require.Equal(t, map[string]int{"k": 1<<20 + 1}, tomlfile.Lines(many))
}
