package client

import (
	"errors"
	"sync"

	"github.com/goburn/burn/core"
)

// missed is the failure that a plugin told a Sync whose caller had gone: it belongs to the next one.
type missed struct {
	mu  sync.Mutex
	err error
}

// keep takes the late answer to a Sync.
func (m *missed) keep(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil && !errors.Is(err, core.ErrCanceled) {
		m.err = err
	}
}

// first gives the failure that came first, once: the kept one, or that of the present Sync.
func (m *missed) first(err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		err, m.err = m.err, nil
	}
	return err
}
