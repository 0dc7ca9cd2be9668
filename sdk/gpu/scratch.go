package gpu

// growScratch grows the scratch memory of the queue to at least n bytes. Graphs and frames notice that the memory has moved.
func (q *queue) growScratch(n int64) error {
	if n == 0 || q.arena != nil && q.arena.size >= n {
		return nil
	}
	q.mu.Lock()
	old := q.arena
	q.arena = nil
	q.mu.Unlock()
	if old != nil {
		q.device.pool.release(old)
	}
	if err := q.device.pool.makeRoom(&q.tenant, n); err != nil {
		return err
	}
	b, err := q.device.pool.alloc(&q.tenant, n, forScratch)
	if err != nil {
		return err
	}
	q.mu.Lock()
	q.arena = b
	q.mu.Unlock()
	q.grown = 0
	return nil
}

// lends reports whether a single node that needs a new block of size bytes should take the scratch memory. It should if, since the scratch
// memory was allocated, single nodes would otherwise have taken more than a quarter of its size from the driver. Steps that have not become
// a program yet need about as much memory as the program will, but not at the same time.
func (q *queue) lends(size int64) bool {
	if !q.single || size <= smallBlock {
		return false
	}
	q.grown += max(size, largeSegment)
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.arena != nil && q.arena.size > largeSegment && q.grown > q.arena.size/4
}

// vacate releases the scratch memory, unless a plan is being started, and reports whether it released any. Work that is started later on
// the queue runs after the work that uses it now.
func (q *queue) vacate() bool {
	q.mu.Lock()
	if q.running {
		q.mu.Unlock()
		return false
	}
	b := q.arena
	q.arena = nil
	q.mu.Unlock()
	if b == nil {
		return false
	}
	q.device.pool.release(b)
	return true
}

// growScratch allocates the memory that the frame lacks. The caller holds the queue's lock, which is released meanwhile.
func (f *frame) growScratch(q *queue) error {
	q.mu.Unlock()
	defer q.mu.Lock()
	if err := q.growScratch(f.plan.scratch); err != nil {
		return err
	}
	if f.need > 0 && f.own == nil {
		b, err := q.device.pool.alloc(&q.tenant, f.need, forScratch)
		if err != nil {
			return err
		}
		f.own = b
	}
	return nil
}
