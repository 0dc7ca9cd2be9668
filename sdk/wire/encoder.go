package wire

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/grpc/mem"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// opKey identifies an interned op.
type opKey struct {
	code    op.Code
	version uint16
}

// names maps ops and attribute names to the numbers that the sender has assigned to them.
type names struct {
	ops   map[opKey]uint64
	attrs map[string]uint64
	// the last op, because consecutive nodes often have the same op
	lastOp    opKey
	lastOpNum uint64
}

func (n *names) init() {
	n.ops, n.attrs = map[opKey]uint64{}, map[string]uint64{}
}

func (n *names) appendOp(b []byte, k opKey) []byte {
	if n.lastOpNum != 0 && n.lastOp == k {
		return binary.AppendUvarint(b, n.lastOpNum)
	}
	num, ok := n.ops[k]
	if ok {
		b = binary.AppendUvarint(b, num)
	} else {
		num = uint64(len(n.ops) + 1)
		n.ops[k] = num
		b = appendText(append(b, 0), op.Lookup(k.code).Name)
		b = binary.AppendUvarint(b, uint64(k.version))
	}
	n.lastOp, n.lastOpNum = k, num
	return b
}

func (n *names) appendAttr(b []byte, name string) []byte {
	if num, ok := n.attrs[name]; ok {
		return binary.AppendUvarint(b, num)
	}
	n.attrs[name] = uint64(len(n.attrs) + 1)
	return appendText(append(b, 0), name)
}

// appendNode writes a node without its tag.
func appendNode(b []byte, n *op.Node, names *names, ids *ids) []byte {
	b = names.appendOp(b, opKey{n.Op, n.Version})
	b = binary.AppendUvarint(b, uint64(len(n.Inputs)))
	for _, id := range n.Inputs {
		b = ids.append(b, id)
	}
	b = binary.AppendUvarint(b, n.Drop)
	b = binary.AppendUvarint(b, uint64(len(n.Outputs)))
	for i := range n.Outputs {
		b = ids.append(b, n.Outputs[i].ID)
		b = appendType(b, n.Outputs[i])
	}
	b = binary.AppendUvarint(b, uint64(len(n.Attrs)))
	for i := range n.Attrs {
		b = names.appendAttr(b, n.Attrs[i].Name)
		b = appendValue(b, n.Attrs[i].Value)
	}
	return b
}

// Encoder writes the commands of one stream into frames. It is used by one goroutine at a time.
type Encoder struct {
	names names
	ids   ids
	base  op.TensorID
	buf   *[]byte
	b     []byte
}

// NewEncoder returns the Encoder of a stream whose ids are of the given generation.
func NewEncoder(generation uint16) *Encoder {
	e := &Encoder{base: op.NewTensorID(generation, 0)}
	e.names.init()
	e.reset()
	return e
}

func (e *Encoder) reset() {
	e.buf = framePool.Get(batchCapacity)
	e.b = (*e.buf)[:0]
	e.ids.last = e.base
}

// Len returns the number of bytes since the last Take.
func (e *Encoder) Len() int { return len(e.b) }

// Take returns the bytes written since the last Take as a frame, or nil if nothing was written.
func (e *Encoder) Take() *Frame {
	if len(e.b) == 0 {
		return nil
	}
	f := &Frame{}
	if cap(e.b) == batchCapacity {
		*e.buf = e.b
		f.parts = mem.BufferSlice{mem.NewBuffer(e.buf, framePool)}
	} else { // the buffer of the pool was too small
		framePool.Put(e.buf)
		f.parts = mem.BufferSlice{mem.SliceBuffer(e.b)}
	}
	e.reset()
	return f
}

// Node writes a node, for which Fits must return nil.
func (e *Encoder) Node(n *op.Node) {
	e.b = appendNode(append(e.b, byte(TagNode)), n, &e.names, &e.ids)
}

// Fits returns an ErrUnsupported if a node is too large to be sent, or exceeds a limit of the protocol.
func Fits(n *op.Node) error {
	const number = binary.MaxVarintLen64
	size := 10 * number
	size += len(n.Inputs)*number + len(n.Outputs)*(2+9*number)
	for i := range n.Attrs {
		v := &n.Attrs[i].Value
		size += len(n.Attrs[i].Name) + len(v.Str()) + number*(2+len(v.Ints())+len(v.Floats()))
	}
	if size > MaxFrame/2 {
		return fmt.Errorf("%v: node of up to %d bytes, at most %d cross a process boundary: %w", n.Op, size, MaxFrame/2, core.ErrUnsupported)
	}
	return fitAttrs(n)
}

