package lower

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// rows is a group with reductions that is being lowered. It contains the nodes with their operands, in stages. Values (operands of the
// template and results of nodes) are numbered.
type rows struct {
	f          *form
	full       shape.Shape
	axes       []int
	count      int // elements of a row
	r          template.Rows
	in, side   []int // by operand: the number of its value
	operands   map[operand]int
	made       map[op.TensorID]int
	types      []dtype.DType // by number
	uniform    []bool        // by number: whether the value is equal for all elements of a row
	stage      []int         // by number: the pass before which it is computed
	inexact    map[int]bool  // numbers of values that are rounded differently from the reference
	coarse     bool          // whether all results have 16 bits
	steps      []rowStep
	producer   map[int]int // by number: the step that computes it
	passes     [][]int     // steps that are reductions, by pass
	once, each []int       // numbers of the results
	keep       []int       // numbers of the values that are kept
}

// operand is an input of the group, read in one of its spaces.
type operand struct {
	id    op.TensorID
	space string
}

// rowStep is one node.
type rowStep struct {
	n     *op.Node
	args  []int
	types []dtype.DType
	out   int
	red   *reducer
}

// rows returns the work of a group with reductions.
func (f *form) rows() (ir.Work, error) {
	n := &f.g.Nodes[f.x.Anchor]
	s := &rows{f: f, full: f.g.Desc(n.Inputs[0]).Shape, axes: reducedAxes(n), count: 1,
		operands: map[operand]int{}, made: map[op.TensorID]int{}, producer: map[int]int{}, inexact: map[int]bool{}}
	for _, a := range s.axes {
		s.count *= s.full[a]
	}
	for _, k := range f.x.Nodes() {
		if err := s.add(&f.g.Nodes[k]); err != nil {
			return ir.Work{}, err
		}
	}
	if err := s.results(); err != nil {
		return ir.Work{}, err
	}
	s.schedule()
	s.r.Name, s.r.Space, s.r.Axes = f.kernelName("rows"), s.full, s.axes
	s.r.Begin = s.begin
	return template.Reduce(f.t, &s.r), nil
}

// reducedAxes returns the axes along which a node reduces, in order.
func reducedAxes(n *op.Node) []int {
	if _, ok := n.Attrs.Get("axis"); ok {
		return []int{n.Attrs.Int("axis")}
	}
	return slices.Sorted(slices.Values(n.Attrs.Ints("axes")))
}

// number adds a value and returns its number.
func (s *rows) number(d dtype.DType, uniform bool, stage int) int {
	s.types, s.uniform, s.stage = append(s.types, d), append(s.uniform, uniform), append(s.stage, stage)
	return len(s.types) - 1
}

// add determines the operands of a node and numbers its result.
func (s *rows) add(n *op.Node) error {
	step := rowStep{n: n, red: reducers[n.Op]}
	space, stage, uniform := n.Outputs[0].Shape, 0, n.Op != op.Iota
	if step.red != nil {
		if in := s.f.g.Desc(n.Inputs[0]).Shape; !in.Equal(s.full) || !slices.Equal(reducedAxes(n), s.axes) {
			return fmt.Errorf("%v among reductions of %v along %v: %w", n, s.full, s.axes, core.ErrUnsupported)
		}
		space = s.full
	} else if n.Op == op.Reshape {
		space = s.f.g.Desc(n.Inputs[0]).Shape
	} else if _, err := s.spread(shape.View{Shape: space, Strides: make([]int, len(space))}); err != nil {
		space = s.full // the operand is broadcast
	}
	for _, id := range n.Inputs {
		v, ok := s.made[id]
		if !ok {
			var err error
			if v, err = s.operand(id, space); err != nil {
				return err
			}
		}
		step.args, step.types = append(step.args, v), append(step.types, s.f.g.Desc(id).DType)
		stage, uniform = max(stage, s.stage[v]), uniform && s.uniform[v]
	}
	if step.red != nil {
		for len(s.passes) <= stage {
			s.passes = append(s.passes, nil)
		}
		s.passes[stage] = append(s.passes[stage], len(s.steps))
		stage, uniform = stage+1, true
	}
	step.out = s.number(stored(n.Outputs[0].DType), uniform, stage)
	s.inexact[step.out] = !op.Lookup(n.Op).Tolerance.Exact || slices.ContainsFunc(step.args, func(v int) bool { return s.inexact[v] })
	s.made[n.Outputs[0].ID] = step.out
	s.producer[step.out] = len(s.steps)
	s.steps = append(s.steps, step)
	return nil
}

// operand returns the number of an input of the group that is read in a space: the full space, or the space of the rows, with the reduced
// axes kept or dropped.
func (s *rows) operand(id op.TensorID, space shape.Shape) (int, error) {
	key := operand{id, space.String()}
	if v, ok := s.operands[key]; ok {
		return v, nil
	}
	d := s.f.in[slices.Index(s.f.x.Inputs, id)]
	view, err := s.spread(d.View.Expand(space))
	if err != nil {
		return 0, err
	}
	d.View = view
	uniform := d.Number != nil || !slices.ContainsFunc(s.axes, func(a int) bool { return view.Strides[a] != 0 && view.Shape[a] != 1 })
	v := s.number(d.Type, uniform, 0)
	if uniform {
		for _, a := range s.axes {
			d.View.Strides[a] = 0
		}
		s.r.Side, s.side = append(s.r.Side, d), append(s.side, v)
	} else {
		s.r.In, s.in = append(s.r.In, d), append(s.in, v)
	}
	s.operands[key] = v
	return v, nil
}

