package core

import (
	"fmt"
	"sync"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Capabilities is the document of a device's claims. The conformance suite tests all of it and nothing else. A document is exact: the
// device runs every node that Check allows, unless it has the extension Selective.
type Capabilities struct {
	// Types is every element type that tensors may have on this device.
	Types dtype.Set
	// Emulated is the part of Types for which the hardware has no arithmetic: i64 and u8 are required as types of storage and of indices,
	// and devices without them emulate them. This is only informative: claimed ops on these types are correct, but slow.
	Emulated dtype.Set
	// Flushes is the set of float types for which the device may flush subnormal operands and results of a node to zeros of the same sign.
	// Ops that only move elements may flush them or not.
	Flushes dtype.Set
	// Ops is the claims by op name.
	Ops map[string]OpCapability
	// Limits bounds every node. Its Rank is at least 1.
	Limits Limits
	// Deterministic: the same nodes on the same inputs compute the same bits in every run, and a program of one node computes the same
	// bits as the node by itself. A program of several nodes may round differently from its nodes one by one.
	Deterministic bool
	// Features names further features, to be displayed: "programs", "memory_stats". Code uses Extension instead.
	Features []string
}

// Limits bounds nodes. Zero means no bound, or for Rank the bound of the contract.
type Limits struct {
	Rank     int   // of each operand and result
	Bytes    int64 // of each operand and result
	Elements int64 // of each result: the number that the hardware can address in one launch
	Buffers  int   // operands and results of one node together
}

// OpCapability is the claim for one op.
type OpCapability struct {
	Version uint16
	// Operands lists the supported element types of each operand. The last entry also holds for all further operands. It is nil for ops
	// without operands.
	Operands []dtype.Set
	// Results lists the supported types of each result; nil allows all types that inference returns.
	Results []dtype.Set
	// Limits bounds nodes of this op, in addition to the limits of the device.
	Limits Limits
}

// Uniform returns the claim of an op whose operands and results may each have any of types.
func Uniform(version uint16, types dtype.Set) OpCapability {
	return OpCapability{Version: version, Operands: []dtype.Set{types}, Results: []dtype.Set{types}}
}

// Check returns nil if the document allows a node with inputs in, else an error that wraps ErrUnsupported and contains the reason.
func (c *Capabilities) Check(n *op.Node, in []op.Desc) error {
	row := op.Lookup(n.Op)
	claim, ok := c.Ops[row.Name]
	if !ok {
		return fmt.Errorf("%s version %d: %w", row.Name, n.Version, ErrUnsupported)
	}
	return c.check(row, &claim, n, in)
}

// check is like Check, given the claim of the node's op.
func (c *Capabilities) check(row *op.Row, claim *OpCapability, n *op.Node, in []op.Desc) error {
	if claim.Version != n.Version {
		return fmt.Errorf("%s version %d: %w", row.Name, n.Version, ErrUnsupported)
	}
	if err := c.types(row.Name, "operand", in, claim.Operands); err != nil {
		return err
	}
	if err := c.types(row.Name, "result", n.Outputs, claim.Results); err != nil {
		return err
	}
	for _, l := range [...]*Limits{&c.Limits, &claim.Limits} {
		if err := l.check(row.Name, in, n.Outputs); err != nil {
			return err
		}
	}
	return nil
}

func (c *Capabilities) types(name, what string, ds []op.Desc, allowed []dtype.Set) error {
	for i := range ds {
		set := c.Types
		if len(allowed) > 0 {
			set &= allowed[min(i, len(allowed)-1)]
		}
		if !set.Has(ds[i].DType) {
			return fmt.Errorf("%s: %s %d is %v, want %v: %w", name, what, i, ds[i], set, ErrUnsupported)
		}
	}
	return nil
}

func (l *Limits) check(name string, in, out []op.Desc) error {
	if l.Buffers > 0 && len(in)+len(out) > l.Buffers {
		return fmt.Errorf("%s: %d operands and results, at most %d: %w", name, len(in)+len(out), l.Buffers, ErrUnsupported)
	}
	if l.Rank <= 0 && l.Bytes <= 0 && l.Elements <= 0 {
		return nil
	}
	for i, ds := range [...][]op.Desc{in, out} {
		for k := range ds {
			d := &ds[k]
			switch {
			case l.Rank > 0 && len(d.Shape) > l.Rank:
				return fmt.Errorf("%s: rank %d, at most %d: %w", name, len(d.Shape), l.Rank, ErrUnsupported)
			case l.Bytes > 0 && int64(d.Bytes()) > l.Bytes:
				return fmt.Errorf("%s: %v, at most %d bytes a tensor: %w", name, *d, l.Bytes, ErrUnsupported)
			case i == 1 && l.Elements > 0 && int64(d.Shape.Size()) > l.Elements:
				return fmt.Errorf("%s: %v, at most %d elements a result: %w", name, *d, l.Elements, ErrUnsupported)
			}
		}
	}
	return nil
}

// TargetOf returns the target to which programs for a device of the named backend are lowered: its capabilities, and its answers for nodes
// if it is Selective. The target caches how nodes were lowered.
func TargetOf(name string, d Device) program.Target {
	caps := d.Capabilities()
	t := program.Target{Name: name, Supports: caps.checker(), Expanded: &program.Expansions{}}
	if sel, selective := Extension[Selective](d); selective {
		check := t.Supports
		t.Supports = func(n *op.Node, in []op.Desc) error {
			if err := check(n, in); err != nil {
				return err
			}
			return sel.Supports(n, in)
		}
	}
	return t
}

// checker returns a function like Check that does not look up claims by op names.
func (c *Capabilities) checker() func(n *op.Node, in []op.Desc) error {
	claims := sync.OnceValue(func() []*OpCapability {
		var list []*OpCapability
		for code := range op.Code(len(op.All()) + 1) {
			var claim *OpCapability
			if found, ok := c.Ops[op.Lookup(code).Name]; ok {
				claim = &found
			}
			list = append(list, claim)
		}
		return list
	})
	return func(n *op.Node, in []op.Desc) error {
		if list := claims(); int(n.Op) < len(list) && list[n.Op] != nil {
			return c.check(op.Lookup(n.Op), list[n.Op], n, in)
		}
		return c.Check(n, in)
	}
}

// Claim returns the claim of a kernel for the op of row. first contains the supported types of the first operand, or of the result if there
// are no operands. Other operands may have all types that the row allows.
func Claim(row *op.Row, first dtype.Set) OpCapability {
	c := OpCapability{Version: row.Version}
	if len(row.Operands) == 0 {
		c.Results = []dtype.Set{first}
		return c
	}
	for i, o := range row.Operands {
		set := o.Types
		if i == 0 {
			set = first
		}
		c.Operands = append(c.Operands, set)
	}
	return c
}
