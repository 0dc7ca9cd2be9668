package costs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Repeated measurements are smoothed, and the time of an unmeasured unit is estimated from its size.
func TestTable(t *testing.T) {
	x := NewTable()
	_, ok := x.Unit("a", "u")
	require.False(t, ok)
	require.InDelta(t, 5e-9, x.Guess("a", 5), 1e-15, "a nanosecond each")
	require.Equal(t, 2.0, x.Learn("a", "u", 2, 100))
	require.InDelta(t, 2.1, x.Learn("a", "u", 3, 100), 1e-12)
	got, ok := x.Unit("a", "u")
	require.True(t, ok)
	require.InDelta(t, 2.1, got, 1e-12)
	x.Learn("a", "v", 1, 200)
	require.InDelta(t, 3, x.Guess("a", 300), 1e-12, "the rate counts the first measurement of each unit: 3 s for a size of 300")
	_, ok = x.Link("a", "b")
	require.False(t, ok)
	x.SetLink("a", "b", Line{1, 0.5})
	l, ok := x.Link("a", "b")
	require.True(t, ok)
	require.Equal(t, 3.0, l.Time(4))
	_, ok = x.Link("b", "a")
	require.False(t, ok, "each direction of a link has its own cost")
}

// Load returns the saved table, and a missing file is an empty table. Save does not write an unchanged table.
func TestStore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "costs.json")
	x := NewTable()
	require.NoError(t, x.Load(file))
	require.NoError(t, x.Save(file))
	require.NoFileExists(t, file)
	x.Learn("a", "u", 2, 1)
	x.SetLink("a", "b", Line{1, 2})
	require.NoError(t, x.Save(""), "without a name nothing is written")
	x.Learn("a", "u", 2, 1)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(filepath.Dir(file)), "file"), nil, 0o666))
	require.Error(t, x.Save(filepath.Join(filepath.Dir(filepath.Dir(file)), "file", "costs.json")), "a file in place of a folder")
	require.NoError(t, x.Save(file), "after a failed Save the table still counts as changed")
	y := NewTable()
	require.NoError(t, y.Load(file))
	require.Equal(t, x.units, y.units)
	require.Equal(t, x.links, y.links)
	require.NoError(t, os.Remove(file))
	require.NoError(t, y.Save(file))
	require.NoFileExists(t, file, "nothing has changed")
}

// FuzzLoad checks that loading any file returns an error and leaves the table empty, or results in a table of valid times.
func FuzzLoad(f *testing.F) {
	for _, s := range []string{"", "[1,2", `{"Format":"other"}`, `{"Format":"burn router costs 1","More":1}`, `{"Format":"burn router costs 1","Units":{"x":null}}`,
		`{"Format":"burn router costs 1","Units":{"x":{"y":-1}}}`, `{"Format":"burn router costs 1","Links":{"x":{"y":[0,1e300]}}}`,
		`{"Format":"burn router costs 1","Units":{"x":{"y":1e-3}},"Links":{"x":{"y":[0,1]}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(t.TempDir(), "costs.json")
		require.NoError(t, os.WriteFile(file, data, 0o666))
		x := NewTable()
		if err := x.Load(file); err != nil {
			require.ErrorIs(t, err, core.ErrProtocol)
			require.Empty(t, x.units)
			require.Empty(t, x.links)
			return
		}
		for device, units := range x.units {
			for unit, seconds := range units {
				require.GreaterOrEqual(t, seconds, 0.0)
				x.Learn(device, unit, 1, 1)
			}
			x.Learn(device, "new", 1, 1)
		}
		for from := range x.links {
			x.SetLink(from, "new", Line{})
		}
	})
}

// Program returns a positive time, and an error for an invalid program. In both cases it leaves no tensors on the device.
func TestProgram(t *testing.T) {
	ctx := context.Background()
	b := ref.New()
	defer b.Close()
	d, err := b.Open(ctx, 0)
	require.NoError(t, err)
	s, err := d.OpenStream(ctx)
	require.NoError(t, err)
	x, c := op.Desc{ID: 1, DType: dtype.F32, Shape: []int{3}}, op.Desc{ID: 2, DType: dtype.F32, Shape: []int{3}}
	build := op.NewBuilder(func() op.TensorID { return 3 })
	y := build.Do(op.Add, x, c)
	p := &program.Program{Name: "sum", Inputs: []op.Desc{x}, Consts: []op.Desc{c}, Nodes: build.Nodes, Outputs: []op.TensorID{y.ID}}
	require.Equal(t, int64(7+36), Size(p, 6))
	seconds, err := Program(ctx, d, s, p)
	require.NoError(t, err)
	require.Positive(t, seconds)
	require.NoError(t, core.Sync(ctx, s))
	m, ok := core.Extension[core.MemoryStats](d)
	require.True(t, ok)
	require.Zero(t, m.Memory().Tensors)
	p.Outputs = []op.TensorID{77}
	_, err = Program(ctx, d, s, p)
	require.Error(t, err)
	require.NoError(t, core.Sync(ctx, s))
	require.Zero(t, m.Memory().Tensors)
}

// A single run that is delayed by other work does not affect the measured time.
func TestProgramDisturbed(t *testing.T) { synctest.Test(t, programDisturbed) }

func programDisturbed(t *testing.T) {
	ctx := context.Background()
	calls := 0
	b := ref.New(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		if calls++; calls == 4 {
			time.Sleep(500 * time.Millisecond)
		}
		return ref.Eval(n, in)
	}))
	defer b.Close()
	d, err := b.Open(ctx, 0)
	require.NoError(t, err)
	s, err := d.OpenStream(ctx)
	require.NoError(t, err)
	x := op.Desc{ID: 1, DType: dtype.F32, Shape: []int{3}}
	build := op.NewBuilder(func() op.TensorID { return 2 })
	p := &program.Program{Name: "neg", Inputs: []op.Desc{x}, Outputs: []op.TensorID{build.Do(op.Neg, x).ID}}
	p.Nodes = build.Nodes
	seconds, err := Program(ctx, d, s, p)
	require.NoError(t, err)
	require.Greater(t, calls, 4)
	require.Zero(t, seconds, "the clock stands still while the others run")
}

// Link fits a line through two points, each of which is the minimum over several transfers.
func TestLink(t *testing.T) {
	calls := 0
	l, err := Link(func(d op.Desc) (float64, error) {
		calls++
		disturbed := float64(calls % 3)
		return 0.5 + 2e-9*float64(d.Bytes()) + disturbed, nil
	})
	require.NoError(t, err)
	require.InDelta(t, 0.5, l[0], 1e-9)
	require.InDelta(t, 2e-9, l[1], 1e-15)
	broken := errors.New("broken")
	_, err = Link(func(op.Desc) (float64, error) { return 0, broken })
	require.ErrorIs(t, err, broken)
}
