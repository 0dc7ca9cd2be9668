package wire

import (
	"fmt"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// AppendQuery appends the query whether node n with inputs in is supported: the types of the inputs, then the node. All ids are numbered
// from 1 in order, so that equal queries have equal bytes.
func AppendQuery(b []byte, n *op.Node, in []op.Desc) []byte {
	var names names
	var ids ids
	names.init()
	anon := *n
	anon.Inputs, anon.Outputs, anon.Drop = make([]op.TensorID, len(in)), make([]op.Desc, len(n.Outputs)), 0
	b = append(b, byte(len(in)), byte(len(in)>>8))
	for i := range in {
		anon.Inputs[i] = op.TensorID(i + 1)
		b = appendType(b, in[i])
	}
	for i, o := range n.Outputs {
		o.ID = op.TensorID(len(in) + i + 1)
		anon.Outputs[i] = o
	}
	return appendNode(b, &anon, &names, &ids)
}

// DecodeQuery is the inverse of AppendQuery. It returns ErrUnsupported if this build does not have the op, and ErrProtocol for any other
// error in b.
func DecodeQuery(b []byte) (*op.Node, []op.Desc, error) {
	d := &Decoder{r: reader{b: b}}
	n := int(d.r.byte())
	n |= int(d.r.byte()) << 8
	if n > len(d.r.b)/2 {
		d.r.fail("%d inputs in %d bytes", n, len(d.r.b))
		n = 0
	}
	in := make([]op.Desc, n)
	for i := range in {
		in[i].ID = op.TensorID(i + 1)
		in[i].DType = d.r.dtype()
		in[i].Shape = d.r.shape(d.shapeOf)
	}
	c := &Command{}
	d.node(c)
	if err := d.r.end(); err != nil {
		return nil, nil, err
	}
	if len(c.Node.Inputs) != len(in) {
		return nil, nil, fmt.Errorf("wire: %w: %d inputs, %d types", core.ErrProtocol, len(c.Node.Inputs), len(in))
	}
	if c.Node.Op == op.NoOp {
		return nil, nil, UnknownOp(c.OpName, c.Node.Version)
	}
	return &c.Node, in, nil
}

// UnknownOp returns the error for an op that this build's table does not have.
func UnknownOp(name string, version uint16) error {
	what := "op"
	if strings.Contains(name, ".") {
		what = "custom op"
	}
	return fmt.Errorf("%s version %d: the plugin does not have this %s: %w", name, version, what, core.ErrUnsupported)
}
