package wire

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/shape"
)

// written is a frame written by hand by the layout of PROTOCOL.md.
type written []byte

func (w written) u(v uint64) written    { return binary.AppendUvarint(w, v) }
func (w written) b(b ...byte) written   { return append(w, b...) }
func (w written) text(s string) written { return append(w.u(uint64(len(s))), s...) }
func (w written) many(n int, f func(written, int) written) written {
	for i := range n {
		w = f(w, i)
	}
	return w
}

// node begins NODE neg version 1 without inputs and outputs; attributes follow.
func node() written { return written{0x02, 0}.text("neg").u(1).b(0, 0, 0) }

// TestLimits checks that a frame at each limit of the protocol is read, and that one beyond it is refused with an error that names the
// limit.
func TestLimits(t *testing.T) {
	name := func(n int) string { return strings.Repeat("n", n) }
	attr := func(w written, i int) written { return w.b(0).text("a"+name(1+i/128)+string(rune(i%128))).b(3, 1) }
	for _, c := range []struct {
		what string
		make func(n int) written
		most int
		want string
	}{
		{"name of an op", func(n int) written { return written{0x02, 0}.text(name(n)).u(1).b(0, 0, 0, 0) }, MaxName, "text of 257 bytes, at most 256"},
		{"name of an attribute", func(n int) written { return node().u(1).b(0).text(name(n)).b(3, 1) }, MaxName, "text of 257 bytes, at most 256"},
		{"string", func(n int) written { return node().u(1).b(0).text("a").b(4).text(name(n)) }, MaxText, "text of 65537 bytes, at most 65536"},
		{"attributes", func(n int) written { return node().u(uint64(n)).many(n, attr) }, MaxAttrs, "257 attributes, at most 256"},
		{"version of an op", func(n int) written { return written{0x02, 0}.text("neg").u(uint64(n)).b(0, 0, 0, 0) }, math.MaxUint16, "version 65536, at most 65535"},
		{"inline data", func(n int) written { return append(written{0x04, 2, 12, 1}.u(uint64(n)), make([]byte, n)...) }, MaxInline, "write of 65537 bytes within a batch, at most 65536"},
		{"rank", func(n int) written {
			return written{0x05, 1, 2, 2}.b(byte(n)).many(n, func(w written, _ int) written { return w.u(1) })
		}, shape.MaxRank, "rank 9, at most 8"},
		{"name of a program", func(n int) written { return written{0x0a, 1, 1, 0}.text(name(n)).b(0, 0, 0, 0) }, MaxText, "text of 65537 bytes, at most 65536"},
		{"inputs in the drop mask", func(n int) written {
			return written{0x02, 0}.text("neg").u(1).u(5).b(2, 2, 2, 2, 2).u(1<<n-1).b(0, 0)
		}, 5, "drop mask 3f for 5 inputs"},
		{"donations in a byte", func(n int) written { return written{0x0b, 1, 0, 0}.u(uint64(n)).b(0xff) }, 8, "9 bits in 1 bytes"},
	} {
		cs, err := decodeAll(NewDecoder(0), c.make(c.most))
		require.NoError(t, err, c.what)
		require.Len(t, cs, 1, c.what)
		_, err = decodeAll(NewDecoder(0), c.make(c.most+1))
		require.ErrorIs(t, err, core.ErrProtocol, c.what)
		require.ErrorContains(t, err, c.want, c.what)
	}
}

