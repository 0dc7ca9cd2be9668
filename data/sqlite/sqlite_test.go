package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/data"
	"github.com/goburn/burn/data/sqlite"
	"github.com/stretchr/testify/require"
)

type item struct {
	ID    int64   `db:"id"`
	Small uint8   `db:"order"` // a keyword of SQL
	X     float32 `db:"x \"y\""`
	Text  string
	Raw   []byte
	Yes   bool
	Maybe *float64
	Note  *string
	List  []float32
	Where struct{ A, B int }
	skip  int
	Out   func() `db:"-"`
}

var items = data.Memory[item]{
	{ID: math.MaxInt64, Small: 255, X: 1.5, Text: "é '\"; --", Raw: []byte{0, 255}, Yes: true, Maybe: new(float64), Note: new(string), List: []float32{1, 2.5}, Where: struct{ A, B int }{1, 2}},
	{ID: -1, X: float32(math.Inf(-1))},
}

func file(t testing.TB) string { return filepath.Join(t.TempDir(), "with space # and ?.db") }

func TestRoundTrip(t *testing.T) {
	ctx, p := context.Background(), file(t)
	require.NoError(t, sqlite.Store(ctx, p, "train `\"set\"", items))
	require.NoError(t, sqlite.Store(ctx, p, "test", items[1:]))
	ds, err := sqlite.Open[item](p, "train `\"set\"")
	require.NoError(t, err)
	defer func() { require.NoError(t, ds.Close()) }()
	got, err := data.Collect(ds)
	require.NoError(t, err)
	require.Equal(t, items, got)
	_, err = ds.Get(2)
	require.ErrorIs(t, err, core.ErrIndex)
	_, err = os.Stat(p)
	require.NoError(t, err, "the file has the name that was asked for")

	require.ErrorContains(t, sqlite.Store(ctx, p, "test", items), "already exists")
	type nan struct{ X float64 }
	require.NoError(t, sqlite.Store(ctx, p, "nan", data.Memory[nan]{{math.NaN()}}))
	one, err := sqlite.Open[nan](p, "nan")
	require.NoError(t, err)
	defer one.Close()
	v, err := one.Get(0)
	require.NoError(t, err)
	require.True(t, math.IsNaN(v.X))
}

// Open reads a table that another program wrote: with gaps between rowids, more columns, and other SQL types.
func TestForeignTable(t *testing.T) {
	p := file(t)
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Dir(p))+"/plain.db")
	require.NoError(t, err)
	_, err = db.Exec(`CREATE TABLE t (a INTEGER, b TEXT, c REAL);
		INSERT INTO t (rowid, a, b, c) VALUES (3, 30, 'x', 1), (7, 70, 'y', NULL), (8, 300, 'z', 2);
		CREATE TABLE empty (a INTEGER)`)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	p = filepath.Join(filepath.Dir(p), "plain.db")

	type row struct {
		A uint8  `db:"a"`
		B string `db:"b"`
	}
	ds, err := sqlite.Open[row](p, "t")
	require.NoError(t, err)
	defer ds.Close()
	require.Equal(t, 3, ds.Len())
	got, err := ds.Get(1)
	require.NoError(t, err)
	require.Equal(t, row{70, "y"}, got)
	_, err = ds.Get(2)
	require.ErrorContains(t, err, "row 8", "300 is not a uint8")

	empty, err := sqlite.Open[struct {
		A int `db:"a"`
	}](p, "empty")
	require.NoError(t, err)
	defer empty.Close()
	require.Zero(t, empty.Len())
	for _, c := range []struct{ path, table, want string }{{p, "none", "no such table"}, {p + "x", "t", "unable to open"}} {
		_, err := sqlite.Open[row](c.path, c.table)
		require.ErrorContains(t, err, c.want)
	}
	_, err = sqlite.Open[struct{ Z int }](p, "t")
	require.ErrorContains(t, err, "Z")
}

// A table is written completely or not at all.
func TestStoreFails(t *testing.T) {
	p := file(t)
	type row struct{ N uint64 }
	for name, c := range map[string]struct {
		ds  data.Dataset[row]
		ctx func() context.Context
		is  func(error) bool
	}{
		"an item":   {data.Func(5, func(i int) (row, error) { return row{}, map[bool]error{true: errors.ErrUnsupported}[i == 3] }), context.Background, func(err error) bool { return errors.Is(err, errors.ErrUnsupported) }},
		"too large": {data.Memory[row]{{1}, {1 << 63}}, context.Background, func(err error) bool { var e *data.ItemError; return errors.As(err, &e) && e.Index == 1 }},
		"cancelled": {data.Memory[row]{{1}}, func() context.Context { c, f := context.WithCancel(context.Background()); f(); return c }, func(err error) bool { return errors.Is(err, context.Canceled) }},
	} {
		err := sqlite.Store(c.ctx(), p, "t", c.ds)
		require.Error(t, err, name)
		require.True(t, c.is(err), "%s: %v", name, err)
		_, err = sqlite.Open[row](p, "t")
		require.Error(t, err, name)
	}
	require.NoError(t, sqlite.Store(context.Background(), p, "t", data.Memory[row]{{7}}))
}

func TestConcurrentReads(t *testing.T) {
	type row struct{ N int }
	p := file(t)
	require.NoError(t, sqlite.Store(context.Background(), p, "t", data.Func(200, func(i int) (row, error) { return row{i * i}, nil })))
	ds, err := sqlite.Open[row](p, "t")
	require.NoError(t, err)
	defer ds.Close()
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for w := range errs {
		wg.Go(func() {
			for i := w; i < 200; i += 3 {
				if got, err := ds.Get(i); err != nil || got.N != i*i {
					errs[w] = errors.Join(errs[w], fmt.Errorf("row %d: %v %w", i, got, err))
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
}

func BenchmarkGet(b *testing.B) {
	type row struct {
		Pixels []byte
		Label  int
	}
	p := file(b)
	require.NoError(b, sqlite.Store(context.Background(), p, "t", data.Func(2000, func(i int) (row, error) { return row{make([]byte, 784), i % 10}, nil })))
	ds, err := sqlite.Open[row](p, "t")
	require.NoError(b, err)
	defer ds.Close()
	for i := 0; b.Loop(); i++ {
		_, err := ds.Get(i * 7919 % 2000)
		require.NoError(b, err)
	}
}
