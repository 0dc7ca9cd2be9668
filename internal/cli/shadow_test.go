package cli

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/plugins/cpu"
)

func TestShadow(t *testing.T) {
	model := digits + "digits.onnx"
	plainly := call(t, "run", model, "image="+digits+"digit_7.png", "--json")
	require.Equal(t, 0, plainly.code, plainly.err)
	r := call(t, "run", model, "image="+digits+"digit_7.png", "--shadow", "reference:100%", "--top", "3")
	require.Equal(t, 0, r.code, r.err)
	require.Regexp(t, `(?m)^shadow: [1-9][0-9]* compared with reference, 0 not, 0 differ$`, r.err)
	r = call(t, "run", model, digits+"digit_7.png", digits+"digit_0.png", "--shadow", "cpu:0.001%", "--top", "1")
	require.Equal(t, 0, r.code, r.err)
	require.Regexp(t, `(?m)^shadow: [01] compared with builtin:cpu, 0 not, 0 differ$`, r.err)
	for _, bad := range []string{"cpu", "cpu:1", "cpu:0%", "cpu:101%", ":1%", "cpu:x%", "none:1%"} {
		r = call(t, "run", model, "@zeros", "--shadow", bad)
		require.Equal(t, 2, r.code, bad)
		require.Contains(t, r.err, "--shadow")
	}
	r = call(t, "run", model, "@zeros", "--shadow", "cpu:1%", "--verify")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.err, "use only one of them")
}

// The shadow detects a device whose matmul, linear and conv are off by one percent.
func TestShadowFindsDifferences(t *testing.T) {
	var out, errOut bytes.Buffer
	a := &app{out: &out, err: &errOut}
	wrong := ref.New(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		results, err := ref.Eval(n, in)
		if err == nil && (n.Op == op.MatMul || n.Op == op.Linear || n.Op == op.Conv) {
			for i := range results[0].F {
				results[0].F[i] *= 1.01
			}
		}
		return results, err
	}))
	second, err := cpu.New(core.Config{Threads: 1})
	require.NoError(t, err)
	p, err := a.shadowed(t.Context(), &core.Place{Backend: wrong, Spec: "wrong"}, &core.Place{Backend: second, Spec: "builtin:cpu:0"}, 1)
	require.NoError(t, err)
	m, err := onnx.Load(digits+"digits.onnx", onnx.Options{})
	require.NoError(t, err)
	func() {
		s, dev, err := openSession(context.Background(), m, p)
		require.NoError(t, err)
		defer dev.Close()
		defer s.Close()
		feed, err := a.readInputs("digits.onnx", m, runFlags{inputs: []string{"@zeros"}})
		require.NoError(t, err)
		_, err = runOnce(t.Context(), dev, s, feed)
		require.NoError(t, err)
	}()
	require.ErrorContains(t, p.Close(), "results differ, the first: verify: ")
	require.Regexp(t, `(?m)^shadow: verify: .*the second backend`, errOut.String())
	require.Regexp(t, `(?m)^shadow: [1-9][0-9]* compared with builtin:cpu, 0 not, [1-9][0-9]* differ$`, errOut.String())
}
