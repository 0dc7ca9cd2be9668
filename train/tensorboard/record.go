package tensorboard

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// event is a message of tensorflow/core/util/event.proto, with the fields that are used here.
type event struct {
	wall    float64 // seconds since 1970
	step    int64
	version string // version of the file: field 3
	started bool   // whether the event contains a session log, at which readers drop earlier events from this step on: field 7
	scalars []scalar
}

type scalar struct {
	tag   string
	value float32
}

// The wire types of protocol buffers.
const (
	varint  = 0
	fixed64 = 1
	bytes   = 2
	fixed32 = 5
)

func key(b []byte, field, wire int) []byte { return binary.AppendUvarint(b, uint64(field<<3|wire)) }

func block(b []byte, field int, content []byte) []byte {
	b = binary.AppendUvarint(key(b, field, bytes), uint64(len(content)))
	return append(b, content...)
}

func (e *event) marshal() []byte {
	b := binary.LittleEndian.AppendUint64(key(nil, 1, fixed64), math.Float64bits(e.wall))
	if e.step != 0 {
		b = binary.AppendUvarint(key(b, 2, varint), uint64(e.step))
	}
	if e.version != "" {
		b = block(b, 3, []byte(e.version))
	}
	if len(e.scalars) > 0 {
		var summary []byte
		for _, s := range e.scalars {
			v := block(nil, 1, []byte(s.tag))
			v = binary.LittleEndian.AppendUint32(key(v, 2, fixed32), math.Float32bits(s.value))
			summary = block(summary, 1, v)
		}
		b = block(b, 5, summary)
	}
	if e.started {
		b = block(b, 7, binary.AppendUvarint(key(nil, 1, varint), 1))
	}
	return b
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked returns the CRC-32C of b as TFRecord files store it: rotated and offset, so that checksums of checksums differ.
func masked(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// record returns a TFRecord: the length of content, the checksum of the length, content, and its checksum.
func record(content []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(content)))
	b = binary.LittleEndian.AppendUint32(b, masked(b))
	b = append(b, content...)
	return binary.LittleEndian.AppendUint32(b, masked(content))
}
