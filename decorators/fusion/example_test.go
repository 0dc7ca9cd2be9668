package fusion_test

import (
	"context"
	"fmt"
	"time"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/fusion"
)

// A loop of two ops and a read runs as a program from its third round on.
func ExampleWrap() {
	ctx := context.Background()
	var report fusion.Report
	b := fusion.Wrap(ref.New(), fusion.With(&report), fusion.Idle(time.Minute))
	defer b.Close()
	d, err := b.Open(ctx, 0)
	if err != nil {
		panic(err)
	}
	s, err := d.OpenStream(ctx)
	if err != nil {
		panic(err)
	}
	x := op.Desc{ID: d.NewIDs(1), DType: dtype.F32, Shape: []int{2}}
	if err := s.Write(ctx, x, dtype.Bytes([]float32{1, 2})); err != nil {
		panic(err)
	}
	for range 5 {
		for _, code := range []op.Code{op.Neg, op.Abs} {
			n, err := op.New(code, []op.Desc{x})
			if err != nil {
				panic(err)
			}
			n.Outputs[0].ID, n.Drop = d.NewIDs(1), 1
			if err := s.Submit([]op.Node{n}, nil); err != nil {
				panic(err)
			}
			x = n.Outputs[0]
		}
		v := make([]float32, 2)
		if err := core.Read(ctx, s, x.ID, dtype.Bytes(v)); err != nil {
			panic(err)
		}
	}
	stats := report.Stats()[0]
	fmt.Println(stats.Windows, "windows,", stats.Hits, "ran as a program,", stats.Compiled, "was made")
	// Output:
	// 5 windows, 3 ran as a program, 1 was made
}