// TestNameNumbers: names are numbered over the frames of a stream, up to a limit, and a program has numbers of its own.
func TestNameNumbers(t *testing.T) {
	d := NewDecoder(0)
	frame := written{}.many(MaxNames, func(w written, i int) written {
		return w.b(0x02, 0).text("x").u(uint64(i)).b(0, 0, 0, 0)
	})
	cs, err := decodeAll(d, frame)
	require.NoError(t, err)
	for i, c := range cs {
		require.Equal(t, uint16(i), c.Node.Version)
		require.Equal(t, op.NoOp, c.Node.Op, "no such op here")
	}
	cs, err = decodeAll(d, written{0x02}.u(MaxNames).b(0, 0, 0, 0))
	require.NoError(t, err)
	require.Equal(t, uint16(math.MaxUint16), cs[0].Node.Version)
	cs, err = decodeAll(d, written{0x0a, 1, 1, 0, 0, 0, 0, 1, 0}.text("neg").b(1, 0, 0, 0, 0, 0))
	require.NoError(t, err)
	require.Equal(t, code(t, "neg"), cs[0].Program.Nodes[0].Op, "a program counts from 1")
	_, err = decodeAll(d, written{0x02, 0}.text("y").b(1, 0, 0, 0, 0))
	require.ErrorContains(t, err, `op name "y", number 65537`)

	_, err = decodeAll(NewDecoder(0), written{0x02, 0}.text("neg").b(1, 0, 0, 0, 1, 1, 3, 1))
	require.ErrorContains(t, err, "attribute number 1 of 0")
	_, err = decodeAll(NewDecoder(0), written{0x0a, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0})
	require.ErrorContains(t, err, "op number 1 of 0", "a program does not see the numbers of its stream")
	_, err = decodeAll(NewDecoder(0), node().u(1).b(0).text("").b(3, 1))
	require.ErrorContains(t, err, `attribute name "", number 1`)
}

// TestRefusedValues checks that the error for an invalid value names the value and its attribute.
func TestRefusedValues(t *testing.T) {
	value := func(b ...byte) written { return node().u(1).b(0).text("axis").b(b...) }
	for want, b := range map[string]written{
		`attribute "axis" of kind 0`:             value(0, 0),
		`attribute "axis" of kind 9`:             value(9, 0),
		`attribute "axis": bool 2`:               value(3, 2),
		`attribute "axis": element type 0`:       value(5, 0),
		`attribute "axis": element type 24`:      value(5, 24),
		`attribute "axis": scalar of kind 2`:     value(8, 2),
		`truncated: 7 bytes of 8`:                value(2, 1, 2, 3, 4, 5, 6, 7),
		`truncated: 0 bytes of 8`:                value(8, 0),
		`2 floats in 15 bytes`:                   value(append([]byte{7, 2}, make([]byte, 15)...)...),
		`3 integers in 2 bytes`:                  value(6, 3, 1, 1),
		`5 bytes of text in 4 bytes`:             value(4, 5, 'a', 'b', 'c', 'd'),
		`wire: protocol error: element type 255`: {0x05, 1, 2, 255, 0},
		`dimension 9223372036854775808`:          written{0x05, 1, 2, 2, 1}.u(1 << 63),
	} {
		_, err := decodeAll(NewDecoder(0), b)
		require.ErrorIs(t, err, core.ErrProtocol, want)
		require.ErrorContains(t, err, want)
	}
}

// TestDecoderStops: after an error a decoder reads nothing more, whatever follows in the frame.
func TestDecoderStops(t *testing.T) {
	d := NewDecoder(0)
	d.Start([]byte{0x08, 0x7f, 0x08, 0x08})
	var c Command
	require.NoError(t, d.Next(&c))
	err := d.Next(&c)
	require.ErrorContains(t, err, "command 0x7f")
	require.False(t, d.More())
	require.Equal(t, err, d.Next(&c), "the first error stays")
	d.Start([]byte{0x08})
	require.NoError(t, d.Next(&c), "a frame starts anew")
	require.Equal(t, Command{Tag: TagSignal}, c, "nothing is left of the command before")
}

// TestSlabs checks that lists of one frame do not share memory, short or long, and that none can grow into the next.
func TestSlabs(t *testing.T) {
	var s slab[int]
	var all [][]int
	for i := range 400 {
		n := []int{0, 1, 3, 7, 64, 65, 200}[i%7]
		l := s.alloc(n)
		require.Len(t, l, n)
		require.Equal(t, n, cap(l))
		for j := range l {
			require.Zero(t, l[j])
			l[j] = i
		}
		all = append(all, l)
	}
	for i, l := range all {
		for _, v := range l {
			require.Equal(t, i, v)
		}
	}
}

