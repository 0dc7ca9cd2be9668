package parquet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/data"
	"github.com/goburn/burn/data/parquet"
	lib "github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
)

type row struct {
	ID    int64     `parquet:"id"`
	Text  string    `parquet:"text"`
	Score *float64  `parquet:"score,optional"`
	Pix   []float32 `parquet:"pix,list"`
}

func rows(n int) []row {
	out := make([]row, n)
	for i := range out {
		out[i] = row{ID: int64(i * i), Text: fmt.Sprint("row ", i), Pix: []float32{float32(i), 0.5}}
		if i%3 == 0 {
			s := float64(i) / 7
			out[i].Score = &s
		}
	}
	return out
}

// file writes rows in groups of size.
func file(t testing.TB, all []row, size int) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "rows.parquet")
	f, err := os.Create(p)
	require.NoError(t, err)
	w := lib.NewGenericWriter[row](f, lib.MaxRowsPerRowGroup(int64(size)), lib.Compression(&lib.Zstd))
	_, err = w.Write(all)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
	return p
}

func TestOpen(t *testing.T) {
	all := rows(1000)
	p := file(t, all, 64)
	for _, held := range []int{0, 1, 100} {
		ds, err := parquet.Open[row](p, held)
		require.NoError(t, err)
		got, err := data.Collect(ds)
		require.NoError(t, err)
		require.Equal(t, all, []row(got))
		_, err = ds.Get(1000)
		require.ErrorIs(t, err, core.ErrIndex)
		var wg sync.WaitGroup
		errs := make(chan error, 4000)
		for w := range 4 {
			wg.Go(func() {
				for _, i := range data.Permutation(1000, 1, w)[:100] {
					if got, err := ds.Get(i); err != nil || got.ID != int64(i*i) {
						errs <- fmt.Errorf("row %d: %v %v", i, got, err)
					}
				}
			})
		}
		wg.Wait()
		close(errs)
		require.NoError(t, <-errs)
		require.NoError(t, ds.Close())
	}
	got, err := parquet.Load[row](p)
	require.NoError(t, err)
	require.Equal(t, all, []row(got))
	part, err := parquet.Load[struct {
		Text string `parquet:"text"`
	}](p)
	require.NoError(t, err)
	require.Equal(t, "row 999", part[999].Text)
}

func TestFaults(t *testing.T) {
	p := file(t, rows(10), 4)
	_, err := parquet.Open[struct {
		None int64 `parquet:"none"`
	}](p, 0)
	require.ErrorContains(t, err, `no column ["none"]`)
	_, err = parquet.Open[row](p, -1)
	require.Error(t, err)
	_, err = parquet.Open[row](p+"x", 0)
	require.ErrorIs(t, err, os.ErrNotExist)
	b, err := os.ReadFile(p)
	require.NoError(t, err)
	for _, n := range []int{0, 3, len(b) / 2, len(b) - 1} {
		require.NoError(t, os.WriteFile(p, b[:n], 0o644))
		_, err = parquet.Load[row](p)
		require.Error(t, err, "%d bytes", n)
	}
	for i := 4; i < len(b); i += 31 { // damage anywhere is an error or other values, never a panic
		bad := append([]byte{}, b...)
		bad[i] ^= 0xff
		require.NoError(t, os.WriteFile(p, bad, 0o644))
		_, _ = parquet.Load[row](p)
	}
}
