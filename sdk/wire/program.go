package wire

import (
	"encoding/binary"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// appendProgram writes p. Names are numbered separately from the names of the stream, and ids start from zero.
func appendProgram(b []byte, p *program.Program) []byte {
	var n names
	var ids ids
	n.init()
	b = appendText(b, clip(p.Name, MaxText))
	for _, l := range [][]op.Desc{p.Inputs, p.Consts} {
		b = binary.AppendUvarint(b, uint64(len(l)))
		for _, d := range l {
			b = appendType(ids.append(b, d.ID), d)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(p.Nodes)))
	for i := range p.Nodes {
		b = appendNode(b, &p.Nodes[i], &n, &ids)
	}
	b = binary.AppendUvarint(b, uint64(len(p.Outputs)))
	for _, id := range p.Outputs {
		b = ids.append(b, id)
	}
	return b
}

// define reads the rest of a TagDefine command. The program is not checked.
func (d *Decoder) define(c *Command) {
	c.Request = d.r.uvarint()
	c.Number = d.r.uvarint()
	c.IDs = d.idList()
	in := Decoder{r: d.r}
	r := &in.r
	p := &program.Program{Name: r.text(MaxText)}
	for _, l := range []*[]op.Desc{&p.Inputs, &p.Consts} {
		*l = make([]op.Desc, r.count("tensors", 3))
		for i := range *l {
			(*l)[i] = in.desc()
		}
	}
	n := r.count("nodes", 5)
	p.Nodes = make([]op.Node, 0, min(n, 1024))
	var node Command
	for range n {
		in.node(&node)
		if r.err != nil {
			break
		}
		p.Nodes = append(p.Nodes, node.Node)
		if node.Node.Op == op.NoOp {
			c.Unknown = node.OpName
		}
		node = Command{}
	}
	p.Outputs = in.idList()
	d.r = *r
	c.Program = p
}
