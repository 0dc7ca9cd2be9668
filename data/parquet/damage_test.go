package parquet_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/goburn/burn/data/parquet"
	lib "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/require"
)

// packed returns a file whose pages are compressed, without checksums.
func packed(t testing.TB, codec compress.Codec, v int) []byte {
	t.Helper()
	p := filepath.Join(t.TempDir(), "packed.parquet")
	f, err := os.Create(p)
	require.NoError(t, err)
	w := lib.NewGenericWriter[row](f, lib.MaxRowsPerRowGroup(64), lib.Compression(codec), lib.DataPageVersion(v))
	all := rows(100)
	for i := range all {
		all[i].Text = strings.Repeat("abcdefgh", i)
	}
	_, err = w.Write(all)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
	b, err := os.ReadFile(p)
	require.NoError(t, err)
	return b
}

// load loads a file with the contents b, and returns the number of rows and the number of bytes allocated.
func load(t testing.TB, b []byte) (n int, allocated uint64, err error) {
	t.Helper()
	p := filepath.Join(t.TempDir(), "load.parquet")
	require.NoError(t, os.WriteFile(p, b, 0o644))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	all, err := parquet.Load[row](p)
	runtime.ReadMemStats(&after)
	return len(all), after.TotalAlloc - before.TotalAlloc, err
}

// withPage changes the first page of the column "text", or its header, and returns the changed file. The new page must take as
// many bytes as the old one, so that the offsets of the following pages stay valid.
func withPage(t testing.TB, b []byte, change func(h *format.PageHeader, data []byte)) []byte {
	t.Helper()
	p := filepath.Join(t.TempDir(), "change.parquet")
	require.NoError(t, os.WriteFile(p, b, 0o644))
	f, err := os.Open(p)
	require.NoError(t, err)
	defer f.Close()
	opened, err := lib.OpenFile(f, int64(len(b)))
	require.NoError(t, err)
	var c format.ColumnMetaData
	for _, each := range opened.Metadata().RowGroups[0].Columns {
		if each.MetaData.PathInSchema[0] == "text" {
			c = each.MetaData
		}
	}
	start, end := int(c.DataPageOffset), int(c.DataPageOffset+c.TotalCompressedSize)
	protocol := new(thrift.CompactProtocol)
	var h format.PageHeader
	require.NoError(t, thrift.NewDecoder(protocol.NewReader(bytes.NewReader(b[start:end]))).Decode(&h))
	plain, err := thrift.Marshal(protocol, h)
	require.NoError(t, err)
	data := append([]byte(nil), b[start+len(plain):][:h.CompressedPageSize]...)
	h.CRC = 0
	change(&h, data)
	header, err := thrift.Marshal(protocol, h)
	require.NoError(t, err)
	out := append([]byte(nil), b...)
	room := len(plain) + len(data)
	require.LessOrEqual(t, len(header), room)
	copy(out[start:], header)
	copy(out[start+len(header):start+room], data)
	return out
}

var codecsOfLib = map[string]compress.Codec{"lz4": &lib.Lz4Raw, "snappy": &lib.Snappy, "zstd": &lib.Zstd, "gzip": &lib.Gzip, "brotli": &lib.Brotli,
	"none": &lib.Uncompressed}

func TestCodecs(t *testing.T) {
	for name, codec := range codecsOfLib {
		for v := 1; v <= 2; v++ {
			n, _, err := load(t, packed(t, codec, v))
			require.NoError(t, err, "%s, pages of version %d", name, v)
			require.Equal(t, 100, n)
		}
	}
}

// Damage to the first page of a column, of kinds that made the library allocate ever more memory, is an error, in bounded memory.
func TestBrokenPages(t *testing.T) {
	for name, codec := range codecsOfLib {
		for v := 1; v <= 2; v++ {
			b := packed(t, codec, v)
			for what, change := range map[string]func(h *format.PageHeader, data []byte){
				"zeros":  func(_ *format.PageHeader, data []byte) { clear(data) },
				"large":  func(h *format.PageHeader, _ []byte) { h.UncompressedPageSize = 1<<31 - 1 },
				"longer": func(h *format.PageHeader, _ []byte) { h.CompressedPageSize = 1<<31 - 1 },
				"many values": func(h *format.PageHeader, _ []byte) {
					h.DataPageHeader.V.NumValues, h.DataPageHeaderV2.V.NumValues = 1<<31-1, 1<<31-1
				},
			} {
				if name == "none" && what == "zeros" {
					continue // other values are allowed
				}
				_, took, err := load(t, withPage(t, b, change))
				require.Error(t, err, "%s, version %d, %s", name, v, what)
				require.Less(t, took, uint64(64<<20), "%s, version %d, %s", name, v, what)
			}
		}
	}
	_, _, err := load(t, withPage(t, packed(t, &lib.Lz4Raw, 1), func(_ *format.PageHeader, data []byte) { clear(data) }))
	require.ErrorContains(t, err, `column ["text"]: page 0: LZ4_RAW: a match 0 bytes back`)
	_, _, err = load(t, withPage(t, packed(t, &lib.Lz4Raw, 1), func(h *format.PageHeader, _ []byte) { h.UncompressedPageSize = 10 }))
	require.ErrorContains(t, err, "decompress to more than the 10 bytes")
}

// Loading a file with up to three random bytes damaged returns an error or other values, in bounded memory.
func TestMutations(t *testing.T) {
	for name, codec := range codecsOfLib {
		r := rand.New(rand.NewPCG(1, 2)) // the same damage for every codec, in whatever order they come
		b := packed(t, codec, 1)
		for range 300 {
			bad := append([]byte(nil), b...)
			for range 1 + r.IntN(3) {
				bad[r.IntN(len(bad))] = byte(r.Uint32())
			}
			_, took, _ := load(t, bad)
			require.Less(t, took, uint64(256<<20), name)
		}
	}
}

// A footer that is declared larger than the file is an error. The library would allocate as much memory.
func TestLargeFooter(t *testing.T) {
	b := packed(t, &lib.Snappy, 1)
	for _, size := range []uint32{uint32(len(b)) - 11, 0x8d000000, 1<<32 - 1} {
		bad := append([]byte(nil), b...)
		binary.LittleEndian.PutUint32(bad[len(bad)-8:], size)
		_, took, err := load(t, bad)
		require.ErrorContains(t, err, "a footer of")
		require.Less(t, took, uint64(1<<20))
	}
	_, _, err := load(t, b[:11])
	require.ErrorContains(t, err, "11 bytes, want at least 12")
}

// A footer that declares far more rows than there are is an error, in bounded memory.
func TestManyRows(t *testing.T) {
	b := packed(t, &lib.Lz4Raw, 1)
	size := int(binary.LittleEndian.Uint32(b[len(b)-8:]))
	at := len(b) - 8 - size
	protocol := new(thrift.CompactProtocol)
	var meta format.FileMetaData
	require.NoError(t, thrift.Unmarshal(protocol, b[at:len(b)-8], &meta))
	for _, n := range []int64{1 << 20, 1 << 33, 1 << 62, -1} {
		meta.RowGroups[0].NumRows = n
		footer, err := thrift.Marshal(protocol, meta)
		require.NoError(t, err)
		bad := append(append([]byte(nil), b[:at]...), footer...)
		bad = append(binary.LittleEndian.AppendUint32(bad, uint32(len(footer))), "PAR1"...)
		_, took, err := load(t, bad)
		require.Error(t, err, n)
		require.Less(t, took, uint64(64<<20), n)
	}
}
