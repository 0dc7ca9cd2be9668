package wire

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/wire/internal/pb"
)

// attrs has values of every kind, special ones among them.
var attrs = op.Attrs{
	op.Int("i0", 0), op.Int("i1", -1), op.Int("i2", math.MaxInt64), op.Int("i3", math.MinInt64),
	op.Float("f0", 0.1), op.Float("f1", math.Inf(-1)), op.Float("f2", math.NaN()), op.Float("f3", math.Copysign(0, -1)),
	op.Flag("b0", true), op.Flag("b1", false),
	op.Str("s0", ""), op.Str("s1", "straße\x00\xff"),
	op.Type("d0", dtype.BF16), op.Type("d1", dtype.Bool),
	op.Ints("l0"), op.Ints("l1", 0, -1, math.MaxInt64, math.MinInt64), op.Dims("l2", shape.Of(2, 3)),
	op.Floats("m0"), op.Floats("m1", 1.5, math.NaN(), math.Inf(1)),
	op.ScalarInt("c0", -5), op.ScalarInt("c1", math.MinInt64), op.ScalarInt("c2", -1), op.ScalarFloat("c3", 2.5), op.ScalarFloat("c4", math.NaN()),
}

func code(t testing.TB, name string) op.Code {
	c, ok := op.ByName(name)
	require.True(t, ok)
	return c
}

func tid(gen uint16, n uint64) op.TensorID { return op.NewTensorID(gen, n) }

// content returns the bytes of the frame that e has encoded.
func content(t testing.TB, e *Encoder) []byte {
	f := e.Take()
	require.NotNil(t, f)
	defer f.Free()
	var out []byte
	require.NoError(t, f.Bytes(func(b []byte) error { out = append(out, b...); return nil }))
	return out
}

func decodeAll(d *Decoder, b []byte) ([]Command, error) {
	var all []Command
	d.Start(b)
	for d.More() {
		var c Command
		if err := d.Next(&c); err != nil {
			return all, err
		}
		all = append(all, c)
	}
	return all, nil
}

func equalNodes(t testing.TB, want, got op.Node) {
	require.Equal(t, want.Op, got.Op)
	require.Equal(t, want.Version, got.Version)
	require.Equal(t, want.Inputs, got.Inputs)
	require.Equal(t, want.Drop, got.Drop)
	require.Len(t, got.Outputs, len(want.Outputs))
	for i, o := range want.Outputs {
		require.Equal(t, o.ID, got.Outputs[i].ID)
		require.True(t, o.SameType(got.Outputs[i]), "%v, want %v", got.Outputs[i], o)
	}
	require.True(t, want.Attrs.Equal(got.Attrs), "%v, want %v", got.Attrs, want.Attrs)
}

func TestNodes(t *testing.T) {
	const gen = 7
	full := op.Node{Op: code(t, "matmul"), Version: 3, Inputs: []op.TensorID{tid(gen, 5), tid(gen, 1<<48-1), tid(gen, 6)}, Drop: 5,
		Outputs: []op.Desc{{ID: tid(gen, 9), DType: dtype.F16, Shape: shape.Of(1, 0, math.MaxInt32)}, {ID: tid(gen, 2), DType: dtype.U64}},
		Attrs:   attrs}
	nodes := []op.Node{full, {Op: code(t, "add"), Version: 1, Inputs: []op.TensorID{tid(gen, 1)}, Outputs: []op.Desc{{ID: tid(gen, 3), DType: dtype.F32}}}, full}
	many := op.Node{Op: code(t, "concat"), Version: 1, Drop: math.MaxUint64, Outputs: []op.Desc{{ID: tid(gen, 4), DType: dtype.I8}}}
	for i := range uint64(100) {
		many.Inputs = append(many.Inputs, tid(gen, 1+i*i))
	}
	nodes = append(nodes, many)
	e, d := NewEncoder(gen), NewDecoder(gen)
	sizes := []int{}
	for range 2 { // the second frame uses the names of the first
		for i := range nodes {
			require.NoError(t, Fits(&nodes[i]))
			e.Node(&nodes[i])
		}
		b := content(t, e)
		sizes = append(sizes, len(b))
		cs, err := decodeAll(d, b)
		require.NoError(t, err)
		require.Len(t, cs, len(nodes))
		for i := range cs {
			require.Equal(t, TagNode, cs[i].Tag)
			require.Equal(t, op.Lookup(nodes[i].Op).Name, cs[i].OpName)
			equalNodes(t, nodes[i], cs[i].Node)
		}
	}
	require.Less(t, sizes[1], sizes[0]-80, "names are sent once")
}

