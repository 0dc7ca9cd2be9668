package webgpu

import (
	"crypto/sha256"
	"fmt"
	"sync"
)

// maxPipelines bounds the pipelines that a device keeps, unless more are in use.
const maxPipelines = 2048

// pipelines holds the pipelines of a device of the implementation by their text, so that each is created only once. Several goroutines may
// use it.
type pipelines struct {
	calls Device
	// together reports whether the implementation can create several pipelines at the same time.
	together bool
	kept     int // number of times that idle has kept the device

	mu  sync.Mutex
	all map[pipelineKey]*kept
}

type pipelineKey [sha256.Size]byte

// kept is a pipeline and the number of its users.
type kept struct {
	Pipeline
	key   pipelineKey
	users int
}

func newPipelines(calls Device, together bool) *pipelines {
	return &pipelines{calls: calls, together: together, all: map[pipelineKey]*kept{}}
}

// get returns a pipeline as Device.NewPipeline does. The caller releases it with give.
func (x *pipelines) get(text, entry string, storage, uniform int) (*kept, error) {
	key := pipelineKey(sha256.Sum256(fmt.Append(nil, entry, "\n", storage, "\n", uniform, "\n", text)))
	if k := x.use(key, nil); k != nil {
		return k, nil
	}
	p, err := x.calls.NewPipeline(text, entry, storage, uniform)
	if err != nil {
		return nil, err
	}
	k := x.use(key, p)
	if k.Pipeline != p { // another goroutine was quicker
		p.Release()
	}
	return k, nil
}

// use counts a use of the pipeline that is held for key, and returns it. If none is held, use adds p, or returns nil if p is nil.
func (x *pipelines) use(key pipelineKey, p Pipeline) *kept {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := x.all[key]
	if k == nil {
		if p == nil {
			return nil
		}
		k = &kept{Pipeline: p, key: key}
		x.all[key] = k
	}
	k.users++
	return k
}

// give releases a use of a pipeline.
func (x *pipelines) give(k *kept) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if k.users--; k.users == 0 && len(x.all) > maxPipelines {
		delete(x.all, k.key)
		k.Release()
	}
}

// release releases all pipelines, which must not be in use.
func (x *pipelines) release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for key, k := range x.all {
		delete(x.all, key)
		k.Release()
	}
}
