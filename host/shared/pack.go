package shared

import (
	"fmt"
	"math"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// packer places nodes and descs for consecutive calls. It is not safe for concurrent use.
type packer struct {
	arena
	names map[string]uintptr // names of attributes
	words arena              // never reset
}

func (p *packer) desc(d op.Desc) uintptr {
	c := cDesc{head: headOf[cDesc](), id: uint64(d.ID), dtype: uint32(d.DType), rank: uint32(len(d.Shape))}
	for i, n := range d.Shape[:min(len(d.Shape), maxRank)] {
		c.dims[i] = int64(n)
	}
	return put(&p.arena, c)
}

func (p *packer) descs(ds []op.Desc) uintptr {
	list, address := zeroed[uintptr](&p.arena, len(ds))
	for i, d := range ds {
		list[i] = p.desc(d)
	}
	return address
}

// name places the name of an attribute, once.
func (p *packer) name(s string) uintptr {
	address, ok := p.names[s]
	if !ok {
		if p.names == nil {
			p.names = map[string]uintptr{}
		}
		address = p.words.text(s)
		p.names[s] = address
	}
	return address
}

func (p *packer) attr(at op.Attr) uintptr {
	v := at.Value
	c := cAttr{head: headOf[cAttr](), name: p.name(at.Name), kind: uint32(v.Kind())}
	switch v.Kind() {
	case op.KindString:
		c.text, c.count = p.text(v.Str()), uint64(len(v.Str()))
	case op.KindInts:
		ints, address := zeroed[int64](&p.arena, len(v.Ints()))
		for i, n := range v.Ints() {
			ints[i] = int64(n)
		}
		c.ints, c.count = address, uint64(len(ints))
	case op.KindFloats:
		c.floats, c.count = putAll(&p.arena, v.Floats()), uint64(len(v.Floats()))
	case op.KindScalar:
		c.f = v.Float()
		if _, isInt := v.Bits(); isInt {
			c.isInt, c.i = 1, v.Int()
		} else {
			c.i = toInt64(c.f)
		}
	case op.KindFloat:
		c.f = v.Float()
	default:
		c.i = v.Int()
	}
	return put(&p.arena, c)
}

// node packs n, with inputs in, under the library's number of its op.
func (p *packer) node(number uint32, n *op.Node, in []op.Desc) uintptr {
	attrs, attrsAt := zeroed[uintptr](&p.arena, len(n.Attrs))
	for i, at := range n.Attrs {
		attrs[i] = p.attr(at)
	}
	return put(&p.arena, cNode{head: headOf[cNode](), op: number, nInputs: uint32(len(in)), nOutputs: uint32(len(n.Outputs)),
		nAttrs: uint32(len(attrs)), inputs: p.descs(in), outputs: p.descs(n.Outputs), attrs: attrsAt})
}

func (p *packer) config(c core.Config) uintptr {
	var names, values []uintptr
	for k, v := range c.Options {
		names, values = append(names, p.text(k)), append(values, p.text(v))
	}
	return put(&p.arena, cConfig{head: headOf[cConfig](), threads: uint32(max(0, c.Threads)), nOptions: uint64(len(names)),
		names: putAll(&p.arena, names), values: putAll(&p.arena, values)})
}

// failure returns the error of a call that answered with code.
func (e *cError) failure(code int32) error {
	if code == 0 {
		return nil
	}
	err := core.ErrKernel
	if s := core.Sentinels(); code >= 1 && int(code) <= len(s) {
		err = s[code-1]
	}
	n := 0
	for n < errorText && e.text[n] != 0 {
		n++
	}
	if n > 0 {
		err = fmt.Errorf("%s: %w", e.text[:n], err)
	}
	return err
}

// toInt64 converts a float scalar to an integer: truncated, clamped to the range, 0 for NaN.
func toInt64(f float64) int64 {
	switch {
	case math.IsNaN(f):
		return 0
	case f >= 1<<63:
		return math.MaxInt64
	case f < -1<<63:
		return math.MinInt64
	}
	return int64(f)
}
