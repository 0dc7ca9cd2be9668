package cpu

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/internal/long"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// openGuarded opens the backend with guard bands, which the suite checks after every case.
func openGuarded() (core.Backend, error) {
	return New(core.Config{Threads: 2, Options: map[string]string{"guard_bands": "128"}})
}

// TestConformance compares every claim with the reference backend: on all cases if long tests are enabled, otherwise on an eighth.
func TestConformance(t *testing.T) {
	o := conformance.Options{Sample: 8}
	if long.Tests() {
		o.Sample = 1
	}
	conformance.Run(t, openGuarded, o)
}

// TestGuardBandsCatchWritesBeyond plants a kernel of neg that writes the first byte after its result, or the last element
// before it. The results are right, and no other tensor changes, because buffers are rounded up and apart: only the
// guard bands reveal the write.
func TestGuardBandsCatchWritesBeyond(t *testing.T) {
	table := ruleTable()
	old := table[op.Neg]
	defer func() { table[op.Neg] = old }()
	for _, before := range []bool{false, true} {
		table[op.Neg].Prepare = func(n *op.Node, in []op.Desc) kernel.Func {
			f := old.Prepare(n, in)
			return func(c *kernel.Call) error {
				err := f(c)
				if out := c.Out[0]; err == nil && out.View.IsContiguous() {
					at := out.Buf.Size()
					if before {
						at = -out.DType.Size()
					}
					*(*byte)(unsafe.Add(out.Buf.Pointer(), at)) ^= 0xff
				}
				return err
			}
		}
		o := conformance.Options{Run: "^neg/f32/(matrix|odd|one)/plain$", Shrink: -1}
		r, err := conformance.Check(t.Context(), openGuarded, o)
		require.NoError(t, err)
		require.Positive(t, r.Failed)
		require.Zero(t, r.Passed)
		for _, x := range r.Results {
			require.Contains(t, x.Reason, "guard bands: byte")
		}
	}
}

func TestGuardBandsOption(t *testing.T) {
	for _, text := range []string{"-1", "1G", "x"} {
		_, err := New(core.Config{Options: map[string]string{"guard_bands": text}})
		require.ErrorIs(t, err, core.ErrAttr)
	}
}
