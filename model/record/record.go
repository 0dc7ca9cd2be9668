package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/internal/wholefile"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// ErrCorrupt is wrapped by errors for files that are truncated, changed or not in the format at all. For a file of a later version, or
// with elements of a type that burn does not compute with, the error is core.ErrUnsupported instead.
var ErrCorrupt = errors.New("corrupt file")

// Format is a file format.
type Format int

// The formats. Automatic selects by the extension of the file name: .safetensors, .json, else Record.
const (
	Automatic Format = iota
	Record
	Safetensors
	JSON
)

// String returns the name of the format, such as "safetensors".
func (f Format) String() string {
	if f < 0 || int(f) >= len(formatNames) {
		return fmt.Sprintf("format(%d)", int(f))
	}
	return formatNames[f]
}

var formatNames = [...]string{"automatic", "record", "safetensors", "json"}

func (f Format) of(path string) Format {
	if f != Automatic {
		return f
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".safetensors":
		return Safetensors
	case ".json":
		return JSON
	}
	return Record
}

// Options configures saving.
type Options struct {
	Format    Format
	Precision dtype.DType       // type to convert floats to: f64, f32, f16 or bf16; 0 keeps each tensor's type
	Metadata  map[string]string // stored with the tensors
}

// Info describes a tensor in a file.
type Info struct {
	Name  string
	DType dtype.DType
	Shape shape.Shape
}

// Bytes returns the size of the elements in bytes.
func (i Info) Bytes() int64 { return int64(i.Shape.Size()) * int64(i.DType.Size()) }

// SaveModule writes the state dict of m to a file, which it replaces.
func SaveModule(ctx context.Context, path string, m any, o Options) error {
	return Save(ctx, path, nn.StateDict(m), o)
}

// LoadModule replaces the parameters and buffers of m by the tensors of a file, cast to the types in m. The report lists the tensors
// that are missing, unexpected or of another shape; each is an error unless o allows it. After an error m is unchanged.
func LoadModule(ctx context.Context, path string, m any, o nn.LoadOptions) (*nn.LoadReport, error) {
	r, err := Open(path)
	if err != nil {
		return &nn.LoadReport{}, err
	}
	report, err := nn.LoadStateDict(ctx, m, r, o)
	if cerr := r.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("record: %s: %w", path, cerr)
	}
	return report, err
}

// Save writes tensors to a file, which it replaces.
func Save(ctx context.Context, path string, entries []nn.Entry, o Options) error {
	o.Format = o.Format.of(path)
	err := wholefile.Replace(path, func(w io.Writer) error { return Write(ctx, w, entries, o) })
	switch {
	case errors.Is(err, wholefile.ErrIrregular):
		return fmt.Errorf("record: %w: write to it with record.Write", err)
	case err != nil:
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// Bytes returns the content of the file that Save would write.
func Bytes(ctx context.Context, entries []nn.Entry, o Options) ([]byte, error) {
	var b bytes.Buffer
	err := Write(ctx, &b, entries, o)
	return b.Bytes(), err
}

// Write writes tensors to w. It holds at most one of them in memory at a time, and for JSON also the text of that tensor.
func Write(ctx context.Context, w io.Writer, entries []nn.Entry, o Options) error {
	if o.Precision != dtype.Invalid && !o.Precision.IsFloat() {
		return fmt.Errorf("record: precision %v, want f64, f32, f16 or bf16: %w", o.Precision, core.ErrDType)
	}
	seen := map[string]bool{}
	s := source{ctx: ctx, entries: entries}
	for _, e := range entries {
		if seen[e.Name] || e.Name == "" {
			return fmt.Errorf("record: tensor %q: a name that is empty or given twice: %w", e.Name, core.ErrAttr)
		}
		seen[e.Name] = true
		d := e.Tensor.DType()
		if d.IsFloat() && o.Precision != dtype.Invalid {
			d = o.Precision
		}
		if d.Class() == dtype.Storage {
			return fmt.Errorf("record: tensor %q is %v: cast it to a type that arithmetic is defined on: %w", e.Name, d, core.ErrDType)
		}
		s.infos = append(s.infos, Info{e.Name, d, e.Tensor.Shape()})
	}
	var err error
	switch o.Format {
	case Automatic, Record:
		err = writeRecord(w, &s, o.Metadata)
	case Safetensors:
		err = writeSafetensors(w, &s, o.Metadata)
	case JSON:
		err = writeJSON(w, &s, o.Metadata)
	default:
		err = fmt.Errorf("%v, want record, safetensors or json: %w", o.Format, core.ErrAttr)
	}
	if err != nil {
		return fmt.Errorf("record: write: %w", err)
	}
	return nil
}

// source describes the tensors to write and reads their contents one by one.
type source struct {
	ctx     context.Context
	entries []nn.Entry
	infos   []Info
}

// data reads tensor i in the type that it is written in.
func (s *source) data(i int) ([]byte, error) {
	t := s.entries[i].Tensor
	if d := s.infos[i].DType; d != t.DType() {
		var b []byte
		var err error
		tensor.NoGrad(t.Device(), func(dev *tensor.Device) []*tensor.Tensor {
			b, err = t.In(dev).Cast(d).Bytes(s.ctx)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("tensor %q as %v: %w", s.infos[i].Name, d, err)
		}
		return b, nil
	}
	b, err := t.Bytes(s.ctx)
	if err != nil {
		return nil, fmt.Errorf("tensor %q: %w", s.infos[i].Name, err)
	}
	return b, nil
}

// sorted returns the indices of the tensors in sorted order.
func (s *source) sorted(less func(a, b Info) int) []int {
	order := make([]int, len(s.infos))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return less(s.infos[a], s.infos[b]) })
	return order
}
