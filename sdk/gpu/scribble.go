package gpu

import "slices"

// scribble fills the memory that a run of a plan writes, except the fault word and donated inputs. A kernel that reads memory too early
// then does not get a right value by chance. The caller holds the queue's lock.
func (p *plan) scribble(q *queue, in, made []*block) error {
	pattern := q.device.options.Poison
	if pattern == 0 {
		return nil
	}
	fill := func(r Ref, n int64) error {
		if n == 0 {
			return nil
		}
		return q.device.fault(q.driver.Fill(r, n, uint32(pattern), 1))
	}
	if p.scratch > 0 {
		if err := fill(q.arena.ref(), p.scratch); err != nil {
			return err
		}
	}
	for _, b := range made {
		if slices.Contains(in, b) {
			continue
		}
		if err := fill(b.ref(), b.asked); err != nil {
			return err
		}
	}
	return nil
}