// fitAttrs returns an ErrUnsupported if the attributes of a node exceed a limit of the protocol.
func fitAttrs(n *op.Node) error {
	if len(n.Attrs) > MaxAttrs {
		return fmt.Errorf("%v: node with %d attributes, at most %d cross a process boundary: %w", n.Op, len(n.Attrs), MaxAttrs, core.ErrUnsupported)
	}
	for i := range n.Attrs {
		a := &n.Attrs[i]
		if len(a.Name) > MaxName || len(a.Value.Str()) > MaxText {
			return fmt.Errorf("%v: attribute with a name of %d bytes and a text of %d, at most %d and %d cross a process boundary: %w",
				n.Op, len(a.Name), len(a.Value.Str()), MaxName, MaxText, core.ErrUnsupported)
		}
	}
	return nil
}

// FitsQuery returns an ErrUnsupported if AppendQuery cannot write a node.
func FitsQuery(n *op.Node, inputs int) error {
	if inputs > math.MaxUint16 {
		return fmt.Errorf("%v: node with %d inputs, at most %d can be asked about: %w", n.Op, inputs, math.MaxUint16, core.ErrUnsupported)
	}
	return Fits(n)
}

// FitsRun returns an ErrUnsupported if a run has too many tensors.
func FitsRun(inputs, outputs int) error {
	if inputs+outputs > MaxFrame/2/binary.MaxVarintLen64 {
		return fmt.Errorf("run: %d inputs and %d outputs, at most %d together cross a process boundary: %w",
			inputs, outputs, MaxFrame/2/binary.MaxVarintLen64, core.ErrUnsupported)
	}
	return nil
}

// Free writes the command that frees tensors.
func (e *Encoder) Free(ids []op.TensorID) {
	e.b = append(e.b, byte(TagFree))
	e.idList(ids)
}

func (e *Encoder) idList(ids []op.TensorID) {
	e.b = binary.AppendUvarint(e.b, uint64(len(ids)))
	for _, id := range ids {
		e.b = e.ids.append(e.b, id)
	}
}

func (e *Encoder) head(t Tag, number uint64) {
	e.b = binary.AppendUvarint(append(e.b, byte(t)), number)
}

func (e *Encoder) desc(d op.Desc) {
	e.b = e.ids.append(e.b, d.ID)
	e.b = appendType(e.b, d)
}

// Write writes a whole tensor of at most MaxInline bytes; data holds exactly d.Bytes().
func (e *Encoder) Write(d op.Desc, data []byte) {
	e.b = append(e.b, byte(TagWrite))
	e.desc(d)
	e.b = append(e.b, data...)
}

// BeginWrite announces the chunks of tensor d. The chunks follow in order, each in a frame from ChunkFrame.
func (e *Encoder) BeginWrite(request uint64, d op.Desc) {
	e.head(TagBeginWrite, request)
	e.desc(d)
}

// Read requests tensor id, which has size bytes.
func (e *Encoder) Read(request uint64, id op.TensorID, size int) {
	e.head(TagRead, request)
	e.b = e.ids.append(e.b, id)
	e.b = binary.AppendUvarint(e.b, uint64(size))
}

// WriteShared creates tensor d from the beginning of a segment.
func (e *Encoder) WriteShared(request uint64, d op.Desc, segment uint64) {
	e.head(TagWriteShared, request)
	e.desc(d)
	e.b = binary.AppendUvarint(e.b, segment)
}

// ReadShared requests tensor id, which has size bytes, at the beginning of a segment.
func (e *Encoder) ReadShared(request uint64, id op.TensorID, size int, segment uint64) {
	e.head(TagReadShared, request)
	e.b = e.ids.append(e.b, id)
	e.b = binary.AppendUvarint(e.b, uint64(size))
	e.b = binary.AppendUvarint(e.b, segment)
}

// Signal creates the next event of the stream.
func (e *Encoder) Signal() { e.b = append(e.b, byte(TagSignal)) }

// Wait orders later commands after an event of another stream.
func (e *Encoder) Wait(stream, event uint64) {
	e.head(TagWait, stream)
	e.b = binary.AppendUvarint(e.b, event)
}

// Await requests an answer when an event of this stream is reached.
func (e *Encoder) Await(request, event uint64) {
	e.head(TagAwait, request)
	e.b = binary.AppendUvarint(e.b, event)
}