// TestBytes compares encodings with bytes written by hand from PROTOCOL.md, so that the encoding cannot change unnoticed.
func TestBytes(t *testing.T) {
	e := NewEncoder(0)
	e.Node(&op.Node{Op: code(t, "neg"), Version: 1, Inputs: []op.TensorID{4}, Drop: 1,
		Outputs: []op.Desc{{ID: 6, DType: dtype.F32, Shape: shape.Of(2, 300)}}, Attrs: op.Attrs{op.Int("k", -2)}})
	e.Free([]op.TensorID{6, 5})
	e.Signal()
	e.Await(9, 1)
	require.Equal(t, []byte{
		0x02, 0, 3, 'n', 'e', 'g', 1, 1, 8, 1, 1, 4, 2, 2, 2, 0xac, 0x02, 1, 0, 1, 'k', 1, 3,
		0x03, 2, 0, 1,
		0x08, 0x0d, 9, 1}, content(t, e))
	e.Node(&op.Node{Op: code(t, "neg"), Version: 1, Inputs: []op.TensorID{4}, Outputs: []op.Desc{{ID: 6, DType: dtype.F32}}})
	require.Equal(t, []byte{0x02, 1, 1, 8, 0, 1, 4, 2, 0, 0}, content(t, e))
	require.Equal(t, []byte{0, 8, 3, 'a', 'b', 'c'}, AppendError(nil, fmt.Errorf("abc%w", hidden{core.ErrStale})))
}

// hidden is an error without text.
type hidden struct{ error }

func (hidden) Error() string   { return "" }
func (h hidden) Unwrap() error { return h.error }

