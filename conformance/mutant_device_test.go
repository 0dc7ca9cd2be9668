package conformance_test

import (
	"context"
	"sync"
	"testing"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// owning is a stream whose Close frees the tensors that were written on it.
type owning struct {
	base
	mine []op.TensorID
}

func (o *owning) Write(ctx context.Context, d op.Desc, data []byte) error {
	o.mine = append(o.mine, d.ID)
	return o.Stream.Write(ctx, d, data)
}

func (o *owning) Close() error {
	if err := o.Stream.Submit(nil, o.mine); err != nil {
		return err
	}
	_ = core.Sync(context.Background(), o.Stream)
	return o.Stream.Close()
}

// numbered is a device that returns the previous id again on every third call of NewIDs.
type numbered struct {
	core.Device
	mu   sync.Mutex
	n    int
	last op.TensorID
}

func (x *numbered) NewIDs(n int) op.TensorID {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.n++; x.n%3 != 0 {
		x.last = x.Device.NewIDs(n)
	}
	return x.last
}

// unclosed is a device that leaves its streams open when it is closed.
type unclosed struct{ core.Device }

func (unclosed) Close() error { return nil }

// boasting is a device without the extensions that its document names.
type boasting struct{ core.Device }

func (boasting) Extend(any) bool { return false }

// agreeable claims every extension that it is asked for, except conformance.GuardChecker, which the suite itself uses.
type agreeable struct{ core.Device }

func (a agreeable) Extend(target any) bool {
	_, asked := target.(*conformance.GuardChecker)
	return a.Device.Extend(target) || !asked
}

// fickle denies every seventh query for an extension. Seven does not divide the number of extensions, so that repeated rounds of
// queries get different answers.
type fickle struct {
	core.Device
	mu sync.Mutex
	n  int
}

func (f *fickle) Extend(target any) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	return f.n%7 != 0 && f.Device.Extend(target)
}

// telling is a device with another capability document than the device below it.
type telling struct {
	core.Device
	caps *core.Capabilities
}

func (t telling) Capabilities() *core.Capabilities { return t.caps }

// documented returns backend with devices whose capability document change has modified.
func documented(backend core.Backend, change func(c *core.Capabilities)) tampered {
	return tampered{Backend: backend, device: func(d core.Device) core.Device {
		c := *d.Capabilities()
		c.Ops = map[string]core.OpCapability{}
		for name, o := range d.Capabilities().Ops {
			c.Ops[name] = o
		}
		change(&c)
		return telling{d, &c}
	}}
}

// selective is a device that refuses neg through core.Selective although its document claims it.
type selective struct{ core.Device }

func (s selective) Supports(n *op.Node, _ []op.Desc) error {
	if n.Op == op.Neg {
		return core.ErrUnsupported
	}
	return nil
}

func (s selective) Extend(target any) bool {
	if t, ok := target.(*core.Selective); ok {
		*t = s
		return true
	}
	return s.Device.Extend(target)
}

// one returns a fault: every Open returns the same device.
func one() tampered {
	var first core.Device
	return onDevice(func(d core.Device) core.Device {
		if first == nil {
			first = unclosed{d}
		}
		return first
	})
}

// A device with faults in the ownership of its objects, in its extensions or in its claims is caught.
func TestMutantDevicesAreCaught(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name  string
		fault tampered
		id    string
	}{
		{"a closed stream frees its tensors", onStream(func(s core.Stream) core.Stream { return &owning{base: base{s}} }), "ownership/stream-closes"},
		{"every Open returns the same device", one(), "ownership/devices-apart"},
		{"ids are returned twice", onDevice(func(d core.Device) core.Device { return &numbered{Device: d} }), "ownership/ids"},
		{"close leaves streams open", onDevice(func(d core.Device) core.Device { return unclosed{d} }), "ownership/device-closes"},
		{"claimed primitive is refused", onDevice(func(d core.Device) core.Device { return selective{d} }), "neg/f32/matrix/plain"},
		{"a claimed feature is missing", onDevice(func(d core.Device) core.Device { return boasting{d} }), "claims/features"},
		{"extensions are denied at times", onDevice(func(d core.Device) core.Device { return &fickle{Device: d} }), "extensions/stable"},
		{"claimed type does not run", documented(ref.New(ref.Declaring(func(c *core.Capabilities) {
			c.Ops["neg"] = core.Uniform(c.Ops["neg"].Version, dtype.Numbers&^dtype.SetOf(dtype.I32))
		})), func(c *core.Capabilities) { c.Ops["neg"] = core.Uniform(c.Ops["neg"].Version, dtype.Numbers) }), "neg/i32/matrix/plain"},
		{"claimed index type does not run", documented(ref.New(ref.Declaring(func(c *core.Capabilities) {
			g := c.Ops["gather"]
			g.Operands = []dtype.Set{g.Operands[0], dtype.SetOf(dtype.I64)}
			c.Ops["gather"] = g
		})), func(c *core.Capabilities) {
			g := c.Ops["gather"]
			g.Operands = []dtype.Set{g.Operands[0], dtype.SetOf(dtype.I64, dtype.I32)}
			c.Ops["gather"] = g
		}), "gather/f32-i32/rows/plain"},
		{"fewer buffers than claimed", documented(ref.New(ref.Declaring(func(c *core.Capabilities) { c.Limits.Buffers = 16 })),
			func(c *core.Capabilities) { c.Limits.Buffers = 0 }), "limits/buffers"},
	} {
		t.Run(m.name, func(t *testing.T) {
			caught(t, m.id, m.fault)
		})
	}
	for _, m := range []struct {
		name  string
		fault tampered
		id    string
	}{
		{"every extension is claimed", onDevice(func(d core.Device) core.Device { return agreeable{d} }), "extensions/unknown"},
		{"a type that is not claimed returns wrong results", documented(ref.New(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
			out, err := ref.Eval(n, in)
			if err == nil && n.Op == op.Neg && in[0].Desc.DType == dtype.F64 && len(out[0].F) > 0 {
				out[0].F[0]++
			}
			return out, err
		})), func(c *core.Capabilities) {
			c.Ops["neg"] = core.Uniform(c.Ops["neg"].Version, dtype.Numbers&^dtype.SetOf(dtype.F64))
		}), "document/neg"},
		{"fewer bytes than claimed", documented(ref.New(ref.Declaring(func(c *core.Capabilities) { c.Limits.Bytes = 1 << 12 })),
			func(c *core.Capabilities) { c.Limits.Bytes = 1 << 13 }), "limits/bytes"},
		{"more bytes than claimed", documented(ref.New(), func(c *core.Capabilities) { c.Limits.Bytes = 1 << 13 }), "limits/bytes"},
		{"fewer elements than claimed", documented(ref.New(ref.Declaring(func(c *core.Capabilities) { c.Limits.Elements = 1 << 12 })),
			func(c *core.Capabilities) { c.Limits.Elements = 1 << 13 }), "limits/elements"},
	} {
		t.Run(m.name, func(t *testing.T) { caughtAlone(t, m.id, m.fault) })
	}
}

