package bench

import (
	"regexp"
	"testing"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/stretchr/testify/require"
)

// Every case is valid, has a unique name, and is supported by the cpu backend, directly or by a decomposition.
func TestCases(t *testing.T) {
	p, err := core.OpenPlace("cpu", core.Config{})
	require.NoError(t, err)
	defer p.Close()
	d, err := p.Open(t.Context())
	require.NoError(t, err)
	target := core.TargetOf("cpu", d)
	seen := map[string]bool{}
	for _, c := range Cases() {
		require.False(t, seen[c.Name], c.Name)
		seen[c.Name] = true
		ds := c.Descs()
		for i := range ds {
			ds[i].ID = op.TensorID(i + 1)
		}
		n, err := c.Node(ds)
		require.NoError(t, err)
		bytes, err := c.Bytes()
		require.NoError(t, err)
		require.Positive(t, bytes)
		if target.Supports(&n, ds) != nil {
			_, _, err = program.LowerNode(target, &n, ds, counter())
			require.NoError(t, err, c.Name)
		}
	}
	for _, set := range Sets() {
		require.NotEmpty(t, Select(Cases(), set, nil))
	}
	require.Len(t, Select(Cases(), "", regexp.MustCompile("^matmul/square/1024x1024x1024$")), 1)
	require.Empty(t, Select(Cases(), "nosuch", nil))
}

func counter() func() op.TensorID {
	last := op.TensorID(1000)
	return func() op.TensorID { last++; return last }
}
