package wire

import (
	"fmt"
	"math"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/wire/internal/pb"
)

// Open asks for a device.
type Open struct {
	Handle     uint64 // handle that names the device from then on
	Device     int    // index in Info
	Generation uint16 // generation of the tensor ids of the device
}

// Opened is the answer to Open.
type Opened struct {
	Capabilities *core.Capabilities
	Extensions   Extensions
	Err          error // reason why the device could not be opened; the other fields are then empty
}

// Extensions lists the optional interfaces that a device has.
type Extensions struct{ Programs, Memory, PeerCopy, Collectives, Selective, Profiling bool }

func (o *Open) toProto() *pb.OpenRequest {
	return &pb.OpenRequest{Handle: o.Handle, Device: int64(o.Device), Generation: uint32(o.Generation)}
}

func openFromProto(m *pb.OpenRequest) (*Open, error) {
	if m.GetDevice() < 0 || m.GetDevice() > math.MaxInt32 || m.GetGeneration() > math.MaxUint16 {
		return nil, fmt.Errorf("open: %w: device %d, generation %d", core.ErrProtocol, m.GetDevice(), m.GetGeneration())
	}
	return &Open{Handle: m.GetHandle(), Device: int(m.GetDevice()), Generation: uint16(m.GetGeneration())}, nil
}

func (o *Opened) toProto() *pb.OpenReply {
	if o.Err != nil {
		return &pb.OpenReply{Error: AppendError(nil, o.Err)}
	}
	x := o.Extensions
	return &pb.OpenReply{Capabilities: capabilitiesToProto(o.Capabilities), Extensions: &pb.Extensions{
		Programs: x.Programs, Memory: x.Memory, PeerCopy: x.PeerCopy, Collectives: x.Collectives, Selective: x.Selective, Profiling: x.Profiling}}
}

func openedFromProto(m *pb.OpenReply) (*Opened, error) {
	if err := DecodeError(m.GetError()); err != nil {
		return &Opened{Err: err}, nil
	}
	c, err := capabilitiesFromProto(m.GetCapabilities())
	if err != nil {
		return nil, err
	}
	x := m.GetExtensions()
	return &Opened{Capabilities: c, Extensions: Extensions{Programs: x.GetPrograms(), Memory: x.GetMemory(),
		PeerCopy: x.GetPeerCopy(), Collectives: x.GetCollectives(), Selective: x.GetSelective(), Profiling: x.GetProfiling()}}, nil
}

func capabilitiesToProto(c *core.Capabilities) *pb.Capabilities {
	m := &pb.Capabilities{Types: uint32(c.Types), Emulated: uint32(c.Emulated), Flushes: uint32(c.Flushes), Limits: limitsToProto(c.Limits),
		Deterministic: c.Deterministic, Features: c.Features}
	for name, o := range c.Ops {
		m.Ops = append(m.Ops, &pb.Op{Name: name, Version: uint32(o.Version), Operands: setsToProto(o.Operands),
			Results: setsToProto(o.Results), Limits: limitsToProto(o.Limits)})
	}
	return m
}

func capabilitiesFromProto(m *pb.Capabilities) (*core.Capabilities, error) {
	if m == nil {
		return nil, fmt.Errorf("open: %w: capabilities are missing", core.ErrProtocol)
	}
	limits, err := limitsFromProto(m.GetLimits())
	if err != nil {
		return nil, err
	}
	if limits.Rank < 1 {
		return nil, fmt.Errorf("open: %w: the limit of ranks is missing", core.ErrProtocol)
	}
	c := &core.Capabilities{Types: dtype.Set(m.GetTypes()), Emulated: dtype.Set(m.GetEmulated()), Flushes: dtype.Set(m.GetFlushes()), Limits: limits,
		Deterministic: m.GetDeterministic(), Features: m.GetFeatures(), Ops: make(map[string]core.OpCapability, len(m.GetOps()))}
	for _, o := range m.GetOps() {
		if o.GetVersion() > math.MaxUint16 {
			return nil, fmt.Errorf("open: %w: %s of version %d", core.ErrProtocol, o.GetName(), o.GetVersion())
		}
		claim := core.OpCapability{Version: uint16(o.GetVersion()), Operands: setsFromProto(o.GetOperands()), Results: setsFromProto(o.GetResults())}
		if claim.Limits, err = limitsFromProto(o.GetLimits()); err != nil {
			return nil, err
		}
		c.Ops[o.GetName()] = claim
	}
	return c, nil
}

func limitsToProto(l core.Limits) *pb.Limits {
	if l == (core.Limits{}) {
		return nil
	}
	return &pb.Limits{Rank: uint32(l.Rank), Bytes: l.Bytes, Elements: l.Elements, Buffers: uint32(l.Buffers)}
}

func limitsFromProto(m *pb.Limits) (core.Limits, error) {
	if m.GetRank() > shape.MaxRank || m.GetBytes() < 0 || m.GetElements() < 0 || m.GetBuffers() > math.MaxInt32 {
		return core.Limits{}, fmt.Errorf("open: %w: limits are out of range: %v", core.ErrProtocol, m)
	}
	return core.Limits{Rank: int(m.GetRank()), Bytes: m.GetBytes(), Elements: m.GetElements(), Buffers: int(m.GetBuffers())}, nil
}

func setsToProto(sets []dtype.Set) []uint32 {
	var l []uint32
	for _, s := range sets {
		l = append(l, uint32(s))
	}
	return l
}

func setsFromProto(l []uint32) []dtype.Set {
	var sets []dtype.Set
	for _, s := range l {
		sets = append(sets, dtype.Set(s))
	}
	return sets
}
