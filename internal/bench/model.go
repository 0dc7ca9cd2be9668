package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/onnxtest"
	tensors "github.com/goburn/burn/tensor"
)

// Model is a model on a device with its inputs uploaded. Several goroutines may call Once.
type Model struct {
	Info    *onnx.Model
	dev     *tensors.Device
	session *onnx.Session
	feed    map[string]onnx.Value
	calls   []time.Duration
}

// ModelRow is the result of one model on one device.
type ModelRow struct {
	Name  string `json:"name"`
	Batch int    `json:"batch,omitempty"`
	Input string `json:"input"` // source of the inputs: a folder, or "generated"
	// Device is the device that the model ran on.
	Device string `json:"device"`
	Stats
	PerSecond float64 `json:"per_second"` // calls per second
	// Callers is set when several goroutines ran the model concurrently.
	Callers *CallersRow `json:"callers,omitempty"`
	Error   string      `json:"error,omitempty"`
}

// OpenModel opens a model on a device with inputs. Inputs that are missing must have a default. The caller closes it.
func OpenModel(ctx context.Context, d *core.Place, m *onnx.Model, inputs map[string]onnxtest.Value) (*Model, error) {
	dev, err := tensors.On(ctx, d)
	if err != nil {
		return nil, err
	}
	p := &Model{Info: m, dev: dev, feed: map[string]onnx.Value{}}
	if p.session, err = m.Open(dev); err != nil {
		return nil, errors.Join(err, dev.Close())
	}
	for name, v := range inputs {
		if p.feed[name], err = onnxtest.Upload(ctx, dev, v); err != nil {
			return nil, errors.Join(fmt.Errorf("input %s: %w", name, err), p.Close())
		}
	}
	return p, nil
}

// Once runs the model and downloads its outputs to the host.
func (p *Model) Once(ctx context.Context) (map[string]onnxtest.Value, error) {
	results, err := p.session.Run(ctx, p.feed)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, v := range results {
			v.Release()
		}
	}()
	out := map[string]onnxtest.Value{}
	for name, v := range results {
		if out[name], err = onnxtest.Download(ctx, v); err != nil {
			return nil, fmt.Errorf("output %s: %w", name, err)
		}
	}
	return out, nil
}

// Turn runs the model for about d. The very first call is not counted, as it traces the graph.
func (p *Model) Turn(ctx context.Context, d time.Duration) error {
	if p.calls == nil {
		if _, err := p.Once(ctx); err != nil {
			return err
		}
	}
	for end := time.Now().Add(d); ; {
		start := time.Now()
		if _, err := p.Once(ctx); err != nil {
			return err
		}
		p.calls = append(p.calls, time.Since(start))
		if time.Now().After(end) {
			return nil
		}
	}
}

// Stats returns the statistics of the calls.
func (p *Model) Stats() Stats { return Summarize(p.calls) }

// Core returns the device that the model runs on.
func (p *Model) Core() core.Device { return p.dev.Core() }

// Close releases the model and its inputs, and closes the device that OpenModel opened; the backend stays open.
func (p *Model) Close() error { return errors.Join(p.session.Close(), p.dev.Close()) }

// ReadInputs reads the inputs input_N.pb of a folder in the layout of the ONNX backend tests. Inputs with a default may be
// missing.
func ReadInputs(m *onnx.Model, dir string) (map[string]onnxtest.Value, error) {
	feed := map[string]onnxtest.Value{}
	for i, in := range m.Inputs() {
		v, err := onnxtest.ReadFile(filepath.Join(dir, fmt.Sprintf("input_%d.pb", i)), in)
		if errors.Is(err, os.ErrNotExist) && in.Default {
			continue
		}
		if err != nil {
			return nil, err
		}
		feed[in.Name] = v
	}
	return feed, nil
}

// ErrBatch reports that a model fixes its first dimension to another size than the requested one.
var ErrBatch = errors.New("the model fixes its batch")

