package wire

import (
	"fmt"
	"math"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/wire/internal/pb"
)

// Hello is the first message of a host.
type Hello struct {
	Protocol    Range
	Features    []string // what the host understands
	HostName    string
	HostVersion string
	Config      core.Config
}

// Welcome is the plugin's answer.
type Welcome struct {
	Protocol     Range
	Version      uint32 // the one chosen; 0 when the ranges do not meet, and then the rest is empty
	Features     []string
	Info         core.Info
	Capabilities *core.Capabilities
	Err          error // why the backend could not be opened

	// With FeatureSocket: where streams may be opened directly, and what the host shows there.
	Socket string
	Token  []byte
}

func (h *Hello) toProto() *pb.HelloRequest {
	return &pb.HelloRequest{
		ProtocolMin: h.Protocol.Min, ProtocolMax: h.Protocol.Max, Features: h.Features,
		HostName: h.HostName, HostVersion: h.HostVersion,
		Threads: uint32(min(max(h.Config.Threads, 0), math.MaxInt32)), Options: h.Config.Options,
	}
}

func helloFromProto(m *pb.HelloRequest) *Hello {
	return &Hello{
		Protocol: Range{m.GetProtocolMin(), m.GetProtocolMax()}, Features: m.GetFeatures(),
		HostName: m.GetHostName(), HostVersion: m.GetHostVersion(),
		Config: core.Config{Threads: int(min(m.GetThreads(), math.MaxInt32)), Options: m.GetOptions()},
	}
}

func (w *Welcome) toProto() *pb.HelloReply {
	m := &pb.HelloReply{
		ProtocolMin: w.Protocol.Min, ProtocolMax: w.Protocol.Max, Version: w.Version, Features: w.Features,
		Info:  &pb.Info{Name: w.Info.Name, Version: w.Info.Version, Vendor: w.Info.Vendor},
		Error: AppendError(nil, w.Err), Socket: w.Socket, Token: w.Token,
	}
	for _, d := range w.Info.Devices {
		m.Info.Devices = append(m.Info.Devices,
			&pb.Device{Index: int64(d.Index), Name: d.Name, Kind: d.Kind, Memory: d.Memory, Detail: d.Detail})
	}
	if c := w.Capabilities; c != nil {
		m.Capabilities = &pb.Capabilities{Types: uint32(c.Types), MaxRank: uint32(c.MaxRank), MaxBytes: c.MaxBytes,
			Deterministic: c.Deterministic, Features: c.Features}
		for name, o := range c.Ops {
			m.Capabilities.Ops = append(m.Capabilities.Ops, &pb.Op{Name: name, Version: uint32(o.Version), Types: uint32(o.Types)})
		}
	}
	return m
}

func welcomeFromProto(m *pb.HelloReply) (*Welcome, error) {
	w := &Welcome{
		Protocol: Range{m.GetProtocolMin(), m.GetProtocolMax()}, Version: m.GetVersion(), Features: m.GetFeatures(),
		Info: core.Info{Name: m.GetInfo().GetName(), Version: m.GetInfo().GetVersion(), Vendor: m.GetInfo().GetVendor()},
		Err:  DecodeError(m.GetError()), Socket: m.GetSocket(), Token: m.GetToken(),
	}
	for _, d := range m.GetInfo().GetDevices() {
		w.Info.Devices = append(w.Info.Devices, core.DeviceInfo{Index: int(d.GetIndex()), Name: d.GetName(), Kind: d.GetKind(),
			Memory: max(d.GetMemory(), 0), Detail: d.GetDetail()})
	}
	c := m.GetCapabilities()
	if w.Version == 0 || w.Err != nil {
		return w, nil
	}
	if c == nil || c.GetMaxRank() < 1 || c.GetMaxRank() > shape.MaxRank || c.GetMaxBytes() < 0 {
		return nil, fmt.Errorf("hello: capabilities are missing or out of range (rank %d, bytes %d): %w",
			c.GetMaxRank(), c.GetMaxBytes(), core.ErrProtocol)
	}
	w.Capabilities = &core.Capabilities{Types: dtype.Set(c.GetTypes()), MaxRank: int(c.GetMaxRank()), MaxBytes: c.GetMaxBytes(),
		Deterministic: c.GetDeterministic(), Features: c.GetFeatures(), Ops: make(map[string]core.OpCapability, len(c.GetOps()))}
	for _, o := range c.GetOps() {
		if o.GetVersion() > math.MaxUint16 {
			return nil, fmt.Errorf("hello: %s of version %d: %w", o.GetName(), o.GetVersion(), core.ErrProtocol)
		}
		w.Capabilities.Ops[o.GetName()] = core.OpCapability{Version: uint16(o.GetVersion()), Types: dtype.Set(o.GetTypes())}
	}
	return w, nil
}
