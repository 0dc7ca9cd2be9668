package native

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// waiting holds the functions that the library will call, by the numbers that were passed to it.
var waiting struct {
	sync.Mutex
	last uintptr
	m    map[uintptr]func(status uint32, object handle, message string)
}

// expect registers a function, and returns the information with which the library calls it through the C function kind. Unless kind is
// callbacks.fault, the first call removes the function.
func expect(kind uintptr, f func(status uint32, object handle, message string)) callbackInfo {
	waiting.Lock()
	defer waiting.Unlock()
	if waiting.m == nil {
		waiting.m = map[uintptr]func(uint32, handle, string){}
	}
	waiting.last++
	waiting.m[waiting.last] = f
	return callbackInfo{mode: allowProcessEvents, callback: kind, user1: waiting.last}
}

// forget releases a function that will not be called.
func forget(info *callbackInfo) {
	waiting.Lock()
	delete(waiting.m, info.user1)
	waiting.Unlock()
}

// arrived calls the function with the given number. If keep is set, the function stays registered for further calls.
func arrived(number uintptr, keep bool, status uint32, object handle, message string) {
	waiting.Lock()
	f := waiting.m[number]
	if !keep {
		delete(waiting.m, number)
	}
	waiting.Unlock()
	if f != nil {
		f(status, object, message)
	}
}

// callbacks are the C functions that call arrived, created once, because a process can create only a limited number of them. The comments
// list the parameters that each function passes on.
type callbacks struct {
	device uintptr // status, device and message, for a requested device
	done   uintptr // status and message
	fault  uintptr // kind and message; the function stays registered
	lost   uintptr // kind and message, when the device is lost
}

var cFunctions = sync.OnceValue(func() callbacks {
	// A struct of two words, as messages are, arrives as two arguments, or on Windows as an address.
	if runtime.GOOS == "windows" {
		at := func(p uintptr) string { return (*view)(pointerAt(p)).text() }
		return callbacks{
			device: purego.NewCallback(func(status, device, message, user1, user2 uintptr) uintptr {
				arrived(user1, false, uint32(status), device, at(message))
				return 0
			}),
			done: purego.NewCallback(func(status, message, user1, user2 uintptr) uintptr {
				arrived(user1, false, uint32(status), 0, at(message))
				return 0
			}),
			fault: purego.NewCallback(func(device, kind, message, user1, user2 uintptr) uintptr {
				arrived(user1, true, uint32(kind), 0, at(message))
				return 0
			}),
			lost: purego.NewCallback(func(device, kind, message, user1, user2 uintptr) uintptr {
				arrived(user1, false, uint32(kind), 0, at(message))
				return 0
			}),
		}
	}
	text := func(data, length uintptr) string {
		return view{*(*unsafe.Pointer)(unsafe.Pointer(&data)), length}.text()
	}
	return callbacks{
		device: purego.NewCallback(func(status, device, data, length, user1, user2 uintptr) uintptr {
			arrived(user1, false, uint32(status), device, text(data, length))
			return 0
		}),
		done: purego.NewCallback(func(status, data, length, user1, user2 uintptr) uintptr {
			arrived(user1, false, uint32(status), 0, text(data, length))
			return 0
		}),
		fault: purego.NewCallback(func(device, kind, data, length, user1, user2 uintptr) uintptr {
			arrived(user1, true, uint32(kind), 0, text(data, length))
			return 0
		}),
		lost: purego.NewCallback(func(device, kind, data, length, user1, user2 uintptr) uintptr {
			arrived(user1, false, uint32(kind), 0, text(data, length))
			return 0
		}),
	}
})