func TestCommands(t *testing.T) {
	const gen = 2
	ids := []op.TensorID{tid(gen, 3), tid(gen, 1), tid(gen, 70000)}
	d := op.Desc{ID: tid(gen, 8), DType: dtype.I16, Shape: shape.Of(2, 2)}
	e := NewEncoder(gen)
	e.Free(ids)
	e.Write(d, []byte("12345678"))
	donated := []bool{false, true, true}
	e.Run(4, ids, ids[:1], donated)
	e.Run(4, ids, ids[:1], nil)
	e.Read(10, ids[2], 1<<40)
	e.Signal()
	e.Wait(300, 301)
	e.Await(11, 301)
	e.Copy(d, 1<<63+1, ids[0])
	e.AllReduce(5, core.ReduceMin, ids[0], d)
	e.AllGather(5, ids[0], d)
	e.Broadcast(5, 3, ids[0], d)
	e.BeginWrite(12, d)
	dec := NewDecoder(gen)
	cs, err := decodeAll(dec, content(t, e))
	require.NoError(t, err)
	require.Equal(t, []Command{
		{Tag: TagFree, IDs: ids}, {Tag: TagWrite, Desc: d, Data: []byte("12345678")},
		{Tag: TagRun, Number: 4, IDs: ids, Outputs: ids[:1], Donated: donated}, {Tag: TagRun, Number: 4, IDs: ids, Outputs: ids[:1]},
		{Tag: TagRead, Request: 10, Desc: op.Desc{ID: ids[2]}, Size: 1 << 40}, {Tag: TagSignal},
		{Tag: TagWait, Stream: 300, Event: 301}, {Tag: TagAwait, Request: 11, Event: 301},
		{Tag: TagCopy, Desc: d, Handle: 1<<63 + 1, Source: ids[0]},
		{Tag: TagAllReduce, Group: 5, Argument: 3, Source: ids[0], Desc: d}, {Tag: TagAllGather, Group: 5, Source: ids[0], Desc: d},
		{Tag: TagBroadcast, Group: 5, Argument: 3, Source: ids[0], Desc: d},
		{Tag: TagBeginWrite, Request: 12, Desc: d}}, cs)

	p := &program.Program{Name: "p", Inputs: []op.Desc{{ID: 1, DType: dtype.F32, Shape: shape.Of(2)}}, Consts: []op.Desc{{ID: 2, DType: dtype.I64}},
		Nodes:   []op.Node{{Op: code(t, "neg"), Version: 1, Inputs: []op.TensorID{1}, Outputs: []op.Desc{{ID: 3, DType: dtype.F32, Shape: shape.Of(2)}}, Attrs: attrs}},
		Outputs: []op.TensorID{3, 1}}
	require.NoError(t, e.Define(13, 5, p, ids))
	cs, err = decodeAll(dec, content(t, e))
	require.NoError(t, err)
	require.Len(t, cs, 1)
	require.Equal(t, ids, cs[0].IDs)
	require.Equal(t, uint64(5), cs[0].Number)
	got := cs[0].Program
	require.Equal(t, []any{p.Name, p.Inputs, p.Consts, p.Outputs}, []any{got.Name, got.Inputs, got.Consts, got.Outputs})
	require.Len(t, got.Nodes, 1)
	equalNodes(t, p.Nodes[0], got.Nodes[0])

	big := &program.Program{Nodes: make([]op.Node, 1)}
	big.Nodes[0] = op.Node{Op: code(t, "neg"), Attrs: op.Attrs{op.Floats("f", make([]float64, MaxFrame/8)...)}}
	require.ErrorIs(t, e.Define(14, 6, big, nil), core.ErrUnsupported)
	require.ErrorIs(t, Fits(&big.Nodes[0]), core.ErrUnsupported)
	require.Zero(t, e.Len())

	tag, request, ok := Overtakes(CancelFrame(1 << 60))
	require.Equal(t, []any{TagCancel, uint64(1 << 60), true}, []any{tag, request, ok})
	request, size, ok := Chunk(ChunkFrame(300, []byte("abc")))
	require.Equal(t, []any{uint64(300), 3, true}, []any{request, size, ok})
	dst := make([]byte, 3)
	CopyChunk(ChunkFrame(300, []byte("abc")), dst)
	require.Equal(t, "abc", string(dst))
}

func TestQuery(t *testing.T) {
	in := []op.Desc{{ID: 44, DType: dtype.F32, Shape: shape.Of(3)}}
	n := op.Node{Op: code(t, "neg"), Version: 1, Inputs: []op.TensorID{44}, Outputs: []op.Desc{{ID: 45, DType: dtype.F32, Shape: shape.Of(3)}}, Attrs: attrs}
	q := AppendQuery(nil, &n, in)
	m, got, err := DecodeQuery(q)
	require.NoError(t, err)
	require.True(t, got[0].SameType(in[0]))
	require.True(t, m.Attrs.Equal(n.Attrs))
	in[0].ID, n.Inputs[0], n.Outputs[0].ID, n.Drop = 90, 90, 91, 1
	require.Equal(t, q, AppendQuery(nil, &n, in), "ids do not matter")
	n.Op = 60000
	_, _, err = DecodeQuery(AppendQuery(nil, &n, in))
	require.ErrorIs(t, err, core.ErrUnsupported)
}

func TestReplies(t *testing.T) {
	var p Reply
	require.NoError(t, p.Parse(OpenedFrame()))
	require.Equal(t, Reply{Tag: TagOpened}, p)
	require.NoError(t, p.Parse(DoneFrame(70, nil)))
	require.Equal(t, Reply{Tag: TagDone, Request: 70}, p)
	require.NoError(t, p.Parse(DoneFrame(70, core.ErrStale)))
	require.Equal(t, core.ErrStale, p.Err)
	require.NoError(t, p.Parse(FailFrame(core.ErrProtocol)))
	require.Equal(t, core.ErrProtocol, p.Err)
	b := NewBuffer(10)
	copy(b.Data(), "0123456789")
	f := DataFrame(5, b, 2, 6, true)
	require.NoError(t, p.Parse(f))
	require.Equal(t, []any{TagData, uint64(5), true, 4}, []any{p.Tag, p.Request, p.Last, p.Size()})
	dst := make([]byte, 4)
	p.Copy(f, dst)
	require.Equal(t, "2345", string(dst))
}

