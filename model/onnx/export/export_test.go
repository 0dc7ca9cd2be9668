package export_test

import (
	"context"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/export"
	"github.com/goburn/burn/model/onnx/pb"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

var (
	ctx    = context.Background()
	update = flag.Bool("update", false, "write testdata/*.onnx and testdata/cases.json; then run testdata/results.py")
)

// example holds the inputs of a case, and in testdata/results.json also the outputs that ONNX Runtime computes from them.
type example struct {
	Inputs  []array
	Outputs []array
}

type array struct {
	Name  string    `json:"name"`
	DType string    `json:"dtype"`
	Shape []int     `json:"shape"`
	Data  []float64 `json:"data"`
}

func (a array) tensor(t *testing.T, d *tensor.Device) *tensor.Tensor {
	dt, err := dtype.Parse(a.DType)
	require.NoError(t, err)
	return tensor.From(d, a.Data, a.Shape...).Cast(dt)
}

// wave returns numbers for an input, whose symbolic dimensions have the given size. They look random and have at most three decimals.
func wave(name string, in export.Input, size int) array {
	a := array{Name: name, DType: in.DType.String()}
	n := 1
	for _, d := range in.Shape {
		if d == export.Any {
			d = size
		}
		a.Shape = append(a.Shape, d)
		n *= d
	}
	for i := range n {
		v := math.Round(1000*math.Sin(float64(i*i)*0.7+float64(i)*1.3)) / 1000
		if in.DType.IsInt() {
			v = math.Abs(math.Round(4 * v))
		}
		a.Data = append(a.Data, v)
	}
	return a
}

func device(t *testing.T) *tensor.Device {
	d, err := tensor.Open(ctx, "cpu")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

func numbers(t *testing.T, x *tensor.Tensor) []float64 {
	b, err := x.Bytes(ctx)
	require.NoError(t, err)
	return tensor.Float64s(x.DType(), b)
}

// near checks that got equals want within a tolerance for f32; NaN equals NaN.
func near(t *testing.T, want, got []float64, what string) {
	require.Len(t, got, len(want), what)
	for i := range want {
		if math.IsNaN(want[i]) && math.IsNaN(got[i]) || want[i] == got[i] {
			continue
		}
		require.InDelta(t, want[i], got[i], 2e-5*(1+math.Abs(want[i])), "%s: element %d", what, i)
	}
}

// sameFile checks that the model in got equals the model in want, which ONNX Runtime ran. The numbers of initialisers may differ by
// rounding, which depends on the processor.
func sameFile(t *testing.T, want, got []byte) {
	var rest [2][]byte
	var numbers [2][][]float64
	for i, b := range [][]byte{want, got} {
		m, err := pb.DecodeModel(b, pb.Limits{})
		require.NoError(t, err)
		for _, init := range m.Graph.Initializers {
			dt, ok := onnx.ElementType(init.DataType)
			require.True(t, ok)
			numbers[i] = append(numbers[i], tensor.Float64s(dt, init.RawData))
			init.RawData = nil
		}
		rest[i] = m.Append(nil)
	}
	require.Equal(t, string(rest[0]), string(rest[1]), "run with -update, then the script")
	require.Len(t, numbers[1], len(numbers[0]))
	for i := range numbers[0] {
		near(t, numbers[0][i], numbers[1][i], "an initialiser")
	}
}

// TestRuntime exports each case and compares the file with the file that ONNX Runtime ran. It then runs the forward pass and the
// imported file at a size of the symbolic dimension that was not traced, and compares both with the outputs of ONNX Runtime.
func TestRuntime(t *testing.T) {
	recorded := map[string]example{}
	if !*update {
		b, err := os.ReadFile("testdata/results.json")
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(b, &recorded))
	}
	written := map[string]example{}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := device(t)
			d.Seed(5)
			forward := c.build(d)
			m, err := forward.export(c.inputs, export.Options{Name: c.name})
			require.NoError(t, err)
			file := m.Append(nil)
			path := filepath.Join("testdata", c.name+".onnx")
			const size = 4
			ex := example{}
			for _, in := range c.inputs {
				ex.Inputs = append(ex.Inputs, wave(in.Name, in, size))
			}
			if *update {
				require.NoError(t, os.WriteFile(path, file, 0o666))
				written[c.name] = ex
				return
			}
			before, err := os.ReadFile(path)
			require.NoError(t, err)
			sameFile(t, before, file)
			want, ok := recorded[c.name]
			require.True(t, ok)
			var in []*tensor.Tensor
			values := map[string]onnx.Value{}
			for i, a := range want.Inputs {
				require.Equal(t, ex.Inputs[i], a)
				in = append(in, a.tensor(t, d))
				values[a.Name] = onnx.TensorValue(in[i])
			}
			own := forward.run(in)
			require.Len(t, want.Outputs, len(own))
			model, err := onnx.Parse(file, "", onnx.Options{})
			require.NoError(t, err)
			session, err := model.Open(d)
			require.NoError(t, err)
			back, err := session.Run(ctx, values)
			require.NoError(t, err)
			for i, o := range own {
				w := want.Outputs[i]
				require.Equal(t, w.Shape, append([]int{}, o.Shape()...))
				near(t, w.Data, numbers(t, o), "forward")
				near(t, w.Data, numbers(t, back[w.Name].Tensor()), "import")
			}
			require.NoError(t, session.Close())
		})
	}
	if *update {
		b, err := json.Marshal(written)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile("testdata/cases.json", b, 0o666))
	}
}

