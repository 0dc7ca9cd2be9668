package checkpoint

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// names are the element types of the safetensors format.
var names = map[dtype.DType]string{
	dtype.F64: "F64", dtype.F32: "F32", dtype.F16: "F16", dtype.BF16: "BF16", dtype.I64: "I64", dtype.I32: "I32", dtype.I16: "I16",
	dtype.I8: "I8", dtype.U64: "U64", dtype.U32: "U32", dtype.U16: "U16", dtype.U8: "U8", dtype.Bool: "BOOL",
}

var types = func() map[string]dtype.DType {
	m := map[string]dtype.DType{}
	for d, n := range names {
		m[n] = d
	}
	return m
}()

type entry struct {
	DType   string    `json:"dtype"`
	Shape   []int     `json:"shape"`
	Offsets [2]uint64 `json:"data_offsets"`
}

// maxHeader is the greatest header that the format allows, in bytes.
const maxHeader = 100 << 20

// encode writes tensors in the safetensors format: the length of the header (u64), a JSON header, the data.
func encode(w io.Writer, tensors []Tensor) error {
	header := make(map[string]entry, len(tensors))
	var at uint64
	for _, t := range tensors {
		name, ok := names[t.DType]
		if !ok {
			return fmt.Errorf("checkpoint: %s is %v, which safetensors has no name for", t.Name, t.DType)
		}
		if _, twice := header[t.Name]; twice {
			return fmt.Errorf("checkpoint: two tensors are named %s", t.Name)
		}
		end := at + uint64(len(t.Data))
		header[t.Name] = entry{name, append([]int{}, t.Shape...), [2]uint64{at, end}}
		at = end
	}
	h, err := json.Marshal(header)
	if err != nil {
		return err
	}
	for len(h)%8 != 0 { // data is aligned
		h = append(h, ' ')
	}
	if _, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(h)))); err != nil {
		return err
	}
	if _, err := w.Write(h); err != nil {
		return err
	}
	for _, t := range tensors {
		if _, err := w.Write(t.Data); err != nil {
			return err
		}
	}
	return nil
}

// decode reads what encode writes, in no order. The data stays that of file.
func decode(file []byte) ([]Tensor, error) {
	if len(file) < 8 {
		return nil, fmt.Errorf("checkpoint: %d bytes, want a header", len(file))
	}
	n := binary.LittleEndian.Uint64(file)
	if n > maxHeader || n > uint64(len(file)-8) {
		return nil, fmt.Errorf("checkpoint: a header of %d bytes in a file of %d", n, len(file))
	}
	var header map[string]json.RawMessage
	if err := json.Unmarshal(file[8:8+n], &header); err != nil {
		return nil, fmt.Errorf("checkpoint: header: %w", err)
	}
	data := file[8+n:]
	out := make([]Tensor, 0, len(header))
	for name, raw := range header {
		if name == "__metadata__" {
			continue
		}
		var e entry
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, fmt.Errorf("checkpoint: header of %s: %w", name, err)
		}
		d, ok := types[e.DType]
		lo, hi := e.Offsets[0], e.Offsets[1]
		if !ok || lo > hi || hi > uint64(len(data)) {
			return nil, fmt.Errorf("checkpoint: %s: type %q at %d to %d of %d bytes", name, e.DType, lo, hi, len(data))
		}
		if err := shape.Shape(e.Shape).Check(); err != nil {
			return nil, fmt.Errorf("checkpoint: %s: %w", name, err)
		}
		if want := (op.Desc{DType: d, Shape: e.Shape}).Bytes(); want < 0 || want > math.MaxInt64/2 || uint64(want) != hi-lo {
			return nil, fmt.Errorf("checkpoint: %s: %d bytes for %s%v", name, hi-lo, e.DType, e.Shape)
		}
		out = append(out, Tensor{name, d, e.Shape, data[lo:hi:hi]})
	}
	return out, nil
}
