package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/goburn/burn"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/tensor"
)

// memory contains the memory in use at some moment of a soak, in bytes, and the number of tensors.
type memory struct {
	at              time.Duration
	inUse, reserved int64 // memory of the device, as the backend reports it
	tensors         int64
	own, children   int64 // resident memory of this process and of its plugins
	card            int64 // memory in use on the whole card, as nvidia-smi reports it; 0 without nvidia-smi
}

// soakWork is one kind of work. once creates all tensors that it needs, and releases them before it returns.
type soakWork struct {
	name string
	once func(ctx context.Context, s *soaker) error
}

var soakWorks = []soakWork{
	{"program", soakProgram}, {"eager", soakEager}, {"copies", soakCopies}, {"training", soakTraining}, {"stream", soakStream},
}

type soaker struct {
	dev    *tensor.Device
	rand   *rand.Rand
	model  *soakModel
	opt    *optim.AdamW
	params []nn.Named
	unit   int // sizes are multiples of it
}

// soakModel is a model of a convolution, a normalisation and a product.
type soakModel struct {
	Conv *nn.Conv2d
	Norm *nn.BatchNorm
	Head *nn.Linear
}

func runSoak(ctx context.Context, args []string, out io.Writer) (err error) {
	f := flag.NewFlagSet("soak", flag.ContinueOnError)
	device := f.String("device", "cuda:0", "`DEVICE` of burn")
	total := f.Duration("time", 20*time.Minute, "how long to work")
	every := f.Duration("every", 5*time.Second, "time between samples of the memory")
	path := f.String("csv", "", "`FILE` for the samples, written as they come")
	fusion := f.Bool("fusion", true, "what repeats runs as programs of the device")
	unit := f.Int("unit", 64, "`N` that sizes are multiples of")
	if err := f.Parse(args); err != nil {
		return err
	}
	options := []burn.Option{burn.WithGradients(), burn.WithHost(host.Options{Containment: os.Getenv("BURN_PLUGIN_CONTAINMENT")})}
	if !*fusion {
		options = append(options, burn.WithoutFusion())
	}
	dev, err := burn.Open(ctx, *device, options...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	log := io.Discard
	if *path != "" {
		w, fault := os.Create(*path)
		if fault != nil {
			return fault
		}
		defer func() { err = errors.Join(err, w.Close()) }()
		log = w
	}
	s := &soaker{dev: dev, rand: rand.New(rand.NewPCG(1, 2)), unit: *unit}
	err = tensor.Try(s.prepare)
	if err != nil {
		return err
	}
	fmt.Fprintln(log, "seconds,in_use,reserved,tensors,own_rss,children_rss,card_used")
	var list []memory
	start, next, rounds := time.Now(), time.Duration(0), 0
	for time.Since(start) < *total {
		for _, w := range soakWorks {
			var err error
			terr := tensor.Try(func() { err = w.once(ctx, s) })
			if err = errors.Join(err, terr); err != nil {
				return fmt.Errorf("%s, round %d, after %v: %w", w.name, rounds, time.Since(start).Round(time.Second), err)
			}
		}
		rounds++
		if at := time.Since(start); at >= next {
			next = at + *every
			m, err := s.sample(ctx, at)
			if err != nil {
				return err
			}
			list = append(list, m)
			fmt.Fprintf(log, "%.1f,%d,%d,%d,%d,%d,%d\n", at.Seconds(), m.inUse, m.reserved, m.tensors, m.own, m.children, m.card)
		}
	}
	fmt.Fprintf(out, "soak on %s: %d rounds of %d kinds of work in %v, %d samples\n", *device, rounds, len(soakWorks), time.Since(start).Round(time.Second), len(list))
	return flat(out, list)
}

// flat prints the greatest value of each kind of memory in the second and in the last quarter of the samples. It returns an error
// if one has grown by more than a twentieth plus 32 MiB. The first quarter does not count, because pools and caches still grow.
func flat(out io.Writer, list []memory) error {
	if len(list) < 8 {
		return fmt.Errorf("%d samples, want 8 or more: run longer", len(list))
	}
	quarter := len(list) / 4
	var grown []string
	fmt.Fprintf(out, "| memory | second quarter, MiB | last quarter, MiB | |\n|---|---:|---:|---|\n")
	for _, k := range []struct {
		name string
		of   func(m memory) int64
	}{
		{"in use", func(m memory) int64 { return m.inUse }}, {"reserved", func(m memory) int64 { return m.reserved }},
		{"this process", func(m memory) int64 { return m.own }}, {"plugins", func(m memory) int64 { return m.children }},
		{"card", func(m memory) int64 { return m.card }},
	} {
		greatest := func(part []memory) (most int64) {
			for _, m := range part {
				most = max(most, k.of(m))
			}
			return most
		}
		was, is := greatest(list[quarter:2*quarter]), greatest(list[len(list)-quarter:])
		verdict := "flat"
		if is > was+was/20+32<<20 {
			verdict = "grown"
			grown = append(grown, k.name)
		}
		fmt.Fprintf(out, "| %s | %.1f | %.1f | %s |\n", k.name, float64(was)/(1<<20), float64(is)/(1<<20), verdict)
	}
	if len(grown) > 0 {
		return fmt.Errorf("memory has grown: %s", strings.Join(grown, ", "))
	}
	return nil
}

func (s *soaker) prepare() {
	s.dev.Seed(1)
	s.model = &soakModel{Conv: nn.NewConv2d(s.dev, 3, 16, [2]int{3, 3}, nn.ConvConfig{}), Norm: nn.NewBatchNorm(s.dev, 16, nn.BatchNormConfig{}), Head: nn.NewLinear(s.dev, 16*4*4, 10, nn.LinearConfig{})}
	s.opt, s.params = optim.NewAdamW(optim.AdamWConfig{}), nn.Trained(s.model)
}

func (s *soaker) size() int { return s.unit * (1 + s.rand.IntN(8)) }

// soakProgram defines a program of a new shape, runs it and checks a result that is known in advance.
func soakProgram(ctx context.Context, s *soaker) (err error) {
	n := s.size()
	c := product("soak", dtype.F32, n, 0)
	p, err := c.program()
	if err != nil {
		return err
	}
	e, err := s.dev.Compile(ctx, p, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	x, y := s.dev.Full(dtype.F32, 0.5, n, n), s.dev.Full(dtype.F32, 2, n, n)
	defer x.Release()
	defer y.Release()
	for range 4 {
		outs, err := e.RunOn(s.dev, []*tensor.Tensor{x, y}, nil)
		if err != nil {
			return err
		}
		mean := outs[0].Mean()
		v, err := mean.Float64(ctx)
		outs[0].Release()
		mean.Release()
		if err != nil {
			return err
		}
		if math.Abs(v-float64(n)) > 1e-3*float64(n) {
			return fmt.Errorf("a product of %d is %v on average, want %d", n, v, n)
		}
	}
	return nil
}

// soakEager runs ops of sizes that rarely repeat.
func soakEager(ctx context.Context, s *soaker) (err error) {
	tensor.Scope(s.dev, func(d *tensor.Device) []*tensor.Tensor {
		rows, columns := s.size()+s.rand.IntN(13), s.size()+s.rand.IntN(13)
		x := d.Uniform(dtype.F32, -1, 1, rows, columns)
		y := x.Gelu().Softmax(-1).MatMul(x.T()).Permute(1, 0).Sum()
		var v float64
		if v, err = y.Float64(ctx); err == nil && math.IsNaN(v) {
			err = errors.New("a sum is NaN")
		}
		return nil
	})
	return err
}

func soakCopies(ctx context.Context, s *soaker) error {
	v := make([]float32, s.size()*1024)
	v[len(v)-1] = 3
	x := tensor.From(s.dev, v, len(v))
	defer x.Release()
	y := x.MulScalar(2)
	defer y.Release()
	got, err := tensor.Data[float32](ctx, y)
	if err == nil && got[len(got)-1] != 6 {
		err = fmt.Errorf("a copy came back as %v, want 6", got[len(got)-1])
	}
	return err
}

func soakTraining(ctx context.Context, s *soaker) (err error) {
	for range 4 {
		var grads *tensor.Gradients
		tensor.Scope(s.dev, func(d *tensor.Device) []*tensor.Tensor {
			x, y := d.Uniform(dtype.F32, 0, 1, 32, 3, 16, 16), d.RandomInt(dtype.I64, 0, 10, 32)
			h := s.model.Norm.Forward(s.model.Conv.Forward(x)).Relu().AdaptiveAvgPool(4, 4).FlattenFrom(1, -1)
			if grads, err = s.model.Head.Forward(h).CrossEntropyLoss(y, tensor.ClassOptions{}).Backward(); err != nil {
				return nil
			}
			for _, p := range s.params {
				grads.Of(p.Value()).Keep()
			}
			return nil
		})
		if err != nil {
			return err
		}
		err = s.opt.Step(1e-3, s.params, grads)
		grads.GiveUp().Release()
		if err != nil {
			return err
		}
	}
	return s.dev.Sync(ctx)
}

// soakStream works on a separate stream.
func soakStream(ctx context.Context, s *soaker) (err error) {
	d, err := s.dev.NewStream(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	x := d.Uniform(dtype.F32, 0, 1, s.size(), s.size())
	defer x.Release()
	y := x.CumSum(0)
	defer y.Release()
	return d.Sync(ctx)
}

func (s *soaker) sample(ctx context.Context, at time.Duration) (m memory, err error) {
	if err := s.dev.Sync(ctx); err != nil {
		return m, err
	}
	m.at = at
	if x, ok := s.dev.Memory(); ok {
		m.inUse, m.reserved, m.tensors = x.InUse, x.Reserved, x.Tensors
	}
	m.own = resident("self")
	m.children = childrenOf(os.Getpid())
	if b, err := exec.CommandContext(ctx, "nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "-i", "0").Output(); err == nil {
		n, _ := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
		m.card = n << 20
	}
	return m, nil
}

// resident returns the resident memory of a process, given by its number or "self"; 0 on systems other than Linux.
func resident(pid string) int64 {
	b, _ := os.ReadFile(filepath.Join("/proc", pid, "statm"))
	if f := strings.Fields(string(b)); len(f) > 1 {
		n, _ := strconv.ParseInt(f[1], 10, 64)
		return n * int64(os.Getpagesize())
	}
	return 0
}

// childrenOf returns the resident memory of all descendants of pid.
func childrenOf(pid int) (total int64) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range files {
		b, _ := os.ReadFile(f)
		_, rest, ok := strings.Cut(string(b), ") ")
		if fields := strings.Fields(rest); ok && len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			child := filepath.Base(filepath.Dir(f))
			n, _ := strconv.Atoi(child)
			total += resident(child) + childrenOf(n)
		}
	}
	return total
}
