package record

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
)

// The parts of a record.
const (
	magic     = "\x89BURNREC"
	ending    = "BURNEND\n"
	version   = 1
	chunkSize = 1 << 20
	maxHeader = 64 << 20
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	le         = binary.LittleEndian
)

type recordHeader struct {
	Metadata map[string]string `json:"metadata,omitempty"`
	Tensors  []recordTensor    `json:"tensors"`
}

type recordTensor struct {
	Name  string  `json:"name"`
	DType string  `json:"dtype"`
	Shape []int64 `json:"shape"`
}

func dims64(s []int) []int64 {
	d := make([]int64, len(s))
	for i, n := range s {
		d[i] = int64(n)
	}
	return d
}

// checksum returns the checksum of a chunk, which covers its position and its data.
func checksum(tensor int, chunk int64, data []byte) uint32 {
	var at [16]byte
	le.PutUint64(at[:], uint64(tensor))
	le.PutUint64(at[8:], uint64(chunk))
	return crc32.Update(crc32.Checksum(at[:], castagnoli), castagnoli, data)
}

func writeRecord(w io.Writer, s *source, metadata map[string]string) error {
	h := recordHeader{Metadata: metadata, Tensors: []recordTensor{}}
	for _, i := range s.infos {
		h.Tensors = append(h.Tensors, recordTensor{i.Name, i.DType.String(), dims64(i.Shape)})
	}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if len(text) > maxHeader {
		return fmt.Errorf("a header of %d bytes, want at most %d", len(text), maxHeader)
	}
	b := le.AppendUint32([]byte(magic), version)
	b = append(le.AppendUint32(b, uint32(len(text))), text...)
	if _, err := w.Write(le.AppendUint32(b, crc32.Checksum(b, castagnoli))); err != nil {
		return err
	}
	for i := range s.infos {
		data, err := s.data(i)
		if err != nil {
			return err
		}
		for k := int64(0); len(data) > 0; k++ {
			chunk := data[:min(chunkSize, len(data))]
			data = data[len(chunk):]
			if _, err := w.Write(chunk); err != nil {
				return err
			}
			if _, err := w.Write(le.AppendUint32(nil, checksum(i, k, chunk))); err != nil {
				return err
			}
		}
	}
	_, err = io.WriteString(w, ending)
	return err
}

// stored returns the size of n bytes of elements in a record, with their checksums.
func stored(n int64) int64 { return n + 4*((n+chunkSize-1)/chunkSize) }

func (r *Reader) openRecord(at io.ReaderAt, size int64) error {
	const fixed = int64(len(magic)) + 8
	head := make([]byte, fixed)
	if err := full(at, head, 0); err != nil {
		return err
	}
	n := int64(le.Uint32(head[len(magic)+4:]))
	if n > maxHeader || n > size-fixed-4 {
		return fmt.Errorf("a header of %d bytes in a file of %d, want at most %d: %w", n, size, maxHeader, ErrCorrupt)
	}
	text := make([]byte, n+4)
	if err := full(at, text, fixed); err != nil {
		return err
	}
	text, sum := text[:n], le.Uint32(text[n:])
	if got := crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, text); got != sum {
		return fmt.Errorf("header: checksum %08x, want %08x: %w", got, sum, ErrCorrupt)
	}
	if v := le.Uint32(head[len(magic):]); v != version {
		return fmt.Errorf("record version %d, want %d: update burn, or save the record again with the older one: %w", v, version, core.ErrUnsupported)
	}
	var h recordHeader
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&h); err != nil || d.InputOffset() != n {
		return fmt.Errorf("header: no JSON of the format (%v): %w", err, ErrCorrupt)
	}
	offset := fixed + n + 4
	var offsets []int64
	for _, t := range h.Tensors {
		dt, err := dtype.Parse(t.DType)
		if err != nil || dt.Class() == dtype.Storage {
			return fmt.Errorf("tensor %q of type %q: %w", t.Name, t.DType, ErrCorrupt)
		}
		s, bytes, err := sizeOf(t.Name, dt, t.Shape)
		if err != nil {
			return err
		}
		if bytes > size {
			return fmt.Errorf("tensor %q of %d bytes in a file of %d: %w", t.Name, bytes, size, ErrCorrupt)
		}
		if err := r.add(Info{t.Name, dt, s}); err != nil {
			return err
		}
		offsets = append(offsets, offset)
		if offset += stored(bytes); offset > size {
			return fmt.Errorf("tensor %q ends at byte %d of a file of %d, which was cut off: %w", t.Name, offset, size, ErrCorrupt)
		}
	}
	if want := offset + int64(len(ending)); want != size {
		return fmt.Errorf("a file of %d bytes, want %d: %w", size, want, ErrCorrupt)
	}
	end := make([]byte, len(ending))
	if err := full(at, end, offset); err != nil {
		return err
	}
	if string(end) != ending {
		return fmt.Errorf("ends with %q, want %q: %w", end, ending, ErrCorrupt)
	}
	r.format, r.metadata = Record, h.Metadata
	r.read = func(i int, dst []byte) error {
		off := offsets[i]
		var sum [4]byte
		for k := int64(0); len(dst) > 0; k++ {
			chunk := dst[:min(chunkSize, len(dst))]
			dst = dst[len(chunk):]
			if err := full(at, chunk, off); err != nil {
				return err
			}
			if err := full(at, sum[:], off+int64(len(chunk))); err != nil {
				return err
			}
			if got, want := checksum(i, k, chunk), le.Uint32(sum[:]); got != want {
				return fmt.Errorf("chunk %d, bytes %d to %d of the file: checksum %08x, want %08x: %w", k, off, off+int64(len(chunk)), got, want, ErrCorrupt)
			}
			off += int64(len(chunk)) + 4
		}
		return nil
	}
	return nil
}
