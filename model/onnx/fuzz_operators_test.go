package onnx

import (
	"math"
	"slices"
	"strings"
	"testing"

	slow "github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/model/onnx/pb"
	"github.com/goburn/burn/tensor"
)

// bytesOf consumes the fuzzer's bytes from the front. After their end it returns zeros.
type bytesOf []byte

func (b *bytesOf) next() int {
	if len(*b) == 0 {
		return 0
	}
	v := (*b)[0]
	*b = (*b)[1:]
	return int(v)
}

// number returns mostly small numbers, and sometimes extreme ones.
func (b *bytesOf) number() int64 {
	switch v := b.next(); v {
	case 255:
		return math.MaxInt64
	case 254:
		return math.MinInt64
	case 253:
		return math.MaxInt32
	default:
		return int64(v%12) - 4
	}
}

func (b *bytesOf) numbers() []int64 {
	l := make([]int64, b.next()%5)
	for i := range l {
		l[i] = b.number()
	}
	return l
}

var fuzzTypes = []pb.DataType{pb.Float, pb.Int64, pb.Bool, pb.Int32, pb.Uint8, pb.Double, pb.Float16, pb.Int8}

func (b *bytesOf) tensor() *pb.Tensor {
	p := &pb.Tensor{DataType: fuzzTypes[b.next()%len(fuzzTypes)], Dims: []int64{}}
	size := 1
	for range b.next() % 5 {
		d := b.next() % 4
		p.Dims, size = append(p.Dims, int64(d)), size*d
	}
	p.RawData = []byte{}
	for range size {
		p.RawData = appendInt(p.RawData, elementTypes[p.DataType], b.number())
	}
	return p
}

var fuzzAttrs = []struct {
	name string
	kind pb.AttributeType
}{
	{"axis", pb.AttrInt}, {"axes", pb.AttrInts}, {"keepdims", pb.AttrInt}, {"starts", pb.AttrInts}, {"ends", pb.AttrInts},
	{"pads", pb.AttrInts}, {"kernel_shape", pb.AttrInts}, {"strides", pb.AttrInts}, {"dilations", pb.AttrInts}, {"group", pb.AttrInt},
	{"split", pb.AttrInts}, {"num_outputs", pb.AttrInt}, {"k", pb.AttrInt}, {"perm", pb.AttrInts}, {"shape", pb.AttrInts},
	{"to", pb.AttrInt}, {"dtype", pb.AttrInt}, {"blocksize", pb.AttrInt}, {"alpha", pb.AttrFloat}, {"batch_dims", pb.AttrInt},
	{"start", pb.AttrInt}, {"end", pb.AttrInt}, {"sample_size", pb.AttrInt}, {"new_axis", pb.AttrInt}, {"hidden_size", pb.AttrInt},
	{"time_axis", pb.AttrInt}, {"batch_axis", pb.AttrInt}, {"num_groups", pb.AttrInt}, {"num_heads", pb.AttrInt}, {"size", pb.AttrInt},
	{"output_height", pb.AttrInt}, {"ceil_mode", pb.AttrInt}, {"output_padding", pb.AttrInts}, {"value_ints", pb.AttrInts},
	{"allowzero", pb.AttrInt}, {"noop_with_empty_axes", pb.AttrInt}, {"mode", pb.AttrString}, {"reduction", pb.AttrString},
}

var fuzzWords = []string{"reflect", "edge", "wrap", "constant", "add", "max", "linear", "cubic", "none", "circular"}

func (b *bytesOf) attribute() *pb.Attribute {
	f := fuzzAttrs[b.next()%len(fuzzAttrs)]
	a := &pb.Attribute{Name: f.name, Type: f.kind}
	switch f.kind {
	case pb.AttrInt:
		a.I = b.number()
	case pb.AttrInts:
		a.Ints = b.numbers()
	case pb.AttrFloat:
		a.F = float32(b.number())
	case pb.AttrString:
		a.S = []byte(fuzzWords[b.next()%len(fuzzWords)])
	}
	return a
}

