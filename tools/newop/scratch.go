package main

// scratch is a new op, with the edits that an op needs, and the files that it must have.
type scratch struct {
	name  string
	edits []edit
	needs []need
}

// need is a file that an op must edit, and the test that fails without the edit.
type need struct{ file, test, pkg string }

var scratches = map[string]scratch{"composite": composite, "primitive": primitive}

// composite is x·tanh(x), an activation.
var composite = scratch{
	name: "scratch_swishish",
	edits: []edit{
		{"core/op/codes.go", "\tThresholdedRelu\n", "\tScratchSwishish\n"},
		{"core/op/table_activation.go", "\nvar activationRows = []entry{\n",
			"\tactivation(ScratchSwishish, \"scratch_swishish\", \"x·tanh(x).\", ulps(16)),\n"},
		{"core/op/table_activation.go", "\nvar activationRules = map[Code]Decomposition{\n",
			"\tScratchSwishish: wideOne(func(b *Builder, x []Desc, _ Attrs) Desc { return b.Do(Mul, x[0], b.Do(Tanh, x[0])) }),\n"},
		{"conformance/ref/activation.go", "\nvar activationKernels = map[op.Code]kernel{\n",
			"\top.ScratchSwishish: activation(func(_ element, x float64) float64 { return x * math.Tanh(x) }),\n"},
		{"core/program/gradient/rules_activation.go", "\nvar activationRules = map[op.Code]Rule{\n", `	op.ScratchSwishish: fromX(func(g *grad, x, dy op.Desc) op.Desc { // tanh(x) + x·(1-tanh(x)²)
		t := g.Do(op.Tanh, x)
		return g.mul(dy, g.add(t, g.sub(x, g.mul(x, g.mul(t, t)))))
	}),
`},
		{"model/onnx/ops_activation.go", "\tregister(\"SwiGLU\", 28, swiglu)\n", `	registerIn("scratch", "ScratchSwishish", 1, func(t *tracer, n *node) []value {
		t.need(n, 0)
		return []value{t.do(op.ScratchSwishish, []value{n.input(0)})}
	})
`},
		{"tensor/activation.go", "func (t *Tensor) Mish() *Tensor { return t.un(op.Mish) }\n", `
// ScratchSwishish is t·tanh(t).
func (t *Tensor) ScratchSwishish() *Tensor { return t.un(op.ScratchSwishish) }
`},
	},
	needs: []need{{"conformance/ref/activation.go", "TestDecompositions", "./core/op"}},
}

// primitive is x·x·x, a unary op that every backend would have to compute.
var primitive = scratch{
	name: "scratch_cube",
	edits: []edit{
		{"core/op/codes.go", "\tIsNaN\n", "\tScratchCube\n"},
		{"core/op/table_elementwise.go", "\nvar unaryRows = []entry{\n",
			"\tunary(ScratchCube, \"scratch_cube\", \"x·x·x.\", dtype.Floats, ulps(4), Domain{Lo: -10, Hi: 10}),\n"},
		{"conformance/ref/unary.go", "\nvar unaryKernels = map[op.Code]kernel{\n",
			"\top.ScratchCube: floats(func(x float64) float64 { return x * x * x }),\n"},
		{"conformance/ref/testdata/gen.py", "case(\"erf\", [x], np.array([math.erf(v) for v in x]))\n",
			"cubes = np.array([0.5, -2.0, 3.0, 0.0])\ncase(\"scratch_cube\", [cubes], cubes**3)\n"},
		{"conformance/ref/testdata/golden.json", "[\n", `{"op":"scratch_cube","attrs":{},"inputs":[{"dtype":"f64","shape":[4],"data":[0.5,-2.0,3.0,0.0]}],` +
			`"outputs":[{"dtype":"f64","shape":[4],"data":[0.125,-8.0,27.0,0.0]}]},` + "\n"},
		{"plugins/cpu/internal/elementwise/rules.go", "\tput(prepareTest, op.IsNaN, op.IsInf)\n", `	put(func(n *op.Node, in []op.Desc) kernel.Func {
		if in[0].DType == dtype.F64 {
			return unaryOf(n.Op, cube[float64])
		}
		return unaryOf(n.Op, cube[float32])
	}, op.ScratchCube)
`},
		{"plugins/cpu/internal/elementwise/rules.go", "\treturn rules\n}\n", `
func cube[T float](d, x []T) {
	for i, v := range x {
		d[i] = v * v * v
	}
}
`},
		{"core/program/gradient/rules_elementwise.go", "\nvar elementwiseRules = map[op.Code]Rule{\n",
			"\top.ScratchCube: fromX(func(g *grad, x, dy op.Desc) op.Desc { return g.mul(dy, g.times(g.mul(x, x), 3)) }),\n"},
		{"sdk/gpu/lower/scalar_float.go", "\nvar floatRules = map[op.Code]scalarRule{\n",
			"\top.ScratchCube: func(s *scalar) ir.Value { return s.Mul(s.x[0], s.Mul(s.x[0], s.x[0])) },\n"},
		{"model/onnx/export/rules_elementwise.go", "\tm := map[op.Code]rule{\n", `		op.ScratchCube: made(func(e *emitter, _ *node, in []string) string {
			return e.node("Mul", []string{in[0], e.node("Mul", []string{in[0], in[0]})})
		}),
`},
	},
	needs: []need{
		{"conformance/ref/testdata/golden.json", "TestGolden", "./conformance/ref"},
		{"plugins/cpu/internal/elementwise/rules.go", "TestEveryPrimitiveHasAKernelForEveryType", "./plugins/cpu"},
		{"core/program/gradient/rules_elementwise.go", "TestComplete", "./core/program/gradient"},
		{"sdk/gpu/lower/scalar_float.go", "TestComplete", "./sdk/gpu/lower"},
		{"model/onnx/export/rules_elementwise.go", "TestEveryPrimitive", "./model/onnx/export"},
	},
}
