package text_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/data"
	"github.com/goburn/burn/data/text"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
	"github.com/stretchr/testify/require"
)

func TestTokenizers(t *testing.T) {
	var c text.Counter
	c.Add(strings.Fields("the cat and the dog and the end"))
	words, err := c.Vocabulary(1, 0, "<unk>", "<pad>")
	require.NoError(t, err)
	for _, s := range []struct {
		name string
		t    text.Tokenizer
		in   string
		ids  []int64
		out  string
		size int
	}{
		{"bytes", text.Bytes{}, "aé\x00", []int64{97, 0xc3, 0xa9, 0}, "aé\x00", 256},
		{"chars", text.Chars(text.Alphabet("cab é")), "é a?b", []int64{4, 0, 1, 2}, "é ab", 5},
		{"invalid UTF-8", text.Chars(text.Alphabet("a\xff\xfe")), "\xffa", []int64{2, 0}, "\xffa", 3},
		// the 3, and 2, then cat and dog in byte order
		{"words", text.Words(words), "the  dog\nsat", []int64{2, 5, 0}, "the dog <unk>", 7},
		{"nothing", text.Words(words), " ", []int64{}, "", 7},
	} {
		require.Equal(t, s.ids, s.t.Encode(s.in), s.name)
		require.Equal(t, s.size, s.t.Size(), s.name)
		out, err := s.t.Decode(s.ids)
		require.NoError(t, err)
		require.Equal(t, s.out, out, s.name)
		for _, id := range []int64{-1, int64(s.size)} {
			_, err := s.t.Decode([]int64{id})
			require.Error(t, err, s.name)
		}
	}
}

func TestVocabulary(t *testing.T) {
	var c text.Counter
	c.Add(strings.Fields("b b a a c <pad>"))
	v, err := c.Vocabulary(2, 0, "<pad>")
	require.NoError(t, err)
	require.Equal(t, 3, v.Len())
	v, err = c.Vocabulary(1, 2, "<pad>")
	require.NoError(t, err)
	p, err := v.Piece(1)
	require.NoError(t, err)
	require.Equal(t, []any{2, "a"}, []any{v.Len(), p})

	for _, v := range []*text.Vocabulary{v, text.Alphabet("x\xffy")} {
		b, err := json.Marshal(v)
		require.NoError(t, err)
		var again text.Vocabulary
		require.NoError(t, json.Unmarshal(b, &again))
		require.Equal(t, v, &again)
	}
	for _, s := range []string{`{"pieces":["YQ==","YQ=="],"unknown":-1}`, `{"pieces":[],"unknown":0}`, `{"pieces":1}`} {
		require.Error(t, json.Unmarshal([]byte(s), new(text.Vocabulary)), s)
	}
	_, err = text.NewVocabulary([]string{"a", "b", "a"}, "")
	require.ErrorContains(t, err, "0 and 2")
	_, err = text.NewVocabulary([]string{"a"}, "u")
	require.ErrorContains(t, err, "not in the vocabulary")
}

func FuzzRoundTrip(f *testing.F) {
	f.Add("hello\xff 世界")
	f.Fuzz(func(t *testing.T, s string) {
		for _, k := range []text.Tokenizer{text.Bytes{}, text.Chars(text.Alphabet(s))} {
			out, err := k.Decode(k.Encode(s))
			require.NoError(t, err)
			require.Equal(t, s, out)
		}
	})
}

func TestPad(t *testing.T) {
	ctx := context.Background()
	dev, err := tensor.Open(ctx, "cpu")
	require.NoError(t, err)
	defer dev.Close()
	for _, c := range []struct {
		most, width int
		ids         []int64
		mask        []bool
		lengths     []int
	}{
		{0, 3, []int64{1, 2, 3, 4, 9, 9, 9, 9, 9}, []bool{true, true, true, true, false, false, false, false, false}, []int{3, 1, 0}},
		{2, 2, []int64{1, 2, 4, 9, 9, 9}, []bool{true, true, true, false, false, false}, []int{2, 1, 0}},
	} {
		p, err := text.Pad(dev, [][]int64{{1, 2, 3}, {4}, {}}, 9, c.most)
		require.NoError(t, err)
		require.Equal(t, []int{3, c.width}, []int(p.IDs.Shape()))
		ids, err := tensor.Data[int64](ctx, p.IDs)
		require.NoError(t, err)
		mask, err := tensor.Data[bool](ctx, p.KeyMask)
		require.NoError(t, err)
		require.Equal(t, c.ids, ids)
		require.Equal(t, c.mask, mask)
		require.Equal(t, c.lengths, p.Lengths)
		p.Release()
	}
	p, err := text.Pad(dev, nil, 0, 0)
	require.NoError(t, err)
	require.Equal(t, []int{0, 0}, []int(p.IDs.Shape()))
}

func TestStream(t *testing.T) {
	s, err := text.NewStream([]int64{0, 1, 2, 3, 4, 5, 6}, 3, 2)
	require.NoError(t, err)
	got, err := data.Collect(s)
	require.NoError(t, err)
	require.Equal(t, data.Memory[text.Next]{{[]int64{0, 1, 2}, []int64{1, 2, 3}}, {[]int64{2, 3, 4}, []int64{3, 4, 5}}}, got)
	for n, want := range map[int]int{0: 0, 3: 0, 4: 1} {
		s, err := text.NewStream(make([]int64, n), 3, 1)
		require.NoError(t, err)
		require.Equal(t, want, s.Len())
	}
	_, err = text.NewStream(nil, 0, 1)
	require.Error(t, err)
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for name, s := range map[string]string{"pos/1.txt": "good", "neg/2.TXT": "bad", "neg/x.md": "no", "none/y": ""} {
		p := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, []byte(s), 0o644))
	}
	f, err := text.OpenFolder(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"neg", "none", "pos"}, f.Classes())
	got, err := data.Collect(f)
	require.NoError(t, err)
	require.Equal(t, []any{"bad", 0, "good", 2}, []any{got[0].Text, got[0].Label, got[1].Text, got[1].Label})
	f, err = text.OpenFolder(dir, "pos")
	require.NoError(t, err)
	require.Equal(t, 1, f.Len())
	_, err = f.Get(1)
	require.ErrorIs(t, err, core.ErrIndex)
	_, err = text.OpenFolder(dir, "none")
	require.ErrorContains(t, err, "no files")
	_, err = text.OpenFolder(dir, "missing")
	require.ErrorIs(t, err, os.ErrNotExist)
}
