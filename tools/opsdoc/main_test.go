package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// The document in the tree equals the generated one.
func TestCurrent(t *testing.T) {
	natives, err := open(backends)
	require.NoError(t, err)
	var b bytes.Buffer
	write(&b, natives)
	data, err := os.ReadFile("../../docs/OPS.md")
	require.NoError(t, err)
	require.True(t, bytes.Equal(b.Bytes(), data), "docs/OPS.md is out of date: run go generate ./tools/opsdoc")
	for _, c := range op.All() {
		require.Contains(t, string(data), "\n### "+c.String()+"\n")
	}
}

func TestSection(t *testing.T) {
	c, ok := op.ByName("softmax")
	require.True(t, ok)
	var b bytes.Buffer
	section(&b, op.Lookup(c), []native{{"one", map[string]core.OpCapability{"softmax": core.Uniform(1, op.Lookup(c).Operands[0].Types)}}, {"two", nil}})
	require.Equal(t, `
### softmax

exp(x) over its sum along axis, without overflow.

Version 1 · composite · tolerance: 8 units per term · decomposition: yes

| operand | types |
|---|---|
| x | floats |

Results: y

| attribute | kind | default | meaning |
|---|---|---|---|
| axis | int | required | axis to normalise along |

- **C1** axis is in [0, rank)

Native on: one (floats)
`, b.String())
}