// TestFitsMeansReadable checks that the other side can read every node that Fits accepts, whichever part of it is large. Fits returns
// ErrUnsupported for other nodes, so that the host runs them elsewhere instead of breaking the stream.
func TestFitsMeansReadable(t *testing.T) {
	ids := func(n int) []op.TensorID { return make([]op.TensorID, n) }
	attrs := func(n int) op.Attrs {
		var l op.Attrs
		for i := range n {
			l = append(l, op.Flag(strings.Repeat("a", 1+i), true))
		}
		return l
	}
	outputs := func(n int) []op.Desc {
		l := make([]op.Desc, n)
		for i := range l {
			l[i] = op.DescOf(dtype.F64, 1<<40, 0, 1<<40)
		}
		return l
	}
	for _, c := range []struct {
		what string
		n    op.Node
		fits bool
	}{
		{"inputs", op.Node{Inputs: ids(MaxFrame / 32)}, true},
		{"too many inputs", op.Node{Inputs: ids(MaxFrame)}, false},
		{"outputs", op.Node{Outputs: outputs(MaxFrame / 512)}, true},
		{"too many outputs", op.Node{Outputs: outputs(MaxFrame / 64)}, false},
		{"integers", op.Node{Attrs: op.Attrs{op.Ints("i", make([]int, MaxFrame/32)...)}}, true},
		{"too many integers", op.Node{Attrs: op.Attrs{op.Ints("i", make([]int, MaxFrame)...)}}, false},
		{"floats", op.Node{Attrs: op.Attrs{op.Floats("i", make([]float64, MaxFrame/32)...)}}, true},
		{"attributes", op.Node{Attrs: attrs(MaxAttrs)}, true},
		{"too many attributes", op.Node{Attrs: attrs(MaxAttrs + 1)}, false},
		{"text", op.Node{Attrs: op.Attrs{op.Str("s", strings.Repeat("x", MaxText))}}, true},
		{"too long a text", op.Node{Attrs: op.Attrs{op.Str("s", strings.Repeat("x", MaxText+1))}}, false},
		{"long name", op.Node{Attrs: op.Attrs{op.Int(strings.Repeat("x", MaxName), 1)}}, true},
		{"too long a name", op.Node{Attrs: op.Attrs{op.Int(strings.Repeat("x", MaxName+1), 1)}}, false},
	} {
		c.n.Op, c.n.Version = code(t, "neg"), 1
		err := Fits(&c.n)
		p := &program.Program{Nodes: []op.Node{c.n}}
		if !c.fits {
			require.ErrorIs(t, err, core.ErrUnsupported, c.what)
			require.NotErrorIs(t, err, core.ErrProtocol, c.what)
		} else {
			require.NoError(t, err, c.what)
			e := NewEncoder(0)
			e.Node(&c.n)
			cs, err := decodeAll(NewDecoder(0), content(t, e))
			require.NoError(t, err, c.what)
			equalNodes(t, c.n, cs[0].Node)
		}
		e := NewEncoder(0)
		if err := e.Define(1, 1, p, nil); err != nil {
			require.ErrorIs(t, err, core.ErrUnsupported, c.what)
			require.False(t, c.fits, c.what)
			require.Zero(t, e.Len(), c.what)
			continue
		}
		_, err = decodeAll(NewDecoder(0), content(t, e))
		require.NoError(t, err, "%s, in a program", c.what)
	}
	require.NoError(t, FitsRun(MaxFrame/20-1, 1))
	err := FitsRun(MaxFrame/20, 1)
	require.ErrorIs(t, err, core.ErrUnsupported)
	require.ErrorContains(t, err, "209715 inputs and 1 outputs, at most 209715 together")
	most := make([]op.TensorID, MaxFrame/20)
	for i := range most {
		most[i] = op.TensorID(uint64(i%2) << 63)
	}
	e := NewEncoder(0)
	e.Run(math.MaxUint64, most, nil, make([]bool, len(most)))
	require.Less(t, e.Len(), MaxFrame, "the greatest run fits a frame")
}

