package conformance_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// changed returns a fault in one extension: change receives the device and the correct extension, and returns the faulty one.
func changed[T any](change func(d core.Device, good T) T) tampered {
	return onDevice(func(d core.Device) core.Device { return &changing[T]{d, change} })
}

type changing[T any] struct {
	core.Device
	change func(d core.Device, good T) T
}

func (c *changing[T]) Extend(target any) bool {
	if !c.Device.Extend(target) {
		return false
	}
	if t, ok := target.(*T); ok {
		*t = c.change(c.Device, *t)
	}
	return true
}

// running replaces Programs.Run.
type running struct {
	core.Programs
	run func(p core.Programs, s core.Stream, r core.Run) error
}

func (r running) Run(s core.Stream, x core.Run) error { return r.run(r.Programs, s, x) }

func onRun(f func(d core.Device, p core.Programs, s core.Stream, r core.Run) error) tampered {
	return changed(func(d core.Device, good core.Programs) core.Programs {
		return running{good, func(p core.Programs, s core.Stream, r core.Run) error { return f(d, p, s, r) }}
	})
}

// confused runs the program that was defined last, regardless of the id that a run names.
type confused struct {
	core.Programs
	last *core.ProgramID
}

func (c confused) Define(ctx context.Context, s core.Stream, p *program.Program, consts []op.TensorID) (core.ProgramID, error) {
	id, err := c.Programs.Define(ctx, s, p, consts)
	*c.last = id
	return id, err
}

func (c confused) Run(s core.Stream, r core.Run) error {
	r.Program = *c.last
	return c.Programs.Run(s, r)
}

// immortal keeps programs that are undefined.
type immortal struct{ core.Programs }

func (immortal) Undefine(core.ProgramID) error { return nil }

// bound runs a program only on the stream on which it was defined.
type bound struct {
	core.Programs
	streams *sync.Map
}

func (b bound) Define(ctx context.Context, s core.Stream, p *program.Program, consts []op.TensorID) (core.ProgramID, error) {
	id, err := b.Programs.Define(ctx, s, p, consts)
	b.streams.Store(id, s)
	return id, err
}

func (b bound) Run(s core.Stream, r core.Run) error {
	if mine, ok := b.streams.Load(r.Program); ok && mine != s {
		return core.ErrNotFound
	}
	return b.Programs.Run(s, r)
}

// copied submits a copy of a tensor under a new id, which nobody frees.
func copied(d core.Device, s core.Stream, id op.TensorID, like op.Desc) error {
	like.ID = id
	n, err := op.New(op.Copy, []op.Desc{like})
	if err != nil {
		return err
	}
	n.Outputs[0].ID = d.NewIDs(1)
	return s.Submit([]op.Node{n}, nil)
}

func TestMutantProgramsAreCaught(t *testing.T) {
	t.Parallel()
	var last core.ProgramID
	var streams sync.Map
	for _, m := range []struct {
		name  string
		fault tampered
		id    string
	}{
		{"another program is run", changed(func(_ core.Device, p core.Programs) core.Programs { return confused{p, &last} }), "program/two"},
		{"undefined programs are kept", changed(func(_ core.Device, p core.Programs) core.Programs { return immortal{p} }), "program/undefine-twice"},
		{"programs belong to streams", changed(func(_ core.Device, p core.Programs) core.Programs { return bound{p, &streams} }), "ownership/program"},
		{"a foreign stream is accepted", onRun(func(_ core.Device, p core.Programs, s core.Stream, r core.Run) error {
			_ = p.Run(s, r)
			return nil
		}), "extensions/foreign-stream"},
		{"donation is ignored", onRun(func(_ core.Device, p core.Programs, s core.Stream, r core.Run) error {
			r.Donated = nil
			return p.Run(s, r)
		}), "donation/gone"},
		{"everything is donated", onRun(func(_ core.Device, p core.Programs, s core.Stream, r core.Run) error {
			if r.Donated != nil {
				r.Donated = slices.Repeat([]bool{true}, len(r.Inputs))
			}
			return p.Run(s, r)
		}), "donation/gone"},
		{"a tensor may be donated twice", onRun(func(_ core.Device, p core.Programs, s core.Stream, r core.Run) error {
			err := p.Run(s, r)
			if errors.Is(err, core.ErrAttr) && len(r.Donated) == len(r.Inputs) {
				r.Donated = nil
				return p.Run(s, r)
			}
			return err
		}), "donation/twice"},
		{"a refused run frees its donations", onRun(func(_ core.Device, p core.Programs, s core.Stream, r core.Run) error {
			err := p.Run(s, r)
			if err != nil {
				_ = s.Submit(nil, r.Inputs[:1])
			}
			return err
		}), "donation/twice"},
		{"masks may be short", onRun(func(_ core.Device, p core.Programs, s core.Stream, r core.Run) error {
			for r.Donated != nil && len(r.Donated) < len(r.Inputs) {
				r.Donated = append(r.Donated, false)
			}
			return p.Run(s, r)
		}), "donation/mask"},
		{"donations leak", onRun(func(d core.Device, p core.Programs, s core.Stream, r core.Run) error {
			if len(r.Donated) > 0 && r.Donated[0] {
				if err := copied(d, s, r.Inputs[0], vector(1000)); err != nil {
					return err
				}
			}
			return p.Run(s, r)
		}), "donation/loop"},
		{"a donated output is lost", onRun(func(_ core.Device, p core.Programs, s core.Stream, r core.Run) error {
			if err := p.Run(s, r); err != nil || len(r.Outputs) < 2 || r.Donated == nil {
				return err
			}
			return s.Submit(nil, r.Outputs[1:2])
		}), "donation/returned"},
		{"a failing run keeps its donations", onRun(func(d core.Device, p core.Programs, s core.Stream, r core.Run) error {
			if r.Donated == nil {
				return p.Run(s, r)
			}
			mask := r.Donated
			r.Donated = nil
			if err := p.Run(s, r); err != nil {
				return err
			}
			if core.Sync(context.Background(), s) != nil {
				return nil
			}
			var free []op.TensorID
			for i, m := range mask {
				if m {
					free = append(free, r.Inputs[i])
				}
			}
			return s.Submit(nil, free)
		}), "donation/failing"},
	} {
		t.Run(m.name, func(t *testing.T) { caught(t, m.id, m.fault) })
	}
}