// spread returns a view with the shape of the full space that repeats v. v has the shape of the full space or of the space of the rows.
func (s *rows) spread(v shape.View) (shape.View, error) {
	if v.Shape.Equal(s.full) {
		return shape.View{Shape: s.full, Strides: slices.Clone(v.Strides), Offset: v.Offset}, nil
	}
	wide := shape.View{Shape: s.full, Strides: make([]int, len(s.full)), Offset: v.Offset}
	i := 0
	for a, n := range s.full {
		reduced := slices.Contains(s.axes, a)
		if reduced && len(v.Shape) < len(s.full) {
			continue
		}
		if i == len(v.Shape) || !reduced && v.Shape[i] != n || reduced && v.Shape[i] != 1 {
			return v, fmt.Errorf("%v is no space of reductions of %v along %v: %w", v.Shape, s.full, s.axes, core.ErrUnsupported)
		}
		if !reduced {
			wide.Strides[a] = v.Strides[i]
		}
		i++
	}
	return wide, nil
}

// results determines the places of the results of the group.
func (s *rows) results() error {
	s.coarse = !slices.ContainsFunc(s.f.x.Outputs, func(o op.Desc) bool { return o.DType != dtype.F16 && o.DType != dtype.BF16 })
	for i, o := range s.f.x.Outputs {
		v, d := s.made[o.ID], s.f.out[i]
		view, err := s.spread(d.View)
		if err != nil {
			return err
		}
		d.View = view
		if s.uniform[v] && !o.Shape.Equal(s.full) || s.count == 1 && s.uniform[v] {
			for _, a := range s.axes {
				d.View.Strides[a] = 0
			}
			s.r.Once, s.once = append(s.r.Once, d), append(s.once, v)
			continue
		}
		s.r.Out, s.each = append(s.r.Out, d), append(s.each, v)
	}
	return nil
}

// schedule determines the operands that each pass reads, and the values that an earlier pass computes anyway and keeps for it.
func (s *rows) schedule() {
	computed := map[int]int{} // first pass that computes a per-element value
	var reads, all map[int]bool
	var visit func(v, pass int)
	visit = func(v, pass int) {
		if s.uniform[v] {
			return
		}
		k, isNode := s.producer[v]
		if !isNode {
			reads[slices.Index(s.in, v)] = true
			return
		}
		if p, ok := computed[v]; ok {
			if p < pass && !slices.Contains(s.keep, v) {
				s.keep = append(s.keep, v)
				s.r.Keep, s.r.From = append(s.r.Keep, s.types[v]), append(s.r.From, p)
			}
			return
		}
		computed[v] = pass
		for _, a := range s.steps[k].args {
			visit(a, pass)
		}
	}
	var reach func(v int)
	reach = func(v int) {
		if s.uniform[v] {
			return
		}
		k, isNode := s.producer[v]
		if !isNode {
			all[slices.Index(s.in, v)] = true
			return
		}
		for _, a := range s.steps[k].args {
			reach(a)
		}
	}
	lists := func(roots []int, pass int) (kept, anew []int) {
		reads, all = map[int]bool{}, map[int]bool{}
		for _, v := range roots {
			visit(v, pass)
			reach(v)
		}
		for i := range s.in {
			if reads[i] {
				kept = append(kept, i)
			}
			if all[i] {
				anew = append(anew, i)
			}
		}
		return kept, anew
	}
	for p, reductions := range s.passes {
		var roots []int
		for _, k := range reductions {
			roots = append(roots, s.steps[k].args[0])
		}
		pass := s.pass(reductions)
		pass.Reads, pass.All = lists(roots, p)
		s.r.Passes = append(s.r.Passes, pass)
	}
	s.r.Reads, s.r.All = lists(s.each, len(s.passes))
}

// pass returns one pass for several reductions. The state of the pass consists of the states of the reductions, one after the other.
func (s *rows) pass(reductions []int) template.Pass {
	var p template.Pass
	var widths []int
	for _, k := range reductions {
		st := s.steps[k].red.state(s.steps[k].types[0])
		p.State, widths = append(p.State, st...), append(widths, len(st))
	}
	p.Zero = func(b *ir.Builder) []ir.Value {
		var all []ir.Value
		for _, k := range reductions {
			all = append(all, s.steps[k].red.zero(b, s.steps[k].types[0])...)
		}
		return all
	}
	p.Join = func(b *ir.Builder, x, y []ir.Value) []ir.Value {
		var all []ir.Value
		for i, k := range reductions {
			at := len(all)
			all = append(all, s.steps[k].red.join(b, s.steps[k].types[0], x[at:at+widths[i]], y[at:at+widths[i]])...)
		}
		return all
	}
	return p
}