// unstoppable is a backend that leaves its devices open when it is closed.
type unstoppable struct{ core.Backend }

func (unstoppable) Close() error { return nil }

func TestMutantBackendsAreCaught(t *testing.T) {
	t.Parallel()
	caughtAlone(t, "close/backend-at-work", tampered{Backend: unstoppable{ref.New()}})
}

// Arithmetic on 64-bit integers that is wrong beyond one 32-bit word is caught, and so is u8 arithmetic that takes bytes as signed.
func TestMutantWordsAreCaught(t *testing.T) {
	t.Parallel()
	low := func(v int64) int64 { return int64(uint32(v)) }
	for _, m := range []struct {
		name, id string
		plant    func(n *op.Node, in, out []ref.Tensor)
	}{
		{"carry is lost", "words/i64/add", func(n *op.Node, in, out []ref.Tensor) {
			for i := range out[0].I {
				if a, b := in[0].I[i], in[1].I[i]; n.Op == op.Add {
					out[0].I[i] = (a>>32+b>>32)<<32 | low(low(a)+low(b))
				}
			}
		}},
		{"high half of a product is lost", "words/i64/mul", func(n *op.Node, in, out []ref.Tensor) {
			for i := range out[0].I {
				if n.Op == op.Mul {
					out[0].I[i] = low(in[0].I[i]) * low(in[1].I[i])
				}
			}
		}},
		{"low words are compared signed", "words/i64/less", func(n *op.Node, in, out []ref.Tensor) {
			for i := range out[0].I {
				if a, b := in[0].I[i], in[1].I[i]; n.Op == op.Less && a>>32 == b>>32 {
					out[0].I[i] = 0
					if int32(a) < int32(b) {
						out[0].I[i] = 1
					}
				}
			}
		}},
		{"shift wraps at a word", "words/i64/shl", func(n *op.Node, in, out []ref.Tensor) {
			for i := range out[0].I {
				if n.Op == op.Shl {
					out[0].I[i] = in[0].I[i] << (in[1].I[i] & 31)
				}
			}
		}},
		{"bytes are signed", "words/u8/less", func(n *op.Node, in, out []ref.Tensor) {
			for i := range out[0].I {
				if n.Op == op.Less {
					out[0].I[i] = 0
					if int8(in[0].I[i]) < int8(in[1].I[i]) {
						out[0].I[i] = 1
					}
				}
			}
		}},
		{"bytes are converted as signed", "words/u8/cast-f32", func(n *op.Node, in, out []ref.Tensor) {
			for i := range out[0].F {
				if n.Op == op.Cast {
					out[0].F[i] = float64(int8(in[0].I[i]))
				}
			}
		}},
	} {
		t.Run(m.name, func(t *testing.T) {
			caught(t, m.id, tampered{Backend: ref.New(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
				out, err := ref.Eval(n, in)
				if err == nil {
					m.plant(n, in, out)
				}
				return out, err
			}))})
		})
	}
	t.Run("index loses its high word", func(t *testing.T) {
		caught(t, "words/i64/index-above", tampered{Backend: ref.New(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
			if n.Op == op.Gather {
				in = []ref.Tensor{in[0], in[1].Clone()}
				for i, v := range in[1].I {
					in[1].I[i] = low(v)
				}
			}
			return ref.Eval(n, in)
		}))})
	})
}