// TestManyInputs queries nodes with as many inputs as the two-byte count can hold, and checks that more are refused.
func TestManyInputs(t *testing.T) {
	for _, n := range []int{0, 255, 256, 65535} {
		in := make([]op.Desc, n)
		for i := range in {
			in[i].DType = dtype.U8
		}
		got, types, err := DecodeQuery(AppendQuery(nil, &op.Node{Op: code(t, "concat"), Version: 1}, in))
		require.NoError(t, err, "%d inputs", n)
		require.Len(t, got.Inputs, n)
		require.Len(t, types, n)
		require.NoError(t, FitsQuery(got, n))
	}
	err := FitsQuery(&op.Node{Op: code(t, "concat")}, 65536)
	require.ErrorIs(t, err, core.ErrUnsupported)
	require.ErrorContains(t, err, "65536 inputs, at most 65535 can be asked about")
	require.ErrorIs(t, FitsQuery(&op.Node{Attrs: make(op.Attrs, MaxAttrs+1)}, 1), core.ErrUnsupported)
}

// TestDefineAlone: a program starts a frame, and one that does not fit leaves the encoder as it was.
func TestDefineAlone(t *testing.T) {
	e := NewEncoder(3)
	e.Signal()
	require.ErrorIs(t, e.Define(1, 1, &program.Program{}, nil), core.ErrProtocol)
	require.Equal(t, []byte{0x08}, content(t, e))
	require.Nil(t, e.Take(), "no bytes, no frame")
	great := &program.Program{Name: "p", Outputs: make([]op.TensorID, MaxFrame)}
	err := e.Define(1, 1, great, nil)
	require.ErrorContains(t, err, `program "p" of`)
	require.ErrorContains(t, err, "at most 4194304 cross a process boundary")
	e.Free([]op.TensorID{tid(3, 1)})
	require.Equal(t, []byte{0x03, 1, 2}, content(t, e), "ids start from the generation again")
}

// TestErrorForms decodes hand-written errors of each form, and checks that those that exceed a limit are refused.
func TestErrorForms(t *testing.T) {
	plain := written{0}.u(8).text("gone")
	got := DecodeError(written{1}.text("add").text("step").u(1).u(7).b(2, 2).b(4, 1).b(plain...))
	var n *core.NodeError
	require.ErrorAs(t, got, &n)
	require.Equal(t, &core.NodeError{Op: "add", Program: "step", Outputs: []op.Desc{{ID: 7, DType: dtype.F32, Shape: []int{2, -1}}}, Err: &Remote{Text: "gone", Cause: core.ErrStale}}, n)
	require.EqualError(t, DecodeError(written{3}.text("around").b(plain...)), "around")
	require.Equal(t, core.ErrShape, DecodeError(written{0, 1}.text(core.ErrShape.Error())))
	require.ErrorIs(t, DecodeError(written{0, 0}.text("code 0")), core.ErrKernel)

	deep := func(n int) written {
		return written{}.many(n, func(w written, _ int) written { return w.b(3, 1, 'x') }).b(plain...)
	}
	require.ErrorIs(t, DecodeError(deep(MaxErrorDepth-1)), core.ErrStale)
	blamed := func(n int) written {
		return written{1, 0, 0}.u(uint64(n)).many(n, func(w written, _ int) written { return w.b(1, 2, 0) }).b(plain...)
	}
	require.ErrorIs(t, DecodeError(blamed(MaxBlamed)), core.ErrStale)
	rank := func(n int) written { return written{1, 0, 0, 1, 1, 2}.b(byte(n)).b(make([]byte, n)...).b(plain...) }
	require.ErrorIs(t, DecodeError(rank(maxFaultRank)), core.ErrStale)
	for want, b := range map[string]written{
		"errors nest deeper than 8":          deep(MaxErrorDepth),
		"an error of 65 tensors, at most 64": blamed(MaxBlamed + 1),
		"rank 65":                            rank(maxFaultRank + 1),
		"error of form 4":                    {4},
		"truncated":                          {1, 0, 0, 0},
		"text of 65537 bytes, at most 65536": written{0, 8}.text(strings.Repeat("x", MaxText+1)),
		"text of 257 bytes, at most 256":     written{1}.text(strings.Repeat("x", MaxName+1)),
		"1 bytes too many":                   append(plain[:len(plain):len(plain)], 0),
		"9 descs in 0 bytes":                 {2, 0, 9},
		"truncated or overlong number":       {0, 0x80},
		"200 bytes of text in 0 bytes":       written{2, 0, 0}.u(200),
	} {
		err := DecodeError(b)
		require.ErrorIs(t, err, core.ErrProtocol, want)
		require.ErrorContains(t, err, want)
	}
}
