package jsonl_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/goburn/burn/data"
	"github.com/goburn/burn/data/jsonl"
	"github.com/stretchr/testify/require"
)

type item struct {
	A int    `json:"a"`
	S string `json:"s"`
}

func TestRoundTrip(t *testing.T) {
	want := data.Memory[item]{{1, "x"}, {2, strings.Repeat("long ", 40000)}, {3, "é\n"}}
	p := filepath.Join(t.TempDir(), "items.jsonl")
	f, err := os.Create(p)
	require.NoError(t, err)
	require.NoError(t, jsonl.Write(f, want))
	require.NoError(t, f.Close())
	ds, err := jsonl.Open[item](p)
	require.NoError(t, err)
	defer ds.Close()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, i := range []int{2, 0, 1, 2} {
				got, err := ds.Get(i)
				if err != nil || got != want[i] {
					t.Errorf("item %d: %v %v", i, got, err)
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, os.Truncate(p, 3))
	_, err = ds.Get(1)
	require.ErrorContains(t, err, "was the file changed")
}

func TestLines(t *testing.T) {
	for text, want := range map[string][]int{
		"": nil, "\n\n": nil, "{\"a\":1}": {1}, "{\"a\":1}\n": {1}, "{\"a\":1}\r\n\n  \n{\"a\":2,\"b\":0}\n": {1, 2},
	} {
		ds, err := jsonl.Read[item](strings.NewReader(text))
		require.NoError(t, err)
		require.Equal(t, len(want), ds.Len(), "%q", text)
		for i, a := range want {
			got, err := ds.Get(i)
			require.NoError(t, err)
			require.Equal(t, a, got.A)
		}
		_, err = ds.Get(len(want))
		require.Error(t, err)
	}
}

func TestFaults(t *testing.T) {
	ds, err := jsonl.Read[item](strings.NewReader("{\"a\":1}\n{\"a\":\"x\"}\n{"))
	require.NoError(t, err)
	require.Equal(t, 3, ds.Len())
	_, err = ds.Get(1)
	require.ErrorContains(t, err, "item 1 at byte 8")
	_, err = ds.Get(2)
	require.Error(t, err)
	_, err = jsonl.Open[item](filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	bad := data.Func(2, func(i int) (item, error) { return item{}, errors.ErrUnsupported })
	require.ErrorIs(t, jsonl.Write(&bytes.Buffer{}, bad), errors.ErrUnsupported)
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"a\":1}\n\n{\"s\":\"x\"}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		ds, err := jsonl.Read[item](bytes.NewReader(b))
		require.NoError(t, err)
		var lines int
		for _, l := range bytes.Split(b, []byte{'\n'}) {
			if len(bytes.TrimSpace(l)) > 0 {
				lines++
			}
		}
		require.Equal(t, lines, ds.Len())
		for i := range ds.Len() {
			_, _ = ds.Get(i)
		}
	})
}
