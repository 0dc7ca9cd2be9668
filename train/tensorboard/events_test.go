package tensorboard

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/train"
)

// TestGolden compares with the output of TensorBoard's own code; testdata/fixtures.py made the file.
func TestGolden(t *testing.T) {
	want, err := os.ReadFile("testdata/golden.bin")
	require.NoError(t, err)
	var got []byte
	for _, e := range []event{
		{wall: 1700000000.5, version: "brain.Event:2"},
		{wall: 1700000001.25, step: 300, started: true},
		{wall: 1700000002, step: 301, scalars: []scalar{{"batch/loss", 0.1}, {"batch/ünïcode", float32(math.Inf(1))}}},
		{wall: -1, step: 1 << 40, scalars: []scalar{{"epoch/loss", -2.5}}},
	} {
		got = append(got, record(e.marshal())...)
	}
	require.Equal(t, want, got)
}

// lengths iterates over the records of a file, checks their checksums, and returns their number.
func lengths(t *testing.T, path string) (n int) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	for len(b) > 0 {
		size := binary.LittleEndian.Uint64(b)
		require.Equal(t, masked(b[:8]), binary.LittleEndian.Uint32(b[8:]))
		content := b[12 : 12+size]
		require.Equal(t, masked(content), binary.LittleEndian.Uint32(b[12+size:]))
		b = b[16+size:]
		n++
	}
	return n
}

// play sends the events of one epoch of two batches.
func play(w *Writer, step int) {
	at := time.Unix(1700000000, 0)
	w.Event(train.Started{Step: step})
	for i := range 2 {
		w.Event(train.Stepped{Split: train.Train, Step: step + i + 1, Fresh: true, Time: at, Readings: []train.Reading{{Name: "loss", Value: 2, Last: 1}, {Name: "none", Value: math.NaN(), Last: math.NaN()}}})
		w.Event(train.Stepped{Split: train.Train, Step: step + i + 1, Time: at}) // its metrics were not read
	}
	for _, s := range []train.Split{train.Train, train.Valid} {
		w.Event(train.EpochEnded{Record: train.Record{Split: s, Step: step + 2}, Time: at, Readings: []train.Reading{{Name: "loss", Value: 3}}})
	}
	w.Event(train.Ended{})
}

func TestWriter(t *testing.T) {
	dir := t.TempDir()
	w := New(dir)
	play(w, 0)
	play(w, 2)
	require.NoError(t, w.Close())
	for split, want := range map[string][]int{"train": {4, 5}, "valid": {2, 3}} {
		files, err := filepath.Glob(filepath.Join(dir, split, "events.out.tfevents.*"))
		require.NoError(t, err)
		require.Len(t, files, 2)
		for i, f := range files {
			require.Equal(t, want[i], lengths(t, f), f)
		}
	}
	if keep := os.Getenv("BURN_TENSORBOARD_DIR"); keep != "" { // for testdata/fixtures.py to read
		require.NoError(t, os.CopyFS(keep, os.DirFS(dir)))
	}
}

func TestFailure(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	w := New(file) // a file in the place of a folder
	play(w, 0)
	require.ErrorContains(t, w.Close(), "tensorboard: ")
}
