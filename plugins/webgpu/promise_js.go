package webgpu

import (
	"errors"
	"fmt"
	"strings"
	"syscall/js"

	"github.com/goburn/burn/core"
)

// then calls done once with the result of a promise. done is called by JavaScript: it must not wait.
func then(promise js.Value, done func(js.Value, error)) {
	var ok, fault js.Func
	end := func() {
		ok.Release()
		fault.Release()
	}
	ok = js.FuncOf(func(_ js.Value, args []js.Value) any {
		end()
		done(args[0], nil)
		return nil
	})
	fault = js.FuncOf(func(_ js.Value, args []js.Value) any {
		end()
		done(js.Undefined(), errors.New(messageOf(args[0])))
		return nil
	})
	promise.Call("then", ok, fault)
}

// await waits for a promise and returns its result.
func await(promise js.Value) (js.Value, error) {
	type settled struct {
		v   js.Value
		err error
	}
	c := make(chan settled, 1)
	then(promise, func(v js.Value, err error) { c <- settled{v, err} })
	s := <-c
	return s.v, s.err
}

// try calls f, which calls JavaScript. An exception of JavaScript becomes the error.
func try(f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			thrown, ok := v.(js.Error)
			if !ok {
				panic(v)
			}
			err = fmt.Errorf("%w: %s", core.ErrKernel, messageOf(thrown.Value))
		}
	}()
	f()
	return nil
}

// messageOf returns the message of an error of JavaScript, in one line.
func messageOf(v js.Value) string {
	if v.Type() == js.TypeObject {
		v = v.Get("message")
	}
	return strings.Join(strings.Fields(v.String()), " ")
}

// falsy reports whether v is undefined, null, false, 0, NaN or an empty string.
func falsy(v js.Value) bool { return !v.Truthy() }
