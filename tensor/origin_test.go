package tensor_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/tensor"
)

// here returns the line of its caller, in the form of messages.
func here() string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf(" at %s:%d: ", file, line)
}

// TestBadLabel checks that the error for a label that is no class names the loss and the line that computed it, with and without
// gradients, wherever it is detected.
func TestBadLabel(t *testing.T) {
	d := open(t)
	place := d.Place()
	for _, recording := range []bool{false, true} {
		p := place
		if recording {
			p = autodiff.Device(place)
		}
		d, err := tensor.On(ctx, p)
		require.NoError(t, err)
		x, labels := d.Zeros(dtype.F32, 4, 3), tensor.From(d, []int64{0, 1, 7, 2})
		if recording {
			x = x.RequireGrad()
		}
		loss, at := x.CrossEntropyLoss(labels, tensor.ClassOptions{}), here()
		_, err = loss.AddScalar(1).Bytes(ctx)
		require.ErrorIs(t, err, core.ErrIndex)
		require.EqualError(t, err, "cross_entropy_loss f32[]"+at+"index 7 at position 2, want one in [0,3): index out of range")
		var node *core.NodeError
		require.ErrorAs(t, err, &node)
		if recording {
			grads, err := loss.Backward()
			if err == nil {
				_, err = grads.Of(x).Bytes(ctx)
			}
			require.ErrorContains(t, err, "cross_entropy_loss f32[]"+at)
		}
		for range 300 { // more than are recorded
			x.Gather(1, tensor.From(d, []int64{0}).Reshape(1, 1)).Release()
		}
		rows, at := d.Zeros(dtype.F32, 5, 2).Embedding(tensor.From(d, []int64{4, 9})), here()
		_, err = rows.Bytes(ctx)
		require.ErrorContains(t, err, "embedding f32[2,2]"+at)
		require.ErrorContains(t, err, "index 9 at position 1, want one in [0,5)")
		require.NoError(t, d.Close())
	}
}

// TestApart checks that errors distinguish devices of the same place.
func TestApart(t *testing.T) {
	plain := open(t)
	for want, p := range map[string]*core.Place{
		"builtin:cpu:0 with autodiff, want builtin:cpu:0 without autodiff": autodiff.Device(plain.Place()),
		"another opening of builtin:cpu:0, want builtin:cpu:0":             plain.Place(),
	} {
		d, err := tensor.On(ctx, p)
		require.NoError(t, err)
		err = tensor.Try(func() { plain.Ones(dtype.F32, 2).Add(d.Ones(dtype.F32, 2)) })
		require.ErrorContains(t, err, want)
		require.NoError(t, d.Close())
	}
}
