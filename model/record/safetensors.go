package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
)

// maxSafetensors is the greatest size of the header in bytes, as in the reference implementation.
const maxSafetensors = 100_000_000

const metadataKey = "__metadata__"

var safetensorTypes = map[string]dtype.DType{"F64": dtype.F64, "F32": dtype.F32, "F16": dtype.F16, "BF16": dtype.BF16, "I64": dtype.I64,
	"I32": dtype.I32, "I16": dtype.I16, "I8": dtype.I8, "U64": dtype.U64, "U32": dtype.U32, "U16": dtype.U16, "U8": dtype.U8, "BOOL": dtype.Bool}

// otherSafetensors holds the element types of safetensors that burn does not load.
var otherSafetensors = []string{"F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F6_E2M3", "F6_E3M2", "F4", "C64"}

func safetensorName(d dtype.DType) string {
	for name, t := range safetensorTypes {
		if t == d {
			return name
		}
	}
	return ""
}

type safetensor struct {
	DType   string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// writeSafetensors writes the tensors with the largest element types first, so that every tensor is aligned, and by name among
// equal types.
func writeSafetensors(w io.Writer, s *source, metadata map[string]string) error {
	order := s.sorted(func(a, b Info) int {
		return cmp.Or(cmp.Compare(b.DType.Size(), a.DType.Size()), cmp.Compare(a.Name, b.Name))
	})
	var h bytes.Buffer
	put := func(key string, v any) error {
		k, err := json.Marshal(key)
		if err != nil {
			return err
		}
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if h.Len() == 0 {
			h.WriteByte('{')
		} else {
			h.WriteByte(',')
		}
		h.Write(k)
		h.WriteByte(':')
		h.Write(text)
		return nil
	}
	if len(metadata) > 0 {
		if err := put(metadataKey, metadata); err != nil {
			return err
		}
	}
	offset := int64(0)
	for _, i := range order {
		info := s.infos[i]
		if info.Name == metadataKey {
			return fmt.Errorf("tensor %q: safetensors has that name for metadata", info.Name)
		}
		end := offset + info.Bytes()
		if err := put(info.Name, safetensor{safetensorName(info.DType), dims64(info.Shape), [2]int64{offset, end}}); err != nil {
			return err
		}
		offset = end
	}
	if h.Len() == 0 {
		h.WriteByte('{')
	}
	h.WriteByte('}')
	for h.Len()%8 != 0 {
		h.WriteByte(' ')
	}
	if h.Len() > maxSafetensors {
		return fmt.Errorf("a header of %d bytes, want at most %d", h.Len(), maxSafetensors)
	}
	if _, err := w.Write(append(le.AppendUint64(nil, uint64(h.Len())), h.Bytes()...)); err != nil {
		return err
	}
	for _, i := range order {
		data, err := s.data(i)
		if err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) openSafetensors(at io.ReaderAt, size int64) error {
	var length [8]byte
	if err := full(at, length[:], 0); err != nil {
		return err
	}
	n := le.Uint64(length[:])
	if n > maxSafetensors || int64(n) > size-8 {
		return fmt.Errorf("safetensors header of %d bytes in a file of %d, want at most %d: %w", n, size, maxSafetensors, ErrCorrupt)
	}
	text := make([]byte, n)
	if err := full(at, text, 8); err != nil {
		return err
	}
	entries, metadata, err := parseSafetensors(text)
	if err != nil {
		return fmt.Errorf("safetensors header: %w", err)
	}
	// Contents follow each other without holes or overlaps, and fill the file.
	slices.SortStableFunc(entries, func(a, b named) int {
		return cmp.Or(cmp.Compare(a.Offsets[0], b.Offsets[0]), cmp.Compare(a.Offsets[1], b.Offsets[1]))
	})
	base, end := 8+int64(n), int64(0)
	var offsets []int64
	for _, e := range entries {
		dt, ok := safetensorTypes[e.DType]
		if !ok {
			cause := ErrCorrupt
			if slices.Contains(otherSafetensors, e.DType) {
				cause = core.ErrUnsupported
			}
			return fmt.Errorf("tensor %q of type %q, want F64, F32, F16, BF16, I64 to I8, U64 to U8 or BOOL: %w", e.name, e.DType, cause)
		}
		s, bytes, err := sizeOf(e.name, dt, e.Shape)
		if err != nil {
			return err
		}
		if e.Offsets[0] != end || e.Offsets[1] < e.Offsets[0] || e.Offsets[1]-e.Offsets[0] != bytes || e.Offsets[1] > size-base {
			return fmt.Errorf("tensor %q at %v, want %d bytes from %d in %d: %w", e.name, e.Offsets, bytes, end, size-base, ErrCorrupt)
		}
		end = e.Offsets[1]
		if err := r.add(Info{e.name, dt, s}); err != nil {
			return err
		}
		offsets = append(offsets, base+e.Offsets[0])
	}
	if base+end != size {
		return fmt.Errorf("a file of %d bytes, want %d: %w", size, base+end, ErrCorrupt)
	}
	r.format, r.metadata = Safetensors, metadata
	r.read = func(i int, dst []byte) error { return full(at, dst, offsets[i]) }
	return nil
}

type named struct {
	name string
	safetensor
}

// parseSafetensors reads the header token by token, to refuse duplicate keys, which encoding/json accepts.
func parseSafetensors(text []byte) (entries []named, metadata map[string]string, err error) {
	bad := func(what string, err error) error { return fmt.Errorf("%s (%v): %w", what, err, ErrCorrupt) }
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, bad("no object", err)
	}
	for d.More() {
		t, err := d.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return nil, nil, bad("no key", err)
		}
		if key == metadataKey {
			if metadata != nil {
				return nil, nil, bad("metadata", fmt.Errorf("given twice"))
			}
			metadata = map[string]string{}
			if err := d.Decode(&metadata); err != nil {
				return nil, nil, bad("metadata", err)
			}
			continue
		}
		e := named{name: key}
		var raw struct {
			DType   *string  `json:"dtype"`
			Shape   *[]int64 `json:"shape"`
			Offsets *[]int64 `json:"data_offsets"`
		}
		if err := d.Decode(&raw); err != nil {
			return nil, nil, bad(fmt.Sprintf("tensor %q", key), err)
		}
		if raw.DType == nil || raw.Shape == nil || raw.Offsets == nil || len(*raw.Offsets) != 2 {
			return nil, nil, bad(fmt.Sprintf("tensor %q", key), fmt.Errorf("want dtype, shape and two data_offsets"))
		}
		e.DType, e.Shape, e.Offsets = *raw.DType, *raw.Shape, [2]int64(*raw.Offsets)
		entries = append(entries, e)
	}
	if _, err := d.Token(); err != nil {
		return nil, nil, bad("no end", err)
	}
	if rest := bytes.Trim(text[d.InputOffset():], " \n\t\r"); len(rest) > 0 {
		return nil, nil, bad("more after the object", fmt.Errorf("%d bytes", len(rest)))
	}
	return entries, metadata, nil
}