func TestErrors(t *testing.T) {
	ds := []op.Desc{{ID: tid(3, 4), DType: dtype.F32, Shape: shape.Of(2, -1)}, {}}
	for _, s := range core.Sentinels() {
		cause := fmt.Errorf("cannot: %w", s)
		fault := &op.Error{Op: "matmul", Inputs: ds, Constraint: "C2", Msg: "inner, got 3, want 4", Err: cause}
		node := &core.NodeError{Op: "matmul", Program: "step", Outputs: ds, Err: fault}
		for _, err := range []error{s, cause, fault, node, fmt.Errorf("stream 2: %w", node), errors.Join(cause, errors.New("more"))} {
			got := DecodeError(AppendError(nil, err))
			require.Equal(t, err.Error(), got.Error())
			for _, other := range core.Sentinels() {
				require.Equal(t, errors.Is(err, other), errors.Is(got, other), "%v is %v", err, other)
			}
			var wantNode, gotNode *core.NodeError
			require.Equal(t, errors.As(err, &wantNode), errors.As(got, &gotNode))
			if wantNode != nil {
				require.Equal(t, []string{wantNode.Op, wantNode.Program}, []string{gotNode.Op, gotNode.Program})
				require.Equal(t, wantNode.Outputs, gotNode.Outputs)
			}
			var wantOp, gotOp *op.Error
			require.Equal(t, errors.As(err, &wantOp), errors.As(got, &gotOp))
			if wantOp != nil {
				require.Equal(t, []any{wantOp.Op, wantOp.Inputs, wantOp.Constraint, wantOp.Msg}, []any{gotOp.Op, gotOp.Inputs, gotOp.Constraint, gotOp.Msg})
			}
		}
		if _, direct := s.(interface{ Unwrap() error }); !direct {
			require.Equal(t, s, DecodeError(AppendError(nil, s)), "a bare sentinel stays itself")
		}
	}
	require.NoError(t, DecodeError(AppendError(nil, nil)))
	require.ErrorIs(t, DecodeError(AppendError(nil, errors.New("odd"))), core.ErrKernel)
	require.ErrorIs(t, DecodeError([]byte{0, 99, 1, 'x'}), core.ErrKernel, "a sentinel of a later version")
	require.ErrorIs(t, DecodeError([]byte{9}), core.ErrProtocol)
	deep := error(core.ErrShape)
	for range 30 {
		deep = &core.NodeError{Op: "x", Err: deep}
	}
	require.ErrorIs(t, DecodeError(AppendError(nil, deep)), core.ErrShape)
	require.ErrorIs(t, DecodeError(AppendError(nil, fmt.Errorf("%w: %w", core.ErrCanceled, context.DeadlineExceeded))), core.ErrCanceled)
	long := fmt.Errorf("%s: %w", make([]byte, 1<<20), core.ErrIndex)
	require.ErrorIs(t, DecodeError(AppendError(nil, long)), core.ErrIndex)
	require.Len(t, DecodeError(AppendError(nil, long)).Error(), MaxText)
	many := &core.NodeError{Op: "split", Outputs: make([]op.Desc, 1000), Err: core.ErrIndex}
	var few *core.NodeError
	require.ErrorAs(t, DecodeError(AppendError(nil, many)), &few)
	require.Len(t, few.Outputs, MaxBlamed)
}

