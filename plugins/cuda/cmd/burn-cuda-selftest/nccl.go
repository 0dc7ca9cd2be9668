package main

import (
	"errors"
	"fmt"

	"github.com/goburn/burn/plugins/cuda/internal/nv"
)

// ncclChecks runs every collective over all devices of the machine, which may be a single device.
func (b *bench) ncclChecks() {
	b.check("nccl", func() (string, error) {
		c := b.libs.NCCL
		if c == nil {
			return "", skip("no NCCL")
		}
		d := b.d
		n := d.Devices
		type rank struct {
			ctx nv.Context
			s   nv.Stream
			p   nv.Ptr
		}
		ranks, devices := make([]rank, n), make([]nv.Device, n)
		for i := range ranks {
			r := &ranks[i]
			var err error
			if devices[i], err = d.Device(i); err != nil {
				return "", err
			}
			if r.ctx, err = d.RetainPrimary(devices[i]); err != nil {
				return "", err
			}
			if err = d.SetCurrent(r.ctx); err != nil {
				return "", err
			}
			if r.s, err = d.NewStream(0); err != nil {
				return "", err
			}
			if r.p, err = d.Alloc(1 << 16); err != nil {
				return "", err
			}
			if err = d.Set32(r.p, uint32(i+1), 1<<14, r.s); err != nil {
				return "", err
			}
		}
		comms, err := c.InitAll(devices)
		if err != nil {
			return "", errors.Join(err, d.SetCurrent(b.ctx))
		}
		all := func(what string, f func(i int, r *rank) error) error {
			err := c.GroupStart()
			for i := range ranks {
				err = errors.Join(err, f(i, &ranks[i]))
			}
			if err = errors.Join(err, c.GroupEnd()); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			for i := range ranks {
				err = errors.Join(err, d.SetCurrent(ranks[i].ctx), d.SynchronizeStream(ranks[i].s), c.AsyncError(comms[i]))
			}
			return err
		}
		const words = 256
		sum := int32(n * (n + 1) / 2)
		err = errors.Join(
			all("all-reduce", func(i int, r *rank) error {
				return c.AllReduce(comms[i], r.p, r.p+16384, words, nv.NCCLI32, nv.NCCLSum, r.s)
			}),
			all("all-gather", func(i int, r *rank) error { return c.AllGather(comms[i], r.p, r.p+20480, words, nv.NCCLI32, r.s) }),
			all("reduce-scatter", func(i int, r *rank) error {
				return c.ReduceScatter(comms[i], r.p, r.p+32768, words, nv.NCCLI32, nv.NCCLMax, r.s)
			}),
			all("broadcast", func(i int, r *rank) error { return c.Broadcast(comms[i], r.p, r.p+40960, words, nv.NCCLI32, n-1, r.s) }))
		for i := range ranks {
			if err != nil {
				break
			}
			if err = d.SetCurrent(b.ctx); err != nil { // unified addressing: the default context can read the memory of all devices
				break
			}
			var v []int32
			for _, at := range []struct {
				offset nv.Ptr
				want   int32
			}{{16384, sum}, {20480, 1}, {20480 + nv.Ptr(n-1)*words*4, int32(n)}, {32768, int32(n)}, {40960, int32(n)}} {
				if v, err = download[int32](b, ranks[i].p+at.offset, words); err == nil {
					err = ints(v, at.want, at.want)
				}
				if err != nil {
					err = fmt.Errorf("device %d, offset %d: %w", i, at.offset, err)
					break
				}
			}
		}
		for i := range ranks {
			err = errors.Join(err, c.Destroy(comms[i]), d.SetCurrent(ranks[i].ctx), d.Free(ranks[i].p), d.DestroyStream(ranks[i].s), d.ReleasePrimary(devices[i]))
		}
		return fmt.Sprintf("%d devices", n), errors.Join(err, d.SetCurrent(b.ctx))
	})
}
