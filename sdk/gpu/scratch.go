package gpu

// room makes the scratch memory of the queue at least n bytes. Graphs and frames notice that it moved.
func (q *queue) room(n int64) error {
	if n == 0 || q.arena != nil && q.arena.size >= n {
		return nil
	}
	q.vacate()
	b, err := q.device.pool.alloc(&q.tenant, n, forScratch)
	if err != nil {
		return err
	}
	q.mu.Lock()
	q.arena = b
	q.mu.Unlock()
	return nil
}

// vacate gives the scratch memory back, and reports whether there was some. What is started later on the queue comes after what
// uses it now.
func (q *queue) vacate() bool {
	q.mu.Lock()
	b := q.arena
	q.arena = nil
	q.mu.Unlock()
	if b == nil {
		return false
	}
	q.device.pool.release(b)
	return true
}