// operatorNames returns the names of the operators of the default domain.
func operatorNames() []string {
	var names []string
	for k := range registry {
		if k.domain == "" {
			names = append(names, k.op)
		}
	}
	slices.Sort(names)
	return names
}

// fuzzGraph returns a model of one node of any operator, whose operands are inputs or constants.
func fuzzGraph(b *bytesOf, names []string) (*pb.Model, map[string]*pb.Tensor) {
	n := &pb.Node{OpType: names[(b.next()|b.next()<<8)%len(names)]}
	g := &pb.Graph{Name: "g", Nodes: []*pb.Node{n}, Outputs: []*pb.ValueInfo{{Name: "y0"}}}
	m := &pb.Model{IRVersion: 10, Graph: g, OpsetImports: []*pb.OperatorSetID{{Version: int64(MinOpset + b.next()%(MaxOpset-MinOpset+1))}}}
	feed := map[string]*pb.Tensor{}
	for i := range b.next() % 6 {
		name := string(rune('a' + i))
		switch b.next() % 5 {
		case 0:
			name = ""
		case 1, 2:
			p := b.tensor()
			p.Name = name
			g.Initializers = append(g.Initializers, p)
		default:
			feed[name] = b.tensor()
			g.Inputs = append(g.Inputs, &pb.ValueInfo{Name: name})
		}
		n.Inputs = append(n.Inputs, name)
	}
	for i := range 1 + b.next()%3 {
		n.Outputs = append(n.Outputs, "y"+string(rune('0'+i)))
	}
	for range b.next() % 5 {
		if a := b.attribute(); n.Attribute(a.Name) == nil {
			n.Attributes = append(n.Attributes, a)
		}
	}
	return m, feed
}

// FuzzOperators runs one node with any operands and attributes. It must compute a result or return an error.
func FuzzOperators(f *testing.F) {
	names := operatorNames()
	for i := range names {
		f.Add([]byte{byte(i), byte(i >> 8), 10, 2, 1, 0, 2, 2, 3, 5, 6, 7, 8, 9, 10, 3, 1, 1, 2, 4, 5, 0, 1, 0, 4})
		f.Add([]byte{byte(i), byte(i >> 8), 11, 3, 3, 0, 3, 1, 2, 3, 9, 8, 7, 6, 5, 4, 1, 1, 1, 1, 5, 1, 1, 1, 1, 255, 0, 2, 1, 3, 3, 4, 255, 254})
	}
	dev, err := core.OpenPlace("fuzz", core.Config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = dev.Close() })
	f.Fuzz(func(t *testing.T, data []byte) {
		b := bytesOf(data)
		proto, feed := fuzzGraph(&b, names)
		m, err := Parse(proto.Append(nil), "", Options{MaxTensorBytes: 1 << 16, MaxHostBytes: 1 << 24, MaxNodes: 64, MaxIterations: 8})
		if err != nil {
			return
		}
		d, err := tensor.On(t.Context(), dev)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		s, err := m.Open(d)
		if err != nil {
			return
		}
		defer s.Close()
		in := map[string]Value{}
		for name, p := range feed {
			x, err := d.FromBytes(t.Context(), elementTypes[p.DataType], dimsOf(p), p.RawData)
			if err != nil {
				t.Fatal(err)
			}
			in[name] = TensorValue(x)
		}
		for range 2 {
			out, err := s.Run(t.Context(), in)
			if err == nil {
				for _, v := range out {
					v.each(func(x *tensor.Tensor) {
						if _, e := x.Bytes(t.Context()); e != nil {
							err = e
						}
					})
				}
			}
			if err != nil && (strings.Contains(err.Error(), "panic") || strings.Contains(err.Error(), "internal")) {
				t.Fatalf("%v: %v", proto.Graph.Nodes[0], err)
			}
		}
	})
}

func dimsOf(p *pb.Tensor) []int {
	dims := make([]int, len(p.Dims))
	for i, d := range p.Dims {
		dims[i] = int(d)
	}
	return dims
}

func init() {
	core.Register("fuzz", func(core.Config) (core.Backend, error) { return slow.New(), nil })
	debugPanics = true
}
