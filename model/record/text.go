package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
)

// textFormat identifies a JSON file as a record.
const textFormat = "burn-record"

// maxText is the greatest size of a JSON file that is read: the format is for small models.
const maxText = 1 << 30

type textRecord struct {
	Format   string            `json:"format"`
	Version  int               `json:"version"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Tensors  []textTensor      `json:"tensors"`
}

type textTensor struct {
	recordTensor
	Data []json.RawMessage `json:"data"`
}

// writeJSON writes one line per tensor. Floats are the shortest decimal numbers that read back equal, as f32 for f16 and bf16; NaN and
// infinities are strings.
func writeJSON(w io.Writer, s *source, metadata map[string]string) error {
	if metadata == nil {
		metadata = map[string]string{}
	}
	m, err := json.Marshal(metadata)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "{\"format\": %q, \"version\": %d, \"metadata\": %s, \"tensors\": [", textFormat, version, m); err != nil {
		return err
	}
	for i, info := range s.infos {
		data, err := s.data(i)
		if err != nil {
			return err
		}
		name, err := json.Marshal(info.Name)
		if err != nil {
			return err
		}
		shape, err := json.Marshal(dims64(info.Shape))
		if err != nil {
			return err
		}
		var b []byte
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "\n  {\"name\": %s, \"dtype\": %q, \"shape\": %s, \"data\": [", name, info.DType, shape)
		size := info.DType.Size()
		for k := 0; k < len(data); k += size {
			if k > 0 {
				b = append(b, ", "...)
			}
			b = appendElement(b, info.DType, data[k:k+size])
		}
		if _, err := w.Write(append(b, "]}"...)); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, "\n]}\n")
	return err
}

func appendElement(b []byte, d dtype.DType, e []byte) []byte {
	switch d {
	case dtype.F64:
		return appendFloat(b, math.Float64frombits(le.Uint64(e)), 64)
	case dtype.F32:
		return appendFloat(b, float64(math.Float32frombits(le.Uint32(e))), 32)
	case dtype.F16:
		return appendFloat(b, float64(dtype.Float16(le.Uint16(e)).Float32()), 32)
	case dtype.BF16:
		return appendFloat(b, float64(dtype.BFloat16(le.Uint16(e)).Float32()), 32)
	}
	v := uint64(0)
	for i, c := range e {
		v |= uint64(c) << (8 * i)
	}
	if d.Class() == dtype.Signed {
		shift := 64 - 8*len(e)
		return strconv.AppendInt(b, int64(v<<shift)>>shift, 10)
	}
	return strconv.AppendUint(b, v, 10)
}

func appendFloat(b []byte, v float64, bits int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.AppendQuote(b, strconv.FormatFloat(v, 'g', -1, 64))
	}
	return strconv.AppendFloat(b, v, 'g', -1, bits)
}

func (r *Reader) openJSON(at io.ReaderAt, size int64) error {
	if size > maxText {
		return fmt.Errorf("JSON of %d bytes, want at most %d: save large models as records: %w", size, maxText, ErrCorrupt)
	}
	text := make([]byte, size)
	if err := full(at, text, 0); err != nil {
		return err
	}
	var t textRecord
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&t); err != nil {
		return fmt.Errorf("JSON: %v: %w", err, ErrCorrupt)
	}
	if t.Format != textFormat || t.Version != version || len(bytes.TrimSpace(text[d.InputOffset():])) > 0 {
		cause := ErrCorrupt
		if t.Format == textFormat && t.Version > version {
			cause = core.ErrUnsupported
		}
		return fmt.Errorf("JSON of format %q version %d, want %q version %d alone: %w", t.Format, t.Version, textFormat, version, cause)
	}
	var contents [][]byte
	for _, e := range t.Tensors {
		dt, err := dtype.Parse(e.DType)
		if err != nil || dt.Class() == dtype.Storage {
			return fmt.Errorf("tensor %q of type %q: %w", e.Name, e.DType, ErrCorrupt)
		}
		s, n, err := sizeOf(e.Name, dt, e.Shape)
		if err != nil {
			return err
		}
		if n != int64(len(e.Data))*int64(dt.Size()) {
			return fmt.Errorf("tensor %q has %d elements, want the %d of shape %v: %w", e.Name, len(e.Data), n/int64(dt.Size()), s, ErrCorrupt)
		}
		b := make([]byte, 0, n)
		for k, raw := range e.Data {
			if b, err = parseElement(b, dt, raw); err != nil {
				return fmt.Errorf("tensor %q: element %d: %w", e.Name, k, err)
			}
		}
		if err := r.add(Info{e.Name, dt, s}); err != nil {
			return err
		}
		contents = append(contents, b)
	}
	r.format, r.metadata = JSON, t.Metadata
	r.read = func(i int, dst []byte) error { copy(dst, contents[i]); return nil }
	return nil
}

func parseElement(b []byte, d dtype.DType, raw []byte) ([]byte, error) {
	bad := func() ([]byte, error) { return nil, fmt.Errorf("%.40q is no %v: %w", raw, d, ErrCorrupt) }
	text := string(raw)
	bits := 8 * d.Size()
	if d.IsFloat() {
		if text == `"NaN"` || text == `"+Inf"` || text == `"-Inf"` {
			text = text[1 : len(text)-1]
		}
		if d == dtype.F32 { // rounded once, from the text
			v, err := strconv.ParseFloat(text, 32)
			if err != nil {
				return bad()
			}
			return le.AppendUint32(b, math.Float32bits(float32(v))), nil
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return bad()
		}
		if d == dtype.F64 {
			return le.AppendUint64(b, math.Float64bits(v)), nil
		}
		half := uint16(dtype.BFloat16From64(v))
		rounded := float64(dtype.BFloat16(half).Float32())
		if d == dtype.F16 {
			half = uint16(dtype.Float16From64(v))
			rounded = float64(dtype.Float16(half).Float32())
		}
		if math.IsInf(rounded, 0) && !math.IsInf(v, 0) {
			return bad()
		}
		return le.AppendUint16(b, half), nil
	}
	var u uint64
	var err error
	if d.Class() == dtype.Signed {
		var v int64
		v, err = strconv.ParseInt(text, 10, bits)
		u = uint64(v)
	} else {
		u, err = strconv.ParseUint(text, 10, bits)
	}
	if err != nil || d == dtype.Bool && u > 1 {
		return bad()
	}
	for i := range d.Size() {
		b = append(b, byte(u>>(8*i)))
	}
	return b, nil
}
