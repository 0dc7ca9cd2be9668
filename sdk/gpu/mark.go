package gpu

import "sync"

// mark is a place in a queue: an event of the driver, which is released as soon as it is known to be reached.
type mark struct {
	queue *queue
	seq   uint64 // number of works of the queue before the mark

	mu    sync.Mutex // guards the fields below
	event Event
	users int // number of present uses of the event, which do not hold mu
	done  bool
	err   error
}

// Wait implements engine.Mark. Copies to the host before the mark are complete afterwards.
func (m *mark) Wait() error {
	_, err := m.reached(true)
	return err
}

// reached reports whether the queue has reached the mark. With wait it waits until then. An error is a fault of the work before the mark.
func (m *mark) reached(wait bool) (bool, error) {
	m.mu.Lock()
	if m.done {
		defer m.mu.Unlock()
		return true, m.err
	}
	m.users++
	e := m.event
	m.mu.Unlock()
	done, err := true, error(nil)
	if wait {
		err = e.Wait()
	} else {
		done, err = e.Done()
	}
	if err != nil {
		done, err = true, m.queue.device.fault(err)
	}
	if done {
		m.queue.passed(m.seq)
	}
	m.leave(done, err)
	return done, err
}

// leave ends a use of the event.
func (m *mark) leave(done bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.users--
	if done && !m.done {
		m.done, m.err = true, err
	}
	if m.done && m.users == 0 && m.event != nil {
		m.event.Release()
		m.event = nil
	}
}

// before calls f with the event, unless it has been reached.
func (m *mark) before(f func(Event) error) error {
	m.mu.Lock()
	if m.done {
		defer m.mu.Unlock()
		return m.err
	}
	m.users++
	e := m.event
	m.mu.Unlock()
	err := f(e)
	m.leave(false, nil)
	return err
}
