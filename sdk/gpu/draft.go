package gpu

import (
	"context"
	"sync"

	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// A library takes up to a tenth of a second for one answer, and a compiler takes longer for one kernel. A plan needs these answers and
// kernels one after the other. So a program is first planned as a draft that presumes a candidate for every query. After that, all queries
// run at the same time, while the kernels of the draft are compiled. Where a library has no candidate, another draft finds the queries that
// follow from that.

// draft holds the queries that a plan needs, as far as they are known, by key.
type draft struct {
	questions map[any]*offered
}

// maxDrafts is the greatest number of drafts that are made of a program. Later queries are made one by one.
const maxDrafts = 3

// presumed is a candidate of a draft.
type presumed struct{}

func (presumed) Name() string                 { return "presumed" }
func (presumed) Workspace() int64             { return 0 }
func (presumed) Ready([]Ref) error            { return nil }
func (presumed) Call(Queue, []Ref, Ref) error { return nil }
func (presumed) Close()                       {}

// drafted queries the libraries for everything that the plan of a program will need, and begins to compile its kernels.
func (d *device) drafted(ctx context.Context, p *program.Program, consts []*block) {
	for range maxDrafts {
		if len(d.libraries) == 0 || ctx.Err() != nil {
			return
		}
		b, groups := d.planner(p, consts, true)
		b.draft = &draft{questions: map[any]*offered{}}
		if b.batches(groups) != nil || len(b.draft.questions) == 0 {
			return // errors are reported when the plan is made
		}
		b.begin(ctx)
		var all sync.WaitGroup
		for _, o := range b.draft.questions {
			all.Go(func() { d.candidates(o) })
		}
		all.Wait()
	}
}

// candidates returns the libraries' candidates for o. In a draft, it returns a presumed candidate if the libraries were not queried for o
// before.
func (b *builder) candidates(o *offered) []Candidate {
	if b.draft == nil {
		return b.d.candidates(o)
	}
	key := o.key()
	b.d.asking.Lock()
	known := b.d.asked[key] != nil
	b.d.asking.Unlock()
	if known {
		return b.d.candidates(o)
	}
	if b.draft.questions[key] == nil {
		b.draft.questions[key] = o
	}
	return []Candidate{presumed{}}
}

// begin starts to compile the kernels that the plan needs so far, and does not wait for them.
func (b *builder) begin(ctx context.Context) {
	var ks []*ir.Kernel
	for _, k := range b.kernels {
		if k != nil {
			ks = append(ks, k)
		}
	}
	b.d.kernels.begin(ctx, ks)
}