// adopting replaces HostMemory.Adopt.
type adopting struct {
	core.HostMemory
	adopt func(h core.HostMemory, s core.Stream, d op.Desc, data []byte, release func()) error
}

func (a adopting) Adopt(s core.Stream, d op.Desc, data []byte, release func()) error {
	return a.adopt(a.HostMemory, s, d, data, release)
}

func onAdopt(f func(h core.HostMemory, s core.Stream, d op.Desc, data []byte, release func()) error) tampered {
	return changed(func(_ core.Device, h core.HostMemory) core.HostMemory { return adopting{h, f} })
}

func TestMutantHostMemoryIsCaught(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name  string
		fault tampered
		id    string
	}{
		{"memory is released twice", onAdopt(func(h core.HostMemory, s core.Stream, d op.Desc, data []byte, release func()) error {
			return h.Adopt(s, d, data, func() { release(); release() })
		}), "host/adopt"},
		{"memory is not released", hanging(onAdopt(func(h core.HostMemory, s core.Stream, d op.Desc, data []byte, _ func()) error {
			return h.Adopt(s, d, data, func() {})
		})), "host/adopt-closed"},
		{"memory is written to", onAdopt(func(h core.HostMemory, s core.Stream, d op.Desc, data []byte, release func()) error {
			err := h.Adopt(s, d, slices.Clone(data), release)
			clear(data)
			return err
		}), "host/adopt"},
		{"memory that is refused is released", onAdopt(func(h core.HostMemory, s core.Stream, d op.Desc, data []byte, release func()) error {
			err := h.Adopt(s, d, data, release)
			if err != nil {
				release()
			}
			return err
		}), "host/adopt-refused"},
		{"any number of bytes is adopted", onAdopt(func(h core.HostMemory, s core.Stream, d op.Desc, data []byte, release func()) error {
			return h.Adopt(s, d, data[:min(len(data), d.Bytes())], release)
		}), "host/adopt-refused"},
	} {
		t.Run(m.name, func(t *testing.T) { caught(t, m.id, m.fault) })
	}
}

// copying replaces PeerCopy.CopyFrom.
type copying struct {
	core.PeerCopy
	copy func(p core.PeerCopy, s core.Stream, d op.Desc, src core.Device, id op.TensorID) error
}

func (c copying) CopyFrom(s core.Stream, d op.Desc, src core.Device, id op.TensorID) error {
	return c.copy(c.PeerCopy, s, d, src, id)
}

func TestMutantPeersAreCaught(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name string
		copy func(p core.PeerCopy, s core.Stream, d op.Desc, src core.Device, id op.TensorID) error
		id   string
	}{
		{"copies do not wait", func(p core.PeerCopy, s core.Stream, d op.Desc, src core.Device, id op.TensorID) error {
			other, err := src.OpenStream(context.Background())
			if err != nil {
				return err
			}
			data := make([]byte, d.Bytes())
			_ = core.Read(context.Background(), other, id, data) // the contents before the pending work of s
			return s.Write(context.Background(), d, data)
		}, "peer/copy"},
		{"poison is not copied", func(p core.PeerCopy, s core.Stream, d op.Desc, src core.Device, id op.TensorID) error {
			return s.Write(context.Background(), d, make([]byte, d.Bytes()))
		}, "peer/poison"},
		{"foreign devices are accepted", func(p core.PeerCopy, s core.Stream, d op.Desc, src core.Device, id op.TensorID) error {
			_ = p.CopyFrom(s, d, src, id)
			return nil
		}, "peer/foreign"},
	} {
		t.Run(m.name, func(t *testing.T) {
			caught(t, m.id, changed(func(_ core.Device, p core.PeerCopy) core.PeerCopy {
				return copying{p, m.copy}
			}))
		})
	}
}

// joining replaces Collectives.Join.
type joining struct {
	core.Collectives
	join func(c core.Collectives, ctx context.Context, key string, rank, size int) (core.Group, error)
}

