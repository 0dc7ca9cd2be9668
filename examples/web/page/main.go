//go:build js && wasm

// Command page is the Go part of the demo page: compiled for js/wasm, it runs in a worker of the browser and provides
// models and devices to the page. It needs no server: models run on the machine of the page.
//
// It sets one object, burn, in the global scope of the worker. Its functions return promises, whose errors have a message for the
// reader of the page:
//
//   - burn.devices() returns [{spec, name, detail, software}].
//   - burn.model(name, bytes) registers an ONNX model under this name, and returns {input, output}.
//   - burn.run(name, device, image, options) returns {classes: [{index, label, value}], values, seconds}.
//
// options are {invert, softmax, mean, std, labels, top}; all may be left out. burnReady(), if the worker has it, is called once.
package main

import (
	"context"
	"syscall/js"

	_ "github.com/goburn/burn/plugins/cpu"
	_ "github.com/goburn/burn/plugins/webgpu"
	"github.com/goburn/burn/tensor"
)

func main() {
	s := &shelf{models: map[string]*entry{}, devices: map[string]*tensor.Device{}}
	js.Global().Set("burn", js.ValueOf(map[string]any{
		"devices": promised(func(context.Context, []js.Value) (any, error) { return s.list(), nil }),
		"model": promised(func(_ context.Context, args []js.Value) (any, error) {
			return s.add(args[0].String(), bytesOf(args[1]))
		}),
		"run": promised(func(ctx context.Context, args []js.Value) (any, error) {
			return s.run(ctx, args[0].String(), args[1].String(), bytesOf(args[2]), optionsOf(args[3]))
		}),
	}))
	if ready := js.Global().Get("burnReady"); ready.Type() == js.TypeFunction {
		ready.Invoke()
	}
	select {}
}

// promised returns a JavaScript function that returns a promise of the result of f. f runs on a goroutine, so that it may block,
// which a function called by JavaScript must not. Calls are executed in order, one at a time.
func promised(f func(context.Context, []js.Value) (any, error)) js.Func {
	return js.FuncOf(func(_ js.Value, args []js.Value) any {
		var start js.Func
		start = js.FuncOf(func(_ js.Value, settle []js.Value) any {
			start.Release()
			calls <- func() {
				v, err := f(context.Background(), args)
				if err != nil {
					settle[1].Invoke(js.Global().Get("Error").New(err.Error()))
					return
				}
				settle[0].Invoke(js.ValueOf(v))
			}
			return nil
		})
		return js.Global().Get("Promise").New(start)
	})
}

// calls contains the pending calls. Its capacity is more than a page needs, as the sender must not block.
var calls = make(chan func(), 1024)

func init() {
	go func() {
		for call := range calls {
			call()
		}
	}()
}

func bytesOf(v js.Value) []byte {
	b := make([]byte, v.Length())
	js.CopyBytesToGo(b, v)
	return b
}
