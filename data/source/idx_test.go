package source

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadIDX(t *testing.T) {
	good := append([]byte{0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3}, 1, 2, 3, 4, 5, 6)
	for name, file := range map[string][]byte{"plain": good, "packed": pack(t, good)} {
		x, err := ReadIDX(bytes.NewReader(file))
		require.NoError(t, err, name)
		require.Equal(t, IDX{[]int{2, 3}, []byte{1, 2, 3, 4, 5, 6}}, x)
	}
	packed := pack(t, good)
	for name, c := range map[string]struct {
		file []byte
		text string
	}{
		"empty":            {nil, "0 bytes"},
		"another magic":    {[]byte("PNG and more"), "magic number 0x504e4720"},
		"floats":           {[]byte{0, 0, 13, 1, 0, 0, 0, 0}, "magic number 0x00000d01"},
		"no dimensions":    {[]byte{0, 0, 8, 0}, "magic"},
		"half a dimension": {good[:9], "ends within"},
		"truncated":        {good[:len(good)-1], "5 elements, want 6"},
		"too long":         {append(bytes.Clone(good), 0), "7 elements, want 6"},
		"huge":             {[]byte{0, 0, 8, 2, 0x7f, 255, 255, 255, 0x7f, 255, 255, 255}, "more than"},
		"truncated gzip":   {packed[:len(packed)-6], "unexpected EOF"},
		"damaged gzip":     {append(bytes.Clone(packed[:10]), 0xff, 0xff, 0xff), "gzip"},
	} {
		_, err := ReadIDX(bytes.NewReader(c.file))
		require.Error(t, err, name)
		if name != "damaged gzip" {
			require.ErrorContains(t, err, c.text, name)
		}
	}
}

func FuzzReadIDX(f *testing.F) {
	f.Add([]byte{0, 0, 8, 1, 0, 0, 0, 2, 7, 9})
	f.Add([]byte{0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 5})
	f.Add(pack(f, []byte{0, 0, 8, 1, 0, 0, 0, 0}))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := ReadIDX(bytes.NewReader(b))
		if err != nil {
			return
		}
		size, head := 1, []byte{0, 0, 8, byte(len(x.Dims))}
		for _, d := range x.Dims {
			size *= d
			head = binary.BigEndian.AppendUint32(head, uint32(d))
		}
		require.Len(t, x.Data, size)
		again, err := ReadIDX(bytes.NewReader(append(head, x.Data...)))
		require.NoError(t, err)
		require.True(t, bytes.Equal(x.Data, again.Data))
	})
}

// record returns one image of CIFAR's format: labels, then three planes of one value each.
func record(labels []byte, r, g, b byte) []byte {
	out := bytes.Clone(labels)
	for _, v := range []byte{r, g, b} {
		out = append(out, bytes.Repeat([]byte{v}, 1024)...)
	}
	return out
}

func TestCIFARRecords(t *testing.T) {
	s := &Images{Channels: 3, Height: 32, Width: 32, Classes: []string{"a", "b", "c"}}
	require.NoError(t, s.append(append(record([]byte{9, 2}, 10, 20, 30), record([]byte{9, 1}, 40, 50, 60)...), 2))
	require.NoError(t, s.check())
	require.Equal(t, 2, s.Len())
	p, err := s.Get(1)
	require.NoError(t, err)
	require.Equal(t, 1, p.Label, "the last label is the class")
	require.Equal(t, []byte{40, 50, 60}, []byte{p.Pixels[0], p.Pixels[1024], p.Pixels[2048]})
	_, err = s.Get(2)
	require.Error(t, err)
	require.ErrorContains(t, s.append(make([]byte, 3073), 2), "multiple of 3074")
	require.NoError(t, s.append(record([]byte{0, 3}, 0, 0, 0), 2))
	require.ErrorContains(t, s.check(), "label 3, want 0 to 2")
}

func FuzzCIFAR(f *testing.F) {
	f.Add(record([]byte{1}, 1, 2, 3), 1)
	f.Add(record([]byte{1, 2}, 1, 2, 3), 2)
	f.Fuzz(func(t *testing.T, b []byte, labels int) {
		labels = 1 + labels&1
		s := &Images{Channels: 3, Height: 32, Width: 32, Classes: make([]string, 100)}
		if s.append(b, labels) != nil || s.check() != nil {
			return
		}
		require.Equal(t, len(b)/(3072+labels), s.Len())
		for i := range s.Len() {
			p, err := s.Get(i)
			require.NoError(t, err)
			require.Less(t, p.Label, 100)
		}
	})
}

func archive(t testing.TB, files map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, content := range files {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o644}))
		_, err := w.Write(content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return pack(t, b.Bytes())
}

func TestUnarchive(t *testing.T) {
	content := record([]byte{1}, 1, 2, 3)
	want := []file{{name: "one.bin", sum: sum(content)}}
	files, err := unarchive(archive(t, map[string][]byte{"folder/one.bin": content, "folder/readme": nil}), want)
	require.NoError(t, err)
	require.Equal(t, content, files["one.bin"])
	_, err = unarchive(archive(t, map[string][]byte{"folder/one.bin": content[1:]}), want)
	require.ErrorIs(t, err, ErrChecksum)
	_, err = unarchive(archive(t, nil), want)
	require.ErrorContains(t, err, "no one.bin")
	_, err = unarchive([]byte("x"), want)
	require.ErrorContains(t, err, "gzip")
	whole := archive(t, map[string][]byte{"one.bin": content})
	_, err = unarchive(whole[:len(whole)/2], want)
	require.Error(t, err)
}

func TestReadArticles(t *testing.T) {
	got, err := ReadArticles(strings.NewReader("\"3\",\"A title\",\"Some \"\"text\"\", here\"\n\"1\",\"B\",\"two\nlines\"\n"), 4)
	require.NoError(t, err)
	require.Equal(t, Article{"A title", "Some \"text\", here", 2}, got[0])
	require.Equal(t, Article{"B", "two\nlines", 0}, got[1])
	for text, want := range map[string]string{"5,a,b\n": `line 1: class "5", want 1 to 4`, "0,a,b\n": "class", "x,a,b\n": "class", "1,a\n": "fields"} {
		_, err := ReadArticles(strings.NewReader(text), 4)
		require.ErrorContains(t, err, want)
	}
	_, err = AGNews("/nowhere/train.csv")
	require.ErrorContains(t, err, "give the path")
}
