package conformance

import (
	"context"
	"sync"
)

// crew runs cases of ops on several sessions at the same time. A case of the contract runs on the first session while the other
// sessions are idle, since it may measure time or memory, or end the backend.
type crew struct {
	sessions []*session
	options  Options

	mu   sync.Mutex // guards Progress
	done []*Result  // by the index of the case; nil: not executed
}

// crew returns a crew of s and n-1 further sessions of the same run. The caller closes s and the crew.
func (s *session) crew(ctx context.Context, n int) (*crew, error) {
	w := &crew{sessions: []*session{s}, options: s.options}
	for len(w.sessions) < n {
		o := &session{options: s.options, open: s.open, seeds: s.seeds, seed: s.seed, report: s.report, shared: s.shared}
		if err := o.ensure(ctx); err != nil {
			o.close()
			w.close()
			return nil, err
		}
		w.sessions = append(w.sessions, o)
	}
	return w, nil
}

// close closes all sessions except the first.
func (w *crew) close() {
	for _, s := range w.sessions[1:] {
		s.close()
	}
}

// run returns the results of cases, in their order. When ctx ends, cases that were not completed are left out.
func (w *crew) run(ctx context.Context, cases []testCase) []Result {
	w.done = make([]*Result, len(cases))
	for i := 0; i < len(cases) && ctx.Err() == nil; {
		if cases[i].spec == nil {
			w.one(ctx, w.sessions[0], cases, i)
			i++
			continue
		}
		end := i
		for end < len(cases) && cases[end].spec != nil {
			end++
		}
		w.ops(ctx, cases, i, end)
		i = end
	}
	var l []Result
	for _, r := range w.done {
		if r != nil {
			l = append(l, *r)
		}
	}
	return l
}

// ops runs the cases from i to end, each on the first session that is free.
func (w *crew) ops(ctx context.Context, cases []testCase, i, end int) {
	next := make(chan int)
	var wg sync.WaitGroup
	for _, s := range w.sessions {
		wg.Go(func() {
			for i := range next {
				w.one(ctx, s, cases, i)
			}
		})
	}
	for ; i < end && ctx.Err() == nil; i++ {
		next <- i
	}
	close(next)
	wg.Wait()
}

// one runs a case on s and stores its result, unless ctx ended meanwhile.
func (w *crew) one(ctx context.Context, s *session, cases []testCase, i int) {
	r := s.result(ctx, cases[i])
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil { // the case was cut short
		return
	}
	w.done[i] = &r
	if w.options.Progress != nil {
		w.options.Progress(r, len(cases))
	}
}
