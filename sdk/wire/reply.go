package wire

import (
	"encoding/binary"

	"google.golang.org/grpc/mem"
)

// Reply is one decoded reply of a plugin, apart from the data of TagData.
type Reply struct {
	Tag     Tag
	Request uint64 // Data, Done, Kept, Part
	Segment uint64 // Release
	End     uint64 // Part: bytes so far
	Last    bool   // Data
	Err     error  // Done (nil: success), Fail

	header int // length of the bytes before the data
	size   int
}

// OpenedFrame answers TagOpen.
func OpenedFrame() *Frame { return NewFrame([]byte{byte(TagOpened)}) }

// DoneFrame returns the answer that ends a request. err is nil for success.
func DoneFrame(request uint64, err error) *Frame {
	return NewFrame(AppendError(binary.AppendUvarint([]byte{byte(TagDone)}, request), err))
}

// FailFrame ends a stream.
func FailFrame(err error) *Frame {
	return NewFrame(AppendError([]byte{byte(TagFail)}, err))
}

// KeptFrame answers WriteShared if the tensor keeps using the segment.
func KeptFrame(request uint64) *Frame {
	return NewFrame(binary.AppendUvarint([]byte{byte(TagKept)}, request))
}

// PartFrame announces that the first end bytes of a ReadShared are in the segment. If these are all bytes of the tensor, it also answers the
// request.
func PartFrame(request uint64, end int) *Frame {
	return NewFrame(binary.AppendUvarint(binary.AppendUvarint([]byte{byte(TagPart)}, request), uint64(end)))
}

// ReleaseFrame returns the frame that releases a kept segment.
func ReleaseFrame(segment uint64) *Frame {
	return NewFrame(binary.AppendUvarint([]byte{byte(TagRelease)}, segment))
}

// DataFrame returns a frame that answers a read with bytes lo to hi of b. last means that the data is complete and the read succeeded.
func DataFrame(request uint64, b *Buffer, lo, hi int, last bool) *Frame {
	head := binary.AppendUvarint([]byte{byte(TagData)}, request)
	flag := byte(0)
	if last {
		flag = 1
	}
	f := NewFrame(append(head, flag))
	if lo < hi {
		f.parts = append(f.parts, b.root.Slice(lo, hi))
	}
	return f
}

// Parse reads the reply in f. Any error is an ErrProtocol.
func (p *Reply) Parse(f *Frame) error {
	var head [16]byte
	r := reader{b: f.peek(head[:])}
	*p = Reply{Tag: Tag(r.byte())}
	if p.Tag == TagData {
		p.Request = r.uvarint()
		flag := r.byte()
		if flag > 1 {
			r.fail("data with flag %d", flag)
		}
		p.Last = flag == 1
		p.header = len(f.peek(head[:])) - len(r.b)
		p.size = f.Len() - p.header
		return r.err
	}
	return f.Bytes(func(b []byte) error {
		r := reader{b: b[min(1, len(b)):]}
		switch p.Tag {
		case TagOpened:
		case TagDone:
			p.Request = r.uvarint()
			p.Err = r.lastError()
		case TagFail:
			if p.Err = r.lastError(); p.Err == nil {
				r.fail("failure without an error")
			}
		case TagKept:
			p.Request = r.uvarint()
		case TagPart:
			p.Request = r.uvarint()
			p.End = r.uvarint()
		case TagRelease:
			p.Segment = r.uvarint()
		default:
			r.fail("reply 0x%02x", byte(p.Tag))
		}
		return r.end()
	})
}

// Size returns the number of bytes of data in a TagData reply.
func (p *Reply) Size() int { return p.size }

// Copy copies the data of a TagData reply to dst, which has room for Size bytes. The reply must have been parsed from f.
func (p *Reply) Copy(f *Frame, dst []byte) { f.copyFrom(p.header, dst) }

// Overtakes reports whether f is a command that is handled at once instead of in order. It returns the tag and the request or,
// for Retire, the segment.
func Overtakes(f *Frame) (t Tag, request uint64, ok bool) {
	var head [16]byte
	r := reader{b: f.peek(head[:])}
	t, request = Tag(r.byte()), r.uvarint()
	return t, request, r.err == nil && (t == TagCancel || t == TagRetire) && len(r.b) == 0 && f.Len() < len(head)
}

// Chunk reports whether f is a chunk, and returns its request and the length of its data.
func Chunk(f *Frame) (request uint64, size int, ok bool) {
	var head [16]byte
	b := f.peek(head[:])
	r := reader{b: b}
	if Tag(r.byte()) != TagChunk {
		return 0, 0, false
	}
	request = r.uvarint()
	return request, f.Len() - (len(b) - len(r.b)), r.err == nil
}

// CopyChunk copies the data of a chunk to dst. dst must have the length of the data.
func CopyChunk(f *Frame, dst []byte) { f.copyFrom(f.Len()-len(dst), dst) }

var _ mem.BufferPool = (*pool)(nil)