func TestNames(t *testing.T) {
	d := device(t)
	m, err := cases[0].build(d).export(cases[0].inputs, export.Options{Outputs: []string{"logits"}, Symbol: "n", Metadata: map[string]string{"k": "v"}})
	require.NoError(t, err)
	var names []string
	for _, i := range m.Graph.Initializers {
		names = append(names, i.Name)
	}
	require.Subset(t, names, []string{"conv.weight", "conv.bias", "norm.running_mean", "head.weight"})
	require.Equal(t, "logits", m.Graph.Outputs[0].Name)
	require.Equal(t, []pb.Dim{{Kind: pb.DimParam, Param: "n"}, {Kind: pb.DimValue, Value: 3}}, m.Graph.Outputs[0].Type.Shape.Dims)
	require.Equal(t, []*pb.Property{{Key: "k", Value: "v"}}, m.Metadata)
	path := filepath.Join(t.TempDir(), "m.onnx")
	require.NoError(t, export.Save(path, m))
	_, err = onnx.Load(path, onnx.Options{})
	require.NoError(t, err)
}

// TestRefusals exports forward passes that cannot be exported.
func TestRefusals(t *testing.T) {
	d := device(t)
	type none struct{}
	x := export.Input{Name: "x", DType: dtype.F32, Shape: []int{export.Any, 3}}
	for name, c := range map[string]struct {
		f    func(m *none, x *tensor.Tensor) *tensor.Tensor
		want string
	}{
		"an op that ONNX lacks": {func(_ *none, x *tensor.Tensor) *tensor.Tensor { return x.Atan2(x) }, "atan2"},
		"random numbers":        {func(_ *none, x *tensor.Tensor) *tensor.Tensor { return x.Bernoulli(dtype.F32) }, "random_bits"},
		"reading": {func(_ *none, x *tensor.Tensor) *tensor.Tensor {
			v, err := x.Sum().Float64(ctx)
			if err != nil {
				panic(&tensor.Error{Err: err})
			}
			return x.AddScalar(v)
		}, "reads a tensor"},
		"a number that depends on the size": {func(_ *none, x *tensor.Tensor) *tensor.Tensor { return x.MulScalar(1 / float64(x.Shape()[0])) }, "not the same at all sizes"},
		"another course": {func(_ *none, x *tensor.Tensor) *tensor.Tensor {
			for range x.Shape()[0] {
				x = x.Exp()
			}
			return x
		}, "nodes at size"},
		"a constant that depends on the size": {func(_ *none, x *tensor.Tensor) *tensor.Tensor {
			return x.Add(tensor.From(x.Device(), make([]float32, x.Size()), x.Shape()...))
		}, "constant"},
		"a wrong shape":          {func(_ *none, x *tensor.Tensor) *tensor.Tensor { return x.MatMul(x) }, "matmul"},
		"a tensor of elsewhere":  {func(_ *none, x *tensor.Tensor) *tensor.Tensor { return x.Add(d.Ones(dtype.F32, 3)) }, "To"},
		"an output of elsewhere": {func(_ *none, x *tensor.Tensor) *tensor.Tensor { return d.Ones(dtype.F32, 3) }, "output 0"},
	} {
		_, err := export.Module(ctx, &none{}, c.f, x, export.Options{})
		require.ErrorContains(t, err, c.want, name)
	}
	id := func(_ *none, x *tensor.Tensor) *tensor.Tensor { return x }
	_, err := export.Module(ctx, &none{}, id, export.Input{Name: "x", DType: dtype.F32, Shape: []int{-2}}, export.Options{})
	require.ErrorContains(t, err, "want dimensions or Any")
	_, err = export.Module(ctx, &none{}, id, export.Input{DType: dtype.F32}, export.Options{})
	require.ErrorContains(t, err, "empty")
	_, err = export.Module(ctx, &none{}, id, x, export.Options{})
	require.NoError(t, err)
}
