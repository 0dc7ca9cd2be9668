package gpu

import (
	"context"
	"sync"

	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// Libraries take up to a tenth of a second for one answer, and compilers more for one kernel, and a plan needs them one after the other. So
// a program is planned as a draft first, which takes for granted that libraries have what they are asked for; then all questions
// are put at the same time, while the kernels of the draft are made. Where an answer is no, another draft asks for what follows from it.

// draft is what a plan takes, as far as it is known.
type draft struct {
	questions map[any]*offered
}

// mostDrafts is how many drafts of a program are made. What is asked behind them is asked one by one.
const mostDrafts = 3

// presumed is a candidate of a draft.
type presumed struct{}

func (presumed) Name() string                 { return "presumed" }
func (presumed) Workspace() int64             { return 0 }
func (presumed) Ready([]Ref) error            { return nil }
func (presumed) Call(Queue, []Ref, Ref) error { return nil }
func (presumed) Close()                       {}

// drafted asks the libraries what the plan of a program will ask, and begins to make its kernels.
func (d *device) drafted(ctx context.Context, p *program.Program, consts []*block) {
	for range mostDrafts {
		if len(d.libraries) == 0 || ctx.Err() != nil {
			return
		}
		b, groups := d.planner(p, consts, true)
		b.draft = &draft{questions: map[any]*offered{}}
		if b.batches(groups) != nil || len(b.draft.questions) == 0 {
			return // what is wrong is said when the plan is made
		}
		b.begin(ctx)
		var all sync.WaitGroup
		for _, o := range b.draft.questions {
			all.Go(func() { d.candidates(o) })
		}
		all.Wait()
	}
}

// candidates returns what libraries have for o; of a draft, what they are taken to have.
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

// begin has the kernels made that the plan needs by now, and does not wait for them.
func (b *builder) begin(ctx context.Context) {
	var ks []*ir.Kernel
	for _, k := range b.kernels {
		if k != nil {
			ks = append(ks, k)
		}
	}
	b.d.kernels.begin(ctx, ks)
}
