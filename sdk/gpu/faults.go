package gpu

import (
	"encoding/binary"
	"fmt"

	"github.com/goburn/burn/core"
)

// faultWords is the number of commands of a queue that may report faults between two marks. A further one forces a mark.
const faultWords = 1024

// faults holds words of device memory in which kernels report indices out of range, one word for each command. At a mark they are
// copied to the host and set to 0.
type faults struct {
	words *block
	used  int
	page  *page
	// check is the check of the command that executed last.
	check func() error
}

// page holds the words of the commands between two marks.
type page struct {
	stage  *stage
	values []byte // the words on the host, once they have arrived
}

// stride returns the distance between words in bytes. Each word can be bound as a buffer.
func (q *queue) stride() int { return max(4, q.device.target.Align) }

// reserve ensures that there is a word for the next command. The queue is not locked.
func (f *faults) reserve(q *queue) error {
	if f.words != nil {
		return nil
	}
	b, err := q.device.pool.alloc(&q.tenant, int64(q.stride())*faultWords, forScratch)
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	f.words = b
	q.seq++
	return q.device.fault(q.driver.Fill(b.ref(), int64(q.stride())*faultWords, 0, 4))
}

// word returns the word of the command that begins. The queue is locked.
func (f *faults) word(q *queue) (Ref, error) {
	if f.used == faultWords {
		if err := f.collect(q); err != nil {
			return Ref{}, err
		}
	}
	if f.page == nil {
		f.page = new(page)
	}
	r, p, i := f.words.ref(), f.page, q.stride()*f.used
	r.Offset += int64(i)
	f.used++
	f.check = func() error {
		if p.values == nil || binary.LittleEndian.Uint32(p.values[i:]) == 0 {
			return nil
		}
		return fmt.Errorf("an index lies outside its dimension: %w", core.ErrIndex)
	}
	return r, nil
}

// collect starts copying the used words to the host. The queue is locked.
func (f *faults) collect(q *queue) error {
	if f.used == 0 {
		return nil
	}
	p, n := f.page, q.stride()*f.used
	s := q.device.host.get(n)
	if s == nil {
		s = q.device.host.extra(n)
	}
	f.page, f.used = nil, 0
	q.seq++
	if err := q.driver.Download(s.data, f.words.ref()); err != nil {
		return q.device.fault(err)
	}
	q.after(func() {
		p.values = append([]byte(nil), s.data...)
		s.release()
	})
	q.seq++
	return q.device.fault(q.driver.Fill(f.words.ref(), int64(n), 0, 4))
}

func (f *faults) release(q *queue) {
	if f.words != nil {
		q.device.pool.release(f.words)
		f.words = nil
	}
}

// Check implements engine.Checked.
func (q *queue) Check() func() error {
	c := q.faults.check
	q.faults.check = nil
	return c
}
