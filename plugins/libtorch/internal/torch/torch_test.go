package torch

import (
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func open(t *testing.T) *Thread {
	p, err := DefaultSearch().Find()
	if err != nil {
		t.Skip(err)
	}
	start := time.Now()
	l, err := Load(p.Folder, Options{Threads: 1, CPU: true})
	require.NoError(t, err)
	t.Log(l.Version, time.Since(start), l.Computes())
	runtime.LockOSThread()
	return l.Thread()
}

func vec(t *testing.T, th *Thread, v []float32, shape ...int) Handle {
	h, err := th.Over(unsafe.Pointer(&v[0]), shape, Float32)
	require.NoError(t, err)
	return h
}

func TestX(t *testing.T) {
	th := open(t)
	a, b := vec(t, th, []float32{1, 2, 3}, 3), vec(t, th, []float32{4, 5, 6}, 3)
	mul := NewOperator("aten::mul.Tensor")
	var y Handle
	th.Begin(mul)
	th.Tensor(a)
	th.Tensor(b)
	require.NoError(t, th.Call(&y))
	p, err := th.Data(y)
	require.NoError(t, err)
	require.Equal(t, []float32{4, 10, 18}, unsafe.Slice((*float32)(p), 3))
	start := time.Now()
	for range 100000 {
		th.Delete(y)
		th.Begin(mul)
		th.Tensor(a)
		th.Tensor(b)
		th.Call(&y)
	}
	t.Log(time.Since(start) / 100000)
	th.Begin(NewOperator("aten::sum.dim_IntList"))
	th.Tensor(a)
	th.SomeInts(0)
	th.Bool(false)
	th.SomeInt(int(Float64))
	require.NoError(t, th.Call(&y))
	p, _ = th.Data(y)
	require.Equal(t, 6.0, *(*float64)(p))
	th.Begin(NewOperator("aten::div.Tensor_mode"))
	th.Tensor(a)
	th.Tensor(b)
	th.SomeText("trunc")
	require.NoError(t, th.Call(&y))
	th.Begin(NewOperator("aten::mm"))
	th.Tensor(a)
	th.Tensor(b)
	t.Log(th.Call(&y))
	th.Begin(NewOperator("aten::nix"))
	th.Tensor(a)
	t.Log(th.Call(&y))
	th.Begin(NewOperator("aten::add.Tensor"))
	th.Tensor(a)
	th.Tensor(b)
	th.Int(1)
	t.Log(th.Call(&y))
	// add by shim
	add := th.lib.Symbol("aoti_torch_cpu_add_Tensor")
	f := th.frame(add)
	out := new(uint64)
	f.args = [16]uintptr{uintptr(a), uintptr(b), addressOf(out)}
	f.floats[0] = 1
	require.NoError(t, th.flush())
	p, _ = th.Data(Handle(*out))
	require.Equal(t, []float32{5, 7, 9}, unsafe.Slice((*float32)(p), 3))
	start = time.Now()
	for range 100000 {
		th.Delete(Handle(*out))
		f := th.frame(add)
		f.args = [16]uintptr{uintptr(a), uintptr(b), addressOf(out)}
		f.floats[0] = 1
		th.flush()
	}
	t.Log("add", time.Since(start)/100000)
	ai, err := th.Converted(a, []int{3}, Int32, Device{})
	require.NoError(t, err)
	f = th.frame(add)
	f.args = [16]uintptr{uintptr(ai), uintptr(ai), addressOf(out)}
	f.floats[0] = 1
	t.Log(th.flush())
}
