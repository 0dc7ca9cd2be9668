package gpu

import (
	"context"
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/engine"
)

// idle is a queue that does nothing.
type idle struct{ Queue }

func (idle) Launch(*Launch) error               { return nil }
func (idle) Copy(Ref, Ref, int64) error         { return nil }
func (idle) Fill(Ref, int64, uint32, int) error { return nil }
func (idle) Record(bool) (Event, error)         { return reached{}, nil }
func (idle) Await(Event) error                  { return nil }

type reached struct{ Event }

func (reached) Done() (bool, error) { return true, nil }
func (reached) Wait() error         { return nil }
func (reached) Release()            {}

// BenchmarkNode measures the host time of a node whose plan is cached.
func BenchmarkNode(b *testing.B) {
	f := &fakeDriver{}
	x, err := (&author{driver: f, options: Options{NoCache: true}.withDefaults()}).Open(context.Background(), 0)
	if err != nil {
		b.Fatal(err)
	}
	d := x.(*device)
	eq, _ := d.OpenQueue()
	q := eq.(*queue)
	q.driver = idle{q.driver}
	desc := op.DescOf(dtype.F32, 64, 64)
	n, err := op.New(op.Add, []op.Desc{desc, desc})
	if err != nil {
		b.Fatal(err)
	}
	in, err := d.pool.alloc(&q.tenant, 64*64*4, forTensor)
	if err != nil {
		b.Fatal(err)
	}
	in.retain()
	c := engine.Call[*block]{Node: &n, In: []*block{in, in}, Descs: []op.Desc{desc, desc}, Out: make([]*block, 1)}
	b.ReportAllocs()
	for b.Loop() {
		if err := q.Execute(&c); err != nil {
			b.Fatal(err)
		}
		d.Release(c.Out[0])
	}
}
