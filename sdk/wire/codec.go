package wire

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// codec passes frames through unchanged and leaves everything else to protobuf. It has protobuf's name, so that a plugin in another
// language needs no separate content subtype: for Stream, such a plugin reads and writes bytes.
type codec struct{ proto encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

func (c codec) Name() string { return proto.Name }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if f, ok := v.(*Frame); ok {
		parts := f.parts
		f.parts = nil
		return parts, nil
	}
	return c.proto.Marshal(v)
}

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if f, ok := v.(*Frame); ok {
		if len(f.parts) > 0 {
			return fmt.Errorf("wire: frame is received into while it is in use")
		}
		data.Ref()
		f.parts = append(f.parts, data...)
		return nil
	}
	return c.proto.Unmarshal(data, v)
}