// MakeInputs generates inputs: numbers in (-1, 1] for f16, f32 and f64, zeros for other types, so that indices are valid. A first dimension
// that the model leaves open is batch (0 means 1), other open dimensions are 1.
func MakeInputs(m *onnx.Model, batch int) (map[string]onnxtest.Value, error) {
	feed, left := map[string]onnxtest.Value{}, onnx.HostLimit()
	for k, in := range m.Inputs() {
		if in.Default {
			continue
		}
		if in.Kind != onnx.TensorKind || !in.DType.Valid() || !in.Ranked {
			return nil, fmt.Errorf("input %s: %s cannot be generated, want a tensor of known type and rank: put test_data_set_0 beside the model", in.Name, in.Type())
		}
		s := make(shape.Shape, len(in.Shape))
		for i, d := range in.Shape {
			s[i] = d.Size
			switch {
			case i == 0 && batch > 0 && d.Size >= 0 && d.Size != batch:
				return nil, fmt.Errorf("input %s: %s, want %d: %w", in.Name, in.Type(), batch, ErrBatch)
			case d.Size < 0 && i == 0:
				s[i] = max(1, batch)
			case d.Size < 0:
				s[i] = 1
			}
		}
		if err := s.Check(); err != nil {
			return nil, fmt.Errorf("input %s: %w", in.Name, err)
		}
		need := 2 * int64(s.Size()) * int64(in.DType.Size()) // the zeros, then the numbers
		if left -= need; left < 0 {
			return nil, fmt.Errorf("input %s: %v%v takes %d bytes of memory on the host, more than is left of %d: %w", in.Name, in.DType, s, need, onnx.HostLimit(), core.ErrOutOfMemory)
		}
		a := onnxtest.Array{DType: in.DType, Shape: s, Data: make([]byte, s.Size()*in.DType.Size())}
		if in.DType == dtype.F32 || in.DType == dtype.F64 || in.DType == dtype.F16 {
			data, err := tensor(in.DType, Signed, s...).Data(k)
			if err != nil {
				return nil, err
			}
			a.Data = data
		}
		feed[in.Name] = onnxtest.Value{Tensor: a}
	}
	return feed, nil
}

// MeasureModel times a model, loaded from path, for about total on each device, in turns; the results must agree. It returns a
// row for each device. With batch 0 it uses the inputs in test_data_set_0 beside the model, if there are any, else generated
// ones. An error of the model is returned.
func MeasureModel(ctx context.Context, ds []*core.Place, m *onnx.Model, path string, batch int, total time.Duration) ([]ModelRow, error) {
	feed, from, err := Inputs(m, path, batch)
	if err != nil {
		return nil, err
	}
	r := ModelRow{Name: path, Batch: batch, Input: from}
	var models []*Model
	var contestants []Contestant
	var want map[string]onnxtest.Value
	for i, d := range ds {
		p, err := OpenModel(ctx, d, m, feed)
		if err != nil {
			return nil, err
		}
		defer p.Close()
		models, contestants = append(models, p), append(contestants, p)
		if len(ds) == 1 {
			break
		}
		got, err := p.Once(ctx)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			want = got
		}
		for name := range want {
			if m := onnxtest.CompareValues(name, got[name], want[name], nil); m != nil {
				return nil, fmt.Errorf("%s and %s disagree: %w", d.Spec, ds[0].Spec, m)
			}
		}
	}
	if err := Race(ctx, total, pause, contestants...); err != nil {
		return nil, err
	}
	rows := make([]ModelRow, len(models))
	for i, p := range models {
		rows[i] = r
		rows[i].Stats, rows[i].Device = p.Stats(), ds[i].Spec
		rows[i].PerSecond = 1 / rows[i].Median.Seconds()
	}
	return rows, nil
}

// Inputs returns the inputs in test_data_set_0 beside the model at path, if there are any and batch is 0, else generated ones.
// from tells their source.
func Inputs(m *onnx.Model, path string, batch int) (feed map[string]onnxtest.Value, from string, err error) {
	if dir := filepath.Join(filepath.Dir(path), "test_data_set_0"); batch == 0 && exists(dir) {
		feed, err = ReadInputs(m, dir)
		return feed, dir, err
	}
	feed, err = MakeInputs(m, batch)
	return feed, "generated", err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