func (j joining) Join(ctx context.Context, key string, rank, size int) (core.Group, error) {
	return j.join(j.Collectives, ctx, key, rank, size)
}

func onJoin(f func(c core.Collectives, ctx context.Context, key string, rank, size int) (core.Group, error)) tampered {
	return changed(func(_ core.Device, c core.Collectives) core.Collectives { return joining{c, f} })
}

// member is a rank of a group with faults: reduce, if not nil, replaces AllReduce, and with stays Close does nothing.
type member struct {
	core.Group
	dev    core.Device
	rank   int
	reduce func(m member, s core.Stream, by core.Reduction, in op.TensorID, out op.Desc) error
	stays  bool
}

func (m member) AllReduce(s core.Stream, by core.Reduction, in op.TensorID, out op.Desc) error {
	if m.reduce == nil {
		return m.Group.AllReduce(s, by, in, out)
	}
	return m.reduce(m, s, by, in, out)
}

func (m member) Close() error {
	if m.stays {
		return nil
	}
	return m.Group.Close()
}

func onGroup(x member) tampered {
	return changed(func(d core.Device, c core.Collectives) core.Collectives {
		return joining{c, func(c core.Collectives, ctx context.Context, key string, rank, size int) (core.Group, error) {
			y := x
			g, err := c.Join(ctx, key, rank, size)
			y.Group, y.dev, y.rank = g, d, rank
			return y, err
		}}
	})
}

func TestMutantGroupsAreCaught(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name  string
		fault tampered
		id    string
	}{
		{"ranks are reordered", onJoin(func(c core.Collectives, ctx context.Context, key string, rank, size int) (core.Group, error) {
			return c.Join(ctx, key, max(0, size-1-rank), size)
		}), "collective/gather/2"},
		{"roots are mixed up", onJoin(func(c core.Collectives, ctx context.Context, key string, rank, size int) (core.Group, error) {
			return c.Join(ctx, key, (rank+1)%size, size)
		}), "collective/broadcast/3"},
		{"every reduction is a sum", onGroup(member{reduce: func(m member, s core.Stream, _ core.Reduction, in op.TensorID, out op.Desc) error {
			return m.Group.AllReduce(s, core.ReduceSum, in, out)
		}}), "collective/reduce-prod/f32/2"},
		{"every reduction is a minimum", onGroup(member{reduce: func(m member, s core.Stream, by core.Reduction, in op.TensorID, out op.Desc) error {
			return m.Group.AllReduce(s, core.ReduceMin, in, out)
		}}), "collective/reduce-max/i64/3"},
		{"ranks receive different bits", onGroup(member{reduce: func(m member, s core.Stream, by core.Reduction, in op.TensorID, out op.Desc) error {
			sum := out
			sum.ID = m.dev.NewIDs(1)
			if err := m.Group.AllReduce(s, by, in, sum); err != nil {
				return err
			}
			factor := vector()
			factor.ID = m.dev.NewIDs(1)
			bytes := []byte{0, 0, 0x80, 0x3f} // 1
			if m.rank == 1 {
				bytes[0] = 1 // 1 + 2^-23
			}
			if err := s.Write(context.Background(), factor, bytes); err != nil {
				return err
			}
			n, err := op.New(op.Mul, []op.Desc{sum, factor})
			if err != nil {
				return err
			}
			n.Outputs[0].ID = out.ID
			return s.Submit([]op.Node{n}, []op.TensorID{sum.ID, factor.ID})
		}}), "collective/reduce-sum/f32/2"},
		{"a rank that fails contributes zeros", onGroup(member{reduce: func(m member, s core.Stream, by core.Reduction, in op.TensorID, out op.Desc) error {
			if core.Read(context.Background(), s, in, make([]byte, out.Bytes())) != nil {
				zero := out
				zero.ID, in = m.dev.NewIDs(1), 0
				if err := s.Write(context.Background(), zero, make([]byte, out.Bytes())); err != nil {
					return err
				}
				in = zero.ID
			}
			return m.Group.AllReduce(s, by, in, out)
		}}), "collective/poison"},
		{"ranks wait for a rank that has left", hanging(onGroup(member{stays: true})), "collective/leaves"},
		{"sizes are not compared", onJoin(func(c core.Collectives, ctx context.Context, key string, rank, size int) (core.Group, error) {
			return c.Join(ctx, key, rank, min(size, 2))
		}), "collective/sizes"},
		{"a rank may join twice", onJoin(func(c core.Collectives, ctx context.Context, key string, rank, size int) (core.Group, error) {
			g, err := c.Join(ctx, key, rank, size)
			if errors.Is(err, core.ErrAttr) && rank == 0 && size == 2 {
				return c.Join(ctx, key, 1, size)
			}
			return g, err
		}), "collective/ranks"},
		{"cancellation is ignored", hanging(onJoin(func(c core.Collectives, _ context.Context, key string, rank, size int) (core.Group, error) {
			return c.Join(context.Background(), key, rank, size)
		})), "collective/canceled"},
	} {
		t.Run(m.name, func(t *testing.T) { caught(t, m.id, m.fault) })
	}
}
