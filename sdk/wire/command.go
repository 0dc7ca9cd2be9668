package wire

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Tag is the first byte of a command or reply.
type Tag byte

// Commands of the host. A frame is a sequence of commands. A command marked "alone" must be the only command of its frame.
const (
	TagOpen       Tag = 0x01 // alone, first: handle of the device, number of the stream
	TagNode       Tag = 0x02
	TagFree       Tag = 0x03
	TagWrite      Tag = 0x04 // a whole small tensor
	TagBeginWrite Tag = 0x05 // request, desc; chunks follow
	TagChunk      Tag = 0x06 // alone: request, data
	TagRead       Tag = 0x07
	TagSignal     Tag = 0x08
	TagCancel     Tag = 0x09 // alone; handled at once instead of in order
	TagDefine     Tag = 0x0a
	TagRun        Tag = 0x0b
	TagWait       Tag = 0x0c
	TagAwait      Tag = 0x0d

	TagSegment     Tag = 0x0e // alone; with a descriptor
	TagRetire      Tag = 0x0f // alone; handled at once instead of in order
	TagWriteShared Tag = 0x10
	TagReadShared  Tag = 0x11

	TagCopy      Tag = 0x12
	TagAllReduce Tag = 0x13
	TagAllGather Tag = 0x14
	TagBroadcast Tag = 0x15
)

// Replies of the plugin, one per frame.
const (
	TagOpened Tag = 0x81
	TagData   Tag = 0x82 // request, last, data
	TagDone   Tag = 0x83 // request, error
	TagFail   Tag = 0x84 // error; the stream is over

	TagKept    Tag = 0x85 // request; the segment stays with the plugin
	TagPart    Tag = 0x86 // request, bytes so far
	TagRelease Tag = 0x87 // segment
)

// Command is one decoded command. Only the fields of its tag are set.
type Command struct {
	Tag      Tag
	Request  uint64 // BeginWrite, Chunk, Read, Await, Cancel, Define, WriteShared, ReadShared
	Handle   uint64 // Open: of the device; Copy: of the source device
	Stream   uint64 // Open, Wait
	Event    uint64 // Wait, Await
	Node     op.Node
	OpName   string           // op name of Node; also set if this build does not have the op: Node.Op is then op.NoOp
	IDs      []op.TensorID    // Free, Define (constants), Run (inputs)
	Outputs  []op.TensorID    // Run
	Donated  []bool           // Run; nil: none
	Desc     op.Desc          // the tensor that Write, BeginWrite, WriteShared, Copy or a group command creates; for a read only the ID
	Source   op.TensorID      // Copy, AllReduce, AllGather, Broadcast: the tensor that is read
	Size     int              // Read, ReadShared: the bytes expected; Segment: its bytes
	Data     []byte           // Write, Chunk; valid until the frame is freed
	Number   uint64           // number of the program: Define, Run
	Program  *program.Program // Define
	Unknown  string           // Define: the name of an op that this build does not have
	Segment  uint64           // Segment, Retire, WriteShared, ReadShared
	Group    uint64           // AllReduce, AllGather, Broadcast
	Argument uint64           // AllReduce: a core.Reduction; Broadcast: the root
}

// ids encodes tensor ids as differences: each from the previous id in the frame, the first from the base.
type ids struct{ last op.TensorID }

func (d *ids) append(b []byte, id op.TensorID) []byte {
	b = appendVarint(b, int64(id-d.last))
	d.last = id
	return b
}

func (d *ids) read(r *reader) op.TensorID {
	d.last += op.TensorID(r.varint())
	return d.last
}
