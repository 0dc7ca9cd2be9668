package wire

import (
	"math"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// slab allocates small slices from larger blocks. Their memory is never reused.
type slab[T any] struct{ free []T }

func (s *slab[T]) alloc(n int) []T {
	if n == 0 {
		return nil
	}
	if n > len(s.free) {
		if n > 64 {
			return make([]T, n)
		}
		s.free = make([]T, 256)
	}
	l := s.free[:n:n]
	s.free = s.free[n:]
	return l
}

// opName is an op to which the sender has assigned a number.
type opName struct {
	name    string
	code    op.Code // op.NoOp when this build has no such op
	version uint16
}

// Decoder reads the commands of one stream. It is used by one goroutine at a time.
type Decoder struct {
	ops   []opName
	attrs []string
	base  op.TensorID

	r   reader
	ids ids

	inputs  slab[op.TensorID]
	outputs slab[op.Desc]
	dims    slab[int]
	values  slab[op.Attr]
}

// NewDecoder returns the Decoder of a stream of the given generation.
func NewDecoder(generation uint16) *Decoder {
	return &Decoder{base: op.NewTensorID(generation, 0)}
}

// Start begins a frame. Decoded commands may refer to content until the next Start.
func (d *Decoder) Start(content []byte) {
	d.r = reader{b: content}
	d.ids.last = d.base
}

// More reports whether the frame holds further commands.
func (d *Decoder) More() bool { return d.r.err == nil && len(d.r.b) > 0 }

// Next reads one command into c. Any error is an ErrProtocol and final for the stream.
func (d *Decoder) Next(c *Command) error {
	r := &d.r
	*c = Command{Tag: Tag(r.byte())}
	switch c.Tag {
	case TagOpen:
		c.Handle, c.Stream = r.uvarint(), r.uvarint()
	case TagNode:
		d.node(c)
	case TagFree:
		c.IDs = d.idList()
	case TagWrite:
		c.Desc = d.desc()
		if r.err == nil && c.Desc.Bytes() > MaxInline {
			r.fail("write of %d bytes within a batch, at most %d", c.Desc.Bytes(), MaxInline)
		}
		if r.err == nil {
			c.Data = r.take(c.Desc.Bytes())
		}
	case TagBeginWrite:
		c.Request = r.uvarint()
		c.Desc = d.desc()
	case TagRead:
		c.Request = r.uvarint()
		c.Desc.ID = d.ids.read(r)
		c.Size = d.small("size", math.MaxInt64)
	case TagSegment:
		c.Segment = r.uvarint()
		c.Size = d.small("size", math.MaxInt64)
	case TagRetire:
		c.Segment = r.uvarint()
	case TagWriteShared:
		c.Request = r.uvarint()
		c.Desc = d.desc()
		c.Segment = r.uvarint()
	case TagReadShared:
		c.Request = r.uvarint()
		c.Desc.ID = d.ids.read(r)
		c.Size = d.small("size", math.MaxInt64)
		c.Segment = r.uvarint()
	case TagSignal:
	case TagCancel:
		c.Request = r.uvarint()
	case TagWait:
		c.Stream, c.Event = r.uvarint(), r.uvarint()
	case TagAwait:
		c.Request, c.Event = r.uvarint(), r.uvarint()
	case TagDefine:
		d.define(c)
	case TagRun:
		c.Number = r.uvarint()
		c.IDs, c.Outputs = d.idList(), d.idList()
		c.Donated = d.mask()
	case TagCopy:
		c.Desc = d.desc()
		c.Handle = r.uvarint()
		c.Source = d.ids.read(r)
	case TagAllReduce, TagBroadcast:
		c.Group, c.Argument = r.uvarint(), r.uvarint()
		c.Source = d.ids.read(r)
		c.Desc = d.desc()
	case TagAllGather:
		c.Group = r.uvarint()
		c.Source = d.ids.read(r)
		c.Desc = d.desc()
	case TagChunk:
		c.Request = r.uvarint()
		c.Data = r.take(len(r.b))
	default:
		r.fail("command 0x%02x", byte(c.Tag))
	}
	return r.err
}

func (d *Decoder) small(what string, limit uint64) int {
	n := d.r.uvarint()
	if n > limit {
		d.r.fail("%s %d, at most %d", what, n, limit)
		return 0
	}
	return int(n)
}

func (d *Decoder) idList() []op.TensorID {
	l := d.inputs.alloc(d.r.count("ids", 1))
	for i := range l {
		l[i] = d.ids.read(&d.r)
	}
	return l
}

// mask reads a bit set. It returns nil for a set of length 0.
func (d *Decoder) mask() []bool {
	n := d.r.uvarint()
	if n > 8*uint64(len(d.r.b)) {
		d.r.fail("%d bits in %d bytes", n, len(d.r.b))
		return nil
	}
	if n == 0 {
		return nil
	}
	b := d.r.take(int(n+7) / 8)
	l := make([]bool, n)
	for i := range l {
		l[i] = b[i/8]>>(i%8)&1 != 0
	}
	return l
}

func (d *Decoder) desc() op.Desc {
	o := op.Desc{ID: d.ids.read(&d.r)}
	o.DType = d.r.dtype()
	o.Shape = d.r.shape(d.shapeOf)
	return o
}

func (d *Decoder) shapeOf(rank int) shape.Shape { return d.dims.alloc(rank) }

func (d *Decoder) opName() opName {
	r := &d.r
	num := r.uvarint()
	if num > 0 {
		if num > uint64(len(d.ops)) {
			r.fail("op number %d of %d", num, len(d.ops))
			return opName{}
		}
		return d.ops[num-1]
	}
	o := opName{name: r.text(MaxName)}
	o.version = uint16(d.small("version", math.MaxUint16))
	if o.name == "" || len(d.ops) >= MaxNames {
		r.fail("op name %q, number %d", o.name, len(d.ops)+1)
	}
	if r.err == nil {
		o.code, _ = op.ByName(o.name)
		d.ops = append(d.ops, o)
	}
	return o
}

func (d *Decoder) attrName() string {
	r := &d.r
	num := r.uvarint()
	if num > 0 {
		if num > uint64(len(d.attrs)) {
			r.fail("attribute number %d of %d", num, len(d.attrs))
			return ""
		}
		return d.attrs[num-1]
	}
	s := r.text(MaxName)
	if s == "" || len(d.attrs) >= MaxNames {
		r.fail("attribute name %q, number %d", s, len(d.attrs)+1)
	}
	if r.err == nil {
		d.attrs = append(d.attrs, s)
	}
	return s
}

func (d *Decoder) node(c *Command) {
	r, n := &d.r, &c.Node
	name := d.opName()
	c.OpName, n.Op, n.Version = name.name, name.code, name.version
	n.Inputs = d.idList()
	n.Drop = r.uvarint()
	if len(n.Inputs) < 64 && n.Drop>>len(n.Inputs) != 0 {
		r.fail("drop mask %x for %d inputs", n.Drop, len(n.Inputs))
	}
	n.Outputs = d.outputs.alloc(r.count("outputs", 3))
	for i := range n.Outputs {
		n.Outputs[i] = d.desc()
	}
	k := r.count("attributes", 3)
	if k > MaxAttrs {
		r.fail("%d attributes, at most %d", k, MaxAttrs)
		return
	}
	n.Attrs = d.values.alloc(k)
	for i := range n.Attrs {
		name := d.attrName()
		n.Attrs[i] = r.value(name)
		if r.err != nil {
			return
		}
	}
}
