package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/wire/internal/pb"
)

// Limits of a profile: the numbers of steps and of records in one part, and the size of the whole that a host accepts.
const (
	stepsOfPart   = 64
	recordsOfPart = 1 << 14
	// MaxProfile is the greatest size of all parts of a profile in bytes.
	MaxProfile = 64 << 20
)

func (s *server) StartProfile(ctx context.Context, m *pb.DeviceRequest) (*pb.Status, error) {
	return outcome(s.h.StartProfile(ctx, m.GetHandle()))
}

func (s *server) StopProfile(m *pb.DeviceRequest, stream grpc.ServerStreamingServer[pb.ProfileReply]) error {
	p, err := s.h.StopProfile(stream.Context(), m.GetHandle())
	if err != nil {
		return stream.Send(&pb.ProfileReply{Error: AppendError(nil, err)})
	}
	for from := 0; from < len(p.Steps); from += stepsOfPart {
		part := &pb.ProfileReply{}
		for _, st := range p.Steps[from:min(from+stepsOfPart, len(p.Steps))] {
			part.Steps = append(part.Steps, stepToProto(st))
		}
		if err := stream.Send(part); err != nil {
			return err
		}
	}
	for from := 0; from < len(p.Records); from += recordsOfPart {
		part := &pb.ProfileReply{}
		for _, r := range p.Records[from:min(from+recordsOfPart, len(p.Records))] {
			part.Records = append(part.Records, &pb.ProfileRecord{Step: uint32(r.Step), Stream: uint32(r.Stream),
				Start: r.Start.Nanoseconds(), Duration: r.Duration.Nanoseconds()})
		}
		if err := stream.Send(part); err != nil {
			return err
		}
	}
	return stream.Send(&pb.ProfileReply{Dropped: p.Dropped})
}

func stepToProto(s core.ProfileStep) *pb.ProfileStep {
	m := &pb.ProfileStep{Program: clip(s.Program, MaxName), Index: int32(s.Index), Flops: s.Flops, Bytes: s.Bytes,
		In: typesToProto(s.In), Out: typesToProto(s.Out)}
	for _, o := range s.Ops[:min(len(s.Ops), core.MaxProfileOps)] {
		m.Ops = append(m.Ops, clip(o, MaxName))
	}
	return m
}

func typesToProto(ds []op.Desc) []*pb.Type {
	var l []*pb.Type
	for _, d := range ds[:min(len(ds), core.MaxProfileTensors)] {
		t := &pb.Type{Element: uint32(d.DType)}
		for _, n := range d.Shape {
			t.Shape = append(t.Shape, int64(n))
		}
		l = append(l, t)
	}
	return l
}

// StartProfile begins to record what a device executes.
func (c *Caller) StartProfile(ctx context.Context, handle uint64) (answer, err error) {
	return answered(c.c.StartProfile(ctx, &pb.DeviceRequest{Handle: handle}))
}

// StopProfile ends the recording of a device and returns it. An invalid profile is an ErrProtocol, returned as err.
func (c *Caller) StopProfile(ctx context.Context, handle uint64) (p *core.Profile, answer, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.c.StopProfile(ctx, &pb.DeviceRequest{Handle: handle})
	if err != nil {
		return nil, nil, err
	}
	p = &core.Profile{}
	size := 0
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return p, nil, checkProfile(p)
		}
		if err != nil {
			return nil, nil, err
		}
		if answer := DecodeError(m.GetError()); answer != nil {
			return nil, answer, nil
		}
		if size += proto.Size(m); size > MaxProfile {
			return nil, nil, fmt.Errorf("profile: %w: more than %d bytes", core.ErrProtocol, MaxProfile)
		}
		if err := addPart(p, m); err != nil {
			return nil, nil, err
		}
	}
}

// addPart checks a part of a profile and adds it to p.
func addPart(p *core.Profile, m *pb.ProfileReply) error {
	for _, s := range m.GetSteps() {
		st := core.ProfileStep{Program: s.GetProgram(), Index: int(s.GetIndex()), Ops: s.GetOps(), Flops: max(s.GetFlops(), 0), Bytes: max(s.GetBytes(), 0)}
		bad := st.Index < core.WholeRun || len(st.Program) > MaxName || len(st.Ops) > core.MaxProfileOps || len(s.GetIn()) > core.MaxProfileTensors ||
			len(s.GetOut()) > core.MaxProfileTensors
		for _, o := range st.Ops {
			bad = bad || len(o) > MaxName
		}
		if bad {
			return fmt.Errorf("profile: %w: step %d exceeds a limit", core.ErrProtocol, len(p.Steps))
		}
		var err error
		if st.In, err = typesFromProto(s.GetIn()); err == nil {
			st.Out, err = typesFromProto(s.GetOut())
		}
		if err != nil {
			return fmt.Errorf("profile: %w: step %d: %v", core.ErrProtocol, len(p.Steps), err)
		}
		p.Steps = append(p.Steps, st)
	}
	for _, r := range m.GetRecords() {
		p.Records = append(p.Records, core.ProfileRecord{Step: int(r.GetStep()), Stream: int(r.GetStream()),
			Start: time.Duration(r.GetStart()), Duration: time.Duration(r.GetDuration())})
	}
	p.Dropped += max(m.GetDropped(), 0)
	if len(p.Steps) > core.MaxProfileSteps || len(p.Records) > core.MaxProfileRecords {
		return fmt.Errorf("profile: %w: %d steps and %d records, want at most %d and %d", core.ErrProtocol, len(p.Steps), len(p.Records),
			core.MaxProfileSteps, core.MaxProfileRecords)
	}
	return nil
}

func typesFromProto(ts []*pb.Type) ([]op.Desc, error) {
	l := make([]op.Desc, 0, len(ts))
	for _, t := range ts {
		d := op.Desc{DType: dtype.DType(t.GetElement())}
		if t.GetElement() > 0xff || !d.DType.Valid() {
			return nil, fmt.Errorf("element type %d", t.GetElement())
		}
		if len(t.GetShape()) > shape.MaxRank {
			return nil, fmt.Errorf("rank %d", len(t.GetShape()))
		}
		d.Shape = make(shape.Shape, len(t.GetShape()))
		for i, n := range t.GetShape() {
			if d.Shape[i] = int(n); int64(d.Shape[i]) != n {
				return nil, fmt.Errorf("dimension %d", n)
			}
		}
		if err := d.Shape.Check(); err != nil {
			return nil, err
		}
		l = append(l, d)
	}
	return l, nil
}

// checkProfile refuses records without a step, and impossible times.
func checkProfile(p *core.Profile) error {
	for i, r := range p.Records {
		if r.Step >= len(p.Steps) || r.Start < 0 || r.Duration < 0 || r.Start+r.Duration < 0 {
			return fmt.Errorf("profile: %w: record %d is of step %d of %d, from %v for %v", core.ErrProtocol, i, r.Step, len(p.Steps), r.Start, r.Duration)
		}
	}
	return nil
}
