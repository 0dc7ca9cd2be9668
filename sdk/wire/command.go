package wire

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Tag is the first byte of a command or reply.
type Tag byte

// Commands of the host. A frame is a sequence of them; those marked alone fill a frame by themselves.
const (
	TagOpen       Tag = 0x01 // alone, first: device, generation
	TagNode       Tag = 0x02
	TagFree       Tag = 0x03
	TagWrite      Tag = 0x04 // a whole small tensor
	TagBeginWrite Tag = 0x05 // request, desc; chunks follow
	TagChunk      Tag = 0x06 // alone: request, data
	TagRead       Tag = 0x07
	TagSync       Tag = 0x08
	TagCancel     Tag = 0x09 // alone; overtakes
	TagDefine     Tag = 0x0a
	TagRun        Tag = 0x0b
	TagUndefine   Tag = 0x0c
	TagMemory     Tag = 0x0d // alone; overtakes

	TagSegment     Tag = 0x0e // alone; with a descriptor
	TagRetire      Tag = 0x0f // alone; overtakes
	TagWriteShared Tag = 0x10
	TagReadShared  Tag = 0x11
)

// Replies of the plugin, one a frame.
const (
	TagOpened Tag = 0x81 // flags
	TagData   Tag = 0x82 // request, last, data
	TagDone   Tag = 0x83 // request, error
	TagUsage  Tag = 0x84 // request, three numbers
	TagFail   Tag = 0x85 // error; the stream is over

	TagKept    Tag = 0x86 // request; the segment stays with the plugin
	TagPart    Tag = 0x87 // request, bytes that are there
	TagRelease Tag = 0x88 // segment
)

// Flags of TagOpened.
const (
	HasPrograms = 1 << 0
	HasMemory   = 1 << 1
)

// Command is one decoded command. Only the fields of its tag are set.
type Command struct {
	Tag        Tag
	Request    uint64 // BeginWrite, Chunk, Read, Sync, Cancel, Define, Memory
	Device     int    // Open
	Generation uint16 // Open
	Node       op.Node
	OpName     string           // of Node; set as well when this build has no such op, and Node.Op is op.NoOp then
	IDs        []op.TensorID    // Free, Define (constants), Run (inputs)
	Outputs    []op.TensorID    // Run
	Desc       op.Desc          // Write, BeginWrite; of Read only the ID
	Size       int              // Read, ReadShared: the bytes expected
	Data       []byte           // Write; valid until the frame is freed
	Number     uint64           // of the program: Define, Run, Undefine
	Program    *program.Program // Define
	Unknown    string           // Define: an op of the program that this build does not have
	Segment    uint64           // Segment, Retire, WriteShared, ReadShared; Size is that of the Segment
}

// ids codes tensor ids as differences: each to the one before it in the frame, the first to the base.
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
