package graphs_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/goburn/burn/conformance/graphs"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/cpu"
)

// A backend computes the expected values of a random program that is submitted node by node.
func Example() {
	r := rand.New(rand.NewPCG(1, 2))
	g := graphs.Random(r)
	want, err := g.Expect(r)
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := cpu.New(core.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	got, err := g.Run(context.Background(), b, graphs.Nodes)
	fmt.Println(err, want.Check(got))
	// Output: <nil> <nil>
}
