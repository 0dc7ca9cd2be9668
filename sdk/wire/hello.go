package wire

import (
	"fmt"
	"math"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/wire/internal/pb"
)

// Hello is the first message of a host.
type Hello struct {
	Protocol    Range
	Features    []string // features that the host supports
	HostName    string
	HostVersion string
	Config      core.Config
}

// Welcome is the plugin's answer.
type Welcome struct {
	Protocol Range
	Version  uint32 // the chosen version; 0 if the ranges do not overlap: only Protocol and Err are then set
	Features []string
	Info     core.Info
	Err      error // why the backend could not be opened, or the mismatch of the ranges

	// With FeatureSocket: the path of the socket on which streams may be opened directly, and the token that the host presents
	// there.
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
	return m
}

func welcomeFromProto(m *pb.HelloReply) *Welcome {
	w := &Welcome{
		Protocol: Range{m.GetProtocolMin(), m.GetProtocolMax()}, Version: m.GetVersion(), Features: m.GetFeatures(),
		Info: core.Info{Name: m.GetInfo().GetName(), Version: m.GetInfo().GetVersion(), Vendor: m.GetInfo().GetVendor()},
		Err:  DecodeError(m.GetError()), Socket: m.GetSocket(), Token: m.GetToken(),
	}
	for _, d := range m.GetInfo().GetDevices() {
		w.Info.Devices = append(w.Info.Devices, core.DeviceInfo{Index: int(d.GetIndex()), Name: d.GetName(), Kind: d.GetKind(),
			Memory: max(d.GetMemory(), 0), Detail: d.GetDetail()})
	}
	return w
}

// check returns an error for a Welcome that exceeds the limits of the protocol.
func (w *Welcome) check() error {
	if n := len(w.Info.Devices); n > MaxDevices {
		return fmt.Errorf("hello: %w: %d devices, want at most %d", core.ErrProtocol, n, MaxDevices)
	}
	if n := len(w.Features); n > MaxFeatures {
		return fmt.Errorf("hello: %w: %d features, want at most %d", core.ErrProtocol, n, MaxFeatures)
	}
	type text struct {
		what, s string
		limit   int
	}
	texts := []text{{"name", w.Info.Name, MaxName}, {"version", w.Info.Version, MaxName}, {"vendor", w.Info.Vendor, MaxName}, {"socket", w.Socket, MaxText}}
	for _, f := range w.Features {
		texts = append(texts, text{"feature", f, MaxName})
	}
	seen := make(map[int]bool, len(w.Info.Devices))
	for _, d := range w.Info.Devices {
		if d.Index < 0 || seen[d.Index] {
			return fmt.Errorf("hello: %w: device index %d, want each once and from 0", core.ErrProtocol, d.Index)
		}
		seen[d.Index] = true
		texts = append(texts, text{"name of a device", d.Name, MaxName}, text{"kind of a device", d.Kind, MaxName}, text{"detail of a device", d.Detail, MaxText})
	}
	for _, t := range texts {
		if len(t.s) > t.limit {
			return fmt.Errorf("hello: %w: %s of %d bytes, want at most %d", core.ErrProtocol, t.what, len(t.s), t.limit)
		}
	}
	return nil
}
