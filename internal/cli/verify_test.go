package cli

import (
	"bytes"
	"testing"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/tensor"
	"github.com/stretchr/testify/require"
)

func TestRunVerify(t *testing.T) {
	args := []string{"run", digits + "digits.onnx", digits + "digit_7.png", "--top", "1"}
	plain := call(t, args...)
	require.Empty(t, plain.err)
	for with, name := range map[string]string{"--verify": "reference", "--verify=builtin:cpu": "builtin:cpu"} {
		r := call(t, append(args, with)...)
		require.Equal(t, 0, r.code, r.err)
		require.Regexp(t, `verify: \d\d results compared with `+name+`, 0 not, 0 faults\n$`, r.err)
		require.Equal(t, plain.out, r.out)
	}
	many := call(t, append(args, digits+"digit_3.png", "--verify")...)
	require.Equal(t, 0, many.code, many.err)
	require.Contains(t, many.err, "0 faults")

	r := call(t, append(args, "--verify=no-such-device")...)
	require.Equal(t, 2, r.code)
	require.Contains(t, r.err, "--verify: ")
}

// verified prints wrong results and the results that could not be compared, and Close returns an error.
func TestVerified(t *testing.T) {
	inexact := ref.New(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		out, err := ref.Eval(n, in)
		if err == nil && n.Op == op.Exp {
			for i := range out[0].F {
				out[0].F[i] *= 1.01
			}
		}
		return out, err
	}))
	lesser := ref.New(ref.Claiming(func(c op.Code) bool { return c != op.Sin }))
	var errs bytes.Buffer
	a := &app{err: &errs}
	p, err := a.verified(t.Context(), &core.Place{Backend: inexact, Spec: "inexact:0"}, &core.Place{Backend: lesser, Spec: "lesser:0"})
	require.NoError(t, err)
	dev, err := tensor.On(t.Context(), p)
	require.NoError(t, err)
	x := tensor.From(dev, []float32{1, 2}, 2)
	y, err := tensor.Data[float32](t.Context(), x.Exp().Sin().Abs())
	require.NoError(t, err)
	require.Len(t, y, 2)
	require.NoError(t, dev.Close())
	require.ErrorContains(t, p.Close(), "verify: 1 faults, the first: verify: exp")
	require.Regexp(t, `^difference: verify: exp .* got 2\.745.* at element 0, the second backend 2\.718.*
verify: not compared: sin \(1\): .*
verify: 2 results compared with lesser, 1 not, 1 faults
$`, errs.String())
}
