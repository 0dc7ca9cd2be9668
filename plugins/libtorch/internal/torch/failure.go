package torch

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
)

// failure returns the error of the last call of this thread, with torch's message.
func (l *Library) failure() error {
	var text string
	if l.procs.What != 0 {
		p, _, _ := purego.SyscallN(l.procs.What)
		text = goString(p)
	} else {
		text = l.errors.last()
	}
	text = tidy(text)
	if text == "" {
		text = "an operator failed without a message"
	}
	if strings.Contains(text, "out of memory") || strings.Contains(text, "can't allocate memory") || strings.Contains(text, "not enough memory") {
		return fmt.Errorf("torch: %s: %w", text, ErrOutOfMemory)
	}
	return errors.New("torch: " + text)
}

// tidy returns the first line of torch's message, without its source location.
func tidy(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if _, rest, ok := strings.Cut(text, "Exception in aoti_torch: "); ok {
		text = rest
	}
	if i := strings.Index(text, " (function operator"); i > 0 {
		text = text[:i]
	}
	return strings.TrimSpace(text)
}

// goString copies a C string of at most 8192 bytes.
func goString(address uintptr) string {
	if address == 0 {
		return ""
	}
	p := *(*unsafe.Pointer)(unsafe.Pointer(&address))
	n := 0
	for n < 8192 && *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// capture forwards the standard error of the process and keeps its last bytes. Before version 2.13, torch writes the reason of a failure
// only there.
type capture struct {
	mu   sync.Mutex
	tail []byte
	at   time.Time
}

const captured = 8 << 10

// start replaces standard error by a pipe. If that fails, errors do not contain torch's message.
func (c *capture) start() {
	was, err := syscall.Dup(2)
	if err != nil {
		return
	}
	r, w, err := os.Pipe()
	if err != nil {
		_ = syscall.Close(was)
		return
	}
	if err := dup2(int(w.Fd()), 2); err != nil {
		_, _, _ = syscall.Close(was), r.Close(), w.Close()
		return
	}
	syscall.CloseOnExec(was)
	out := os.NewFile(uintptr(was), "stderr")
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := r.Read(b)
			if err != nil {
				return
			}
			c.mu.Lock()
			c.tail = append(c.tail, b[:n]...)
			if extra := len(c.tail) - captured; extra > 0 {
				c.tail = append(c.tail[:0], c.tail[extra:]...)
			}
			c.mu.Unlock()
			_, _ = out.Write(b[:n]) // this error cannot be reported
		}
	}()
}

// last returns the last exception that was written. It waits at most 50 ms for the exception to arrive through the pipe.
func (c *capture) last() string {
	for range 50 {
		c.mu.Lock()
		text := string(c.tail)
		if i := strings.LastIndex(text, "Exception in aoti_torch: "); i >= 0 && strings.Contains(text[i:], "\n") {
			c.tail = c.tail[:0]
			c.mu.Unlock()
			return text[i:]
		}
		c.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	return ""
}
