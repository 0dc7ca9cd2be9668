package attack

import (
	"math/rand/v2"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/decorators/router"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/tensor"
)

// TestKillsUnderRouter kills a member of a router at random moments of a training on two members. Every result is right or
// core.ErrBackendLost, the other member continues, and no process is left over.
func TestKillsUnderRouter(t *testing.T) {
	kills := size(4, 100)
	const steps = 20
	dir := plugins(t)
	one := core.Config{Threads: 1}
	calm, err := host.Open(ctx, "builtin:cpu", host.Options{Config: one})
	require.NoError(t, err)
	defer calm.Close()
	reference := on(t, calm)
	train := func(d *tensor.Device) ([]byte, error) {
		tr := newTraining(d)
		for range steps {
			tr.step(d)
		}
		defer tr.w.Release()
		return tr.w.Bytes(ctx)
	}
	want, err := train(reference)
	require.NoError(t, err)

	round := func(r *rand.Rand) (lost bool) {
		members, pid := mortal(t, dir, r)
		b, err := router.New(members)
		require.NoError(t, err)
		d, err := tensor.On(ctx, &core.Place{Backend: b, Spec: "router"})
		require.NoError(t, err)
		timer := time.AfterFunc(time.Duration(r.IntN(6000))*time.Microsecond, func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
		got, err := train(d)
		if err == nil {
			require.Equal(t, want, got)
		} else {
			require.ErrorIs(t, err, core.ErrBackendLost)
		}
		timer.Stop()
		_ = syscall.Kill(pid, syscall.SIGKILL)
		for tries := 0; ; tries++ { // a write may still go to the lost member, which returns an error
			if got, err = train(d); err == nil {
				break
			}
			lost = true
			require.ErrorIs(t, err, core.ErrBackendLost)
			require.Less(t, tries, 3, "the other member must go on")
		}
		require.Equal(t, want, got)
		_ = d.Close() // may return the loss
		require.NoError(t, b.Close())
		require.Eventually(t, func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH }, 2*time.Minute, time.Millisecond)
		return lost
	}
	round(rand.New(rand.NewPCG(0, 5)))
	before, lost := runtime.NumGoroutine(), 0
	for i := range kills {
		if round(rand.New(rand.NewPCG(uint64(i), 5))) {
			lost++
		}
	}
	t.Logf("%d members killed, %d were missed", kills, lost)
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+2 }, 2*time.Minute, 10*time.Millisecond, "goroutines are left")
}

// mortal returns the two members of a router in random order, one of them a plugin process, and the pid of that process.
func mortal(t *testing.T, dir string, r *rand.Rand) (members []*core.Place, pid int) {
	one := core.Config{Threads: 1}
	process, err := host.Open(ctx, "process:cpu", host.Options{Config: one, Dirs: []string{dir}})
	require.NoError(t, err)
	builtin, err := host.Open(ctx, "builtin:cpu", host.Options{Config: one})
	require.NoError(t, err)
	pid, err = strconv.Atoi(process.Backend.(*client.Backend).PID())
	require.NoError(t, err)
	members = []*core.Place{process, builtin}
	if r.IntN(2) == 0 {
		members = []*core.Place{builtin, process}
	}
	return members, pid
}