func TestHello(t *testing.T) {
	h := &Hello{Protocol: Range{1, 3}, Features: []string{"a"}, HostName: "h", HostVersion: "1.2",
		Config: core.Config{Threads: 5, Options: map[string]string{"k": "v"}}}
	require.Equal(t, h, helloFromProto(h.toProto()))
	w := &Welcome{Protocol: Range{1, 2}, Version: 2, Features: []string{"b"},
		Info: core.Info{Name: "n", Version: "v", Vendor: "o", Devices: []core.DeviceInfo{{Index: 1, Name: "d", Kind: "gpu", Memory: 1 << 40, Detail: "x"}}}}
	require.Equal(t, w, welcomeFromProto(w.toProto()))
	require.ErrorIs(t, welcomeFromProto((&Welcome{Protocol: Range{5, 6}, Err: core.ErrNotFound}).toProto()).Err, core.ErrNotFound)
}

func TestOpen(t *testing.T) {
	o := &Open{Handle: 1<<63 + 5, Device: 3, Generation: 65535}
	got, err := openFromProto(o.toProto())
	require.NoError(t, err)
	require.Equal(t, o, got)
	for _, bad := range []*pb.OpenRequest{{Device: -1}, {Device: 1 << 40}, {Generation: 1 << 16}} {
		_, err := openFromProto(bad)
		require.ErrorIs(t, err, core.ErrProtocol)
	}
	w := &Opened{Extensions: Extensions{Programs: true, PeerCopy: true, Selective: true, Profiling: true}, Capabilities: &core.Capabilities{
		Types: dtype.Any, Emulated: dtype.SetOf(dtype.I64), Limits: core.Limits{Rank: 8, Bytes: 1 << 33, Elements: 1 << 31, Buffers: 16},
		Deterministic: true, Features: []string{"programs"}, Ops: map[string]core.OpCapability{
			"add":    {Version: 2, Operands: []dtype.Set{dtype.Numbers, dtype.Floats}, Results: []dtype.Set{dtype.Numbers}},
			"gather": {Version: 1, Operands: []dtype.Set{dtype.Any, dtype.SetOf(dtype.I64)}, Limits: core.Limits{Rank: 5}}}}}
	opened, err := openedFromProto(w.toProto())
	require.NoError(t, err)
	require.Equal(t, w, opened)
	opened, err = openedFromProto((&Opened{Err: core.ErrNotFound}).toProto())
	require.NoError(t, err)
	require.ErrorIs(t, opened.Err, core.ErrNotFound)
	for _, bad := range []*pb.Capabilities{nil, {}, {Limits: &pb.Limits{Rank: 99}}, {Limits: &pb.Limits{Rank: 8, Elements: -1}},
		{Limits: &pb.Limits{Rank: 8, Buffers: 1 << 31}}, {Limits: &pb.Limits{Rank: 8}, Ops: []*pb.Op{{Version: 1 << 16}}}} {
		_, err := openedFromProto(&pb.OpenReply{Capabilities: bad})
		require.ErrorIs(t, err, core.ErrProtocol)
	}
}

func TestRange(t *testing.T) {
	for _, c := range []struct {
		a, b Range
		want uint32
		ok   bool
	}{
		{Range{1, 1}, Range{1, 1}, 1, true}, {Range{1, 4}, Range{2, 3}, 3, true}, {Range{2, 3}, Range{3, 9}, 3, true},
		{Range{1, 2}, Range{3, 4}, 0, false}, {Range{0, 0}, Range{0, 0}, 0, false}, {Range{3, 1}, Range{1, 3}, 0, false},
	} {
		v, ok := c.a.Newest(c.b)
		require.Equal(t, c.ok, ok, "%v %v", c.a, c.b)
		if ok {
			require.Equal(t, c.want, v)
		}
	}
	err := Mismatch("cuda", Range{4, 5}, Range{1, 2})
	require.ErrorIs(t, err, core.ErrProtocol)
	require.EqualError(t, err, "plugin cuda: protocol error: it speaks version 4 to 5, this program 1 to 2; "+
		"the program is older: upgrade burn, or install an older plugin with `burn plugin install cuda@VERSION`")
	require.ErrorContains(t, Mismatch("cuda", Range{1, 2}, Range{4, 5}), "burn plugin upgrade cuda")
}