// Define writes a program, known by number from then on. It must start a frame. If a program is too large for a frame, or a node has too
// many or too long attributes, it returns ErrUnsupported and writes nothing.
func (e *Encoder) Define(request, number uint64, p *program.Program, consts []op.TensorID) error {
	if len(e.b) > 0 {
		return fmt.Errorf("wire: define within a frame: %w", core.ErrProtocol)
	}
	for i := range p.Nodes {
		if err := fitAttrs(&p.Nodes[i]); err != nil {
			return fmt.Errorf("program %q: %w", p.Name, err)
		}
	}
	e.head(TagDefine, request)
	e.b = binary.AppendUvarint(e.b, number)
	e.idList(consts)
	e.b = appendProgram(e.b, p)
	if len(e.b) > MaxFrame {
		size := len(e.b)
		framePool.Put(e.buf)
		e.reset()
		return fmt.Errorf("program %q of %d bytes, at most %d cross a process boundary: %w", p.Name, size, MaxFrame, core.ErrUnsupported)
	}
	return nil
}

// Run writes the execution of a program.
func (e *Encoder) Run(number uint64, inputs, outputs []op.TensorID, donated []bool) {
	e.head(TagRun, number)
	e.idList(inputs)
	e.idList(outputs)
	e.b = binary.AppendUvarint(e.b, uint64(len(donated)))
	for i, d := range donated {
		if i%8 == 0 {
			e.b = append(e.b, 0)
		}
		if d {
			e.b[len(e.b)-1] |= 1 << (i % 8)
		}
	}
}

// Copy creates tensor d from tensor id of the device with that handle.
func (e *Encoder) Copy(d op.Desc, handle uint64, id op.TensorID) {
	e.b = append(e.b, byte(TagCopy))
	e.desc(d)
	e.b = binary.AppendUvarint(e.b, handle)
	e.b = e.ids.append(e.b, id)
}

// AllReduce creates tensor out from tensor in of all ranks of a group.
func (e *Encoder) AllReduce(group uint64, by core.Reduction, in op.TensorID, out op.Desc) {
	e.head(TagAllReduce, group)
	e.b = binary.AppendUvarint(e.b, uint64(by))
	e.b = e.ids.append(e.b, in)
	e.desc(out)
}

// AllGather creates tensor out from the tensors of all ranks of a group.
func (e *Encoder) AllGather(group uint64, in op.TensorID, out op.Desc) {
	e.head(TagAllGather, group)
	e.b = e.ids.append(e.b, in)
	e.desc(out)
}

// Broadcast creates tensor out from the tensor of one rank.
func (e *Encoder) Broadcast(group uint64, root int, in op.TensorID, out op.Desc) {
	e.head(TagBroadcast, group)
	e.b = binary.AppendUvarint(e.b, uint64(root))
	e.b = e.ids.append(e.b, in)
	e.desc(out)
}

// OpenFrame returns the first frame of a stream.
func OpenFrame(handle, stream uint64) *Frame {
	b := binary.AppendUvarint([]byte{byte(TagOpen)}, handle)
	return NewFrame(binary.AppendUvarint(b, stream))
}

// CancelFrame returns the frame that tells the plugin that the host no longer waits for a request.
func CancelFrame(request uint64) *Frame {
	return NewFrame(binary.AppendUvarint([]byte{byte(TagCancel)}, request))
}

// SegmentFrame returns the frame that announces a segment of size bytes. The segment's descriptor is sent with it.
func SegmentFrame(segment uint64, size int) *Frame {
	b := binary.AppendUvarint([]byte{byte(TagSegment)}, segment)
	return NewFrame(binary.AppendUvarint(b, uint64(size)))
}

// RetireFrame returns the frame that releases a segment.
func RetireFrame(segment uint64) *Frame {
	return NewFrame(binary.AppendUvarint([]byte{byte(TagRetire)}, segment))
}

// ParseSegment reads a SegmentFrame. ok is false for another frame.
func ParseSegment(f *Frame) (segment uint64, size int, ok bool) {
	var head [24]byte
	r := reader{b: f.peek(head[:])}
	if Tag(r.byte()) != TagSegment {
		return 0, 0, false
	}
	segment = r.uvarint()
	n := r.uvarint()
	return segment, int(n), r.end() == nil && n <= math.MaxInt64 && f.Len() < len(head)
}

// ChunkFrame holds a copy of the next data of a tensor being written, at most ChunkSize bytes.
func ChunkFrame(request uint64, data []byte) *Frame {
	f := NewFrame(binary.AppendUvarint([]byte{byte(TagChunk)}, request))
	buf := framePool.Get(len(data))
	copy(*buf, data)
	f.parts = append(f.parts, mem.NewBuffer(buf, framePool))
	return f
}
