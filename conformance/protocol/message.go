package protocol

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"google.golang.org/protobuf/encoding/protowire"
)

// The messages of backend.proto.

func field(b []byte, n protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
}

func fixed(b []byte, n protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, n, protowire.Fixed64Type), v)
}

func bytesField(b []byte, n protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
}

// message is a received message: numbers and contents by field.
type message struct {
	numbers map[protowire.Number]uint64
	parts   map[protowire.Number][][]byte
}

func parseMessage(b []byte) (message, error) {
	m := message{map[protowire.Number]uint64{}, map[protowire.Number][][]byte{}}
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return m, fmt.Errorf("no protobuf message: %w", protowire.ParseError(size))
		}
		b = b[size:]
		switch kind {
		case protowire.VarintType:
			v, size := protowire.ConsumeVarint(b)
			if size < 0 {
				return m, fmt.Errorf("no protobuf message: %w", protowire.ParseError(size))
			}
			m.numbers[n], b = v, b[size:]
		case protowire.BytesType:
			v, size := protowire.ConsumeBytes(b)
			if size < 0 {
				return m, fmt.Errorf("no protobuf message: %w", protowire.ParseError(size))
			}
			m.parts[n], b = append(m.parts[n], v), b[size:]
		default:
			size := protowire.ConsumeFieldValue(n, kind, b)
			if size < 0 {
				return m, fmt.Errorf("no protobuf message: %w", protowire.ParseError(size))
			}
			b = b[size:]
		}
	}
	return m, nil
}

func (m message) part(n protowire.Number) []byte {
	if l := m.parts[n]; len(l) > 0 {
		return l[len(l)-1]
	}
	return nil
}

// sets reads repeated numbers, packed or not.
func (m message) sets(n protowire.Number) (l []uint64) {
	for _, p := range m.parts[n] {
		for len(p) > 0 {
			v, size := binary.Uvarint(p)
			if size <= 0 {
				return l
			}
			l, p = append(l, v), p[size:]
		}
	}
	if v, ok := m.numbers[n]; ok {
		l = append(l, v)
	}
	return l
}

// welcome is the answer to Hello.
type welcome struct {
	min, max, chosen      uint64
	features              []string
	name, version, vendor string
	devices               []deviceInfo
	err                   *wireError
	socket                string
	token                 []byte
}

type deviceInfo struct {
	index              int64
	name, kind, detail string
}

func parseWelcome(b []byte) (*welcome, error) {
	m, err := parseMessage(b)
	if err != nil {
		return nil, err
	}
	w := &welcome{min: m.numbers[1], max: m.numbers[2], chosen: m.numbers[3], socket: string(m.part(8)), token: m.part(9)}
	for _, f := range m.parts[4] {
		w.features = append(w.features, string(f))
	}
	if w.err, err = parseError(m.part(7)); err != nil {
		return nil, fmt.Errorf("the error of Hello: %w", err)
	}
	info, err := parseMessage(m.part(5))
	if err != nil {
		return nil, err
	}
	w.name, w.version, w.vendor = string(info.part(1)), string(info.part(2)), string(info.part(3))
	for _, p := range info.parts[4] {
		d, err := parseMessage(p)
		if err != nil {
			return nil, err
		}
		w.devices = append(w.devices, deviceInfo{int64(d.numbers[1]), string(d.part(2)), string(d.part(3)), string(d.part(5))})
	}
	return w, nil
}

// opened is the answer to Open.
type opened struct {
	err                                                               *wireError
	types                                                             uint64
	rank, bytes                                                       uint64
	ops                                                               map[string]claim
	programs, memory, peerCopy, collectives, selective, profiling, ok bool
}

type claim struct{ version, operands uint64 }

func parseOpened(b []byte) (*opened, error) {
	m, err := parseMessage(b)
	if err != nil {
		return nil, err
	}
	o := &opened{ops: map[string]claim{}}
	if o.err, err = parseError(m.part(1)); err != nil || o.err != nil {
		return o, err
	}
	c, err := parseMessage(m.part(2))
	if err != nil {
		return nil, err
	}
	o.types, o.ok = c.numbers[1], m.parts[2] != nil
	limits, err := parseMessage(c.part(4))
	if err != nil {
		return nil, err
	}
	o.rank, o.bytes = limits.numbers[1], limits.numbers[2]
	for _, p := range c.parts[3] {
		x, err := parseMessage(p)
		if err != nil {
			return nil, err
		}
		operands := o.types
		if l := x.sets(3); len(l) > 0 {
			operands = l[0]
		}
		o.ops[string(x.part(1))] = claim{x.numbers[2], operands}
	}
	x, err := parseMessage(m.part(3))
	if err != nil {
		return nil, err
	}
	has := func(n protowire.Number) bool { return x.numbers[n] != 0 }
	o.programs, o.memory, o.peerCopy, o.collectives, o.selective, o.profiling = has(1), has(2), has(3), has(4), has(5), has(6)
	return o, nil
}

// known is the set of valid element types.
const known = uint64(1)<<len(elements) - 2

// typesOf lists the element types of a set.
func typesOf(set uint64) (l []byte) {
	for ; set != 0; set &= set - 1 {
		l = append(l, byte(bits.TrailingZeros64(set)))
	}
	return l
}
