package protocol

import (
	"bytes"
	"fmt"
	"time"
)

// pattern returns n bytes with a long period.
func pattern(n uint64) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

// upload sends a tensor in chunks.
func (s *stream) upload(d tensor, data []byte) uint64 {
	r := s.ask()
	s.send(s.frame().beginWrite(r, d))
	for len(data) > 0 {
		n := min(len(data), chunkSize)
		s.send((&frame{}).chunk(r, data[:n]))
		data = data[n:]
	}
	return r
}

var dataRules = []Rule{
	{ID: "data/types", Section: 4, Text: "An element of a storage type is a byte, and nothing is packed", check: func(t *test) {
		d := t.device()
		s := d.stream()
		for _, elem := range typesOf(d.types) {
			d.next++
			x := tensor{d.id(d.next), elem, []uint64{3, 5}}
			data := make([]byte, x.bytes())
			for i := range data {
				data[i] = byte(i) & 1 // valid for bool, for every storage type, and for numbers
			}
			s.send(d.frame().write(x, data))
			if got := s.value(x, fmt.Sprintf("READ of element type %d", elem)); !bytes.Equal(got, data) {
				t.fail("element type %d: wrote %x, read %x", elem, data, got)
			}
		}
	}},
	{ID: "data/scalar", Section: 4, Text: "Data is the elements in row-major order without gaps.", check: func(t *test) {
		d := t.device()
		s := d.stream()
		for _, shape := range [][]uint64{{}, {1}, {2, 3}} {
			x := d.new(shape...)
			data := floats(1, 2, 3, 4, 5, 6)[:x.bytes()]
			s.send(d.frame().write(x, data))
			if got := s.value(x, fmt.Sprint("READ of f32", shape)); !bytes.Equal(got, data) {
				t.fail("f32%v: wrote %x, read %x", shape, data, got)
			}
		}
	}},
	{ID: "data/chunks", Section: 4, Text: "Chunks hold ChunkSize bytes, the last one the rest.", check: func(t *test) {
		d := t.device()
		s := d.stream()
		for _, n := range []uint64{1, chunkSize / 4, chunkSize/4 + 1, 5*chunkSize/8 + 3} {
			x := d.new(n)
			data := pattern(4 * n)
			s.wantOK(s.upload(x, data), "a write in chunks")
			if !bytes.Equal(s.value(x, "READ"), data) {
				t.fail("a tensor of %d bytes that was written in chunks is read differently", 4*n)
			}
		}
	}},
	{ID: "data/read-chunks", Section: 4, Text: "READ is answered by DATA frames of ChunkSize bytes each, the last flagged (an empty tensor: one without data)", check: func(t *test) {
		d := t.device()
		s := d.stream()
		for _, n := range []uint64{0, chunkSize / 4, chunkSize/2 + 5} {
			x := d.new(n)
			if n == 0 {
				s.send(d.frame().write(x, nil))
			} else {
				s.wantOK(s.upload(x, pattern(4*n)), "a write in chunks")
			}
			r := s.ask()
			s.send(d.frame().read(r, x.id, 4*n))
			left := 4 * n
			for {
				got := s.next("READ")
				want := min(left, chunkSize)
				if got.tag != replyData || got.request != r || uint64(len(got.data)) != want || got.last != (left == want) {
					t.fail("READ of %d bytes with %d left: %v of %d bytes, last %v; want DATA of %d bytes, last %v", 4*n, left, got, len(got.data), got.last, want, left == want)
				}
				if left -= want; left == 0 {
					break
				}
			}
		}
	}},
	{ID: "data/amid-chunks", Section: 4, Text: "Between BEGIN_WRITE and the last chunk only AWAIT and the commands that overtake may come.", check: func(t *test) {
		d := t.device()
		begun := func() (*stream, uint64, tensor) {
			s := d.stream()
			x := d.new(chunkSize / 2)
			r := s.ask()
			s.send(d.frame().signal().beginWrite(r, x))
			s.send((&frame{}).chunk(r, make([]byte, chunkSize)))
			return s, r, x
		}
		s, _, _ := begun()
		s.send(d.frame().signal())
		s.wantFail("SIGNAL amid the chunks of a write", codeProtocol)
		s, r, x := begun()
		q := s.ask()
		s.send(d.frame().await(q, 1))
		s.wantOK(q, "AWAIT amid the chunks of a write")
		s.send(d.frame().cancel(900))
		s.send((&frame{}).chunk(r, make([]byte, chunkSize)))
		s.wantOK(r, "a write with AWAIT and CANCEL amid its chunks")
		s.value(x, "READ")
	}},
	{ID: "data/stray-chunk", Section: 4, Text: cannotDecode, check: func(t *test) {
		d := t.device()
		d.fails("CHUNK without BEGIN_WRITE", (&frame{}).chunk(1, []byte{1, 2, 3, 4}))
		s := d.stream()
		s.send(d.frame().beginWrite(1, d.new(4)))
		s.send((&frame{}).chunk(2, make([]byte, 16)))
		s.wantFail("CHUNK of another request", codeProtocol)
		s = d.stream()
		s.send(d.frame().beginWrite(1, d.new(4)))
		s.send((&frame{}).chunk(1, make([]byte, 20)))
		s.wantFail("CHUNK with more data than is left", codeProtocol)
		s = d.stream()
		s.send(d.frame().beginWrite(1, d.new(chunkSize)))
		s.send((&frame{}).chunk(1, make([]byte, chunkSize+4)))
		s.wantFail("CHUNK of more than ChunkSize bytes", codeProtocol)
	}},
	{ID: "data/given-up", Section: 4, Text: "A CHUNK without data cancels the write.", check: func(t *test) {
		d := t.device()
		s := d.stream()
		x := d.new(chunkSize)
		r := s.ask()
		s.send(d.frame().beginWrite(r, x))
		s.send((&frame{}).chunk(r, make([]byte, chunkSize)))
		s.send((&frame{}).chunk(r, nil))
		if e := s.wantDone(r, "a write that is given up"); e == nil {
			t.fail("a write that is given up is answered without an error")
		}
		s.alive("the stream of a write that was given up")
	}},
	{ID: "data/failed-write", Section: 4, Text: "A write that fails poisons its tensor, which the host frees like others; an answered failure is not reported to AWAIT.", check: func(t *test) {
		d := t.device()
		s := d.stream()
		x := d.new(chunkSize)
		r := s.ask()
		s.send(d.frame().beginWrite(r, x))
		s.send((&frame{}).chunk(r, nil))
		s.wantDone(r, "a write that is given up")
		if e := s.settle(d.frame(), 1, "AWAIT"); e != nil {
			t.fail("AWAIT after a write that failed and was answered: %v, want no error", e)
		}
		q := s.ask()
		s.send(d.frame().read(q, x.id, x.bytes()))
		if e := s.wantDone(q, "READ of a tensor whose write failed"); e == nil || e.root() == codeUnknown {
			t.fail("READ of a tensor whose write failed: %v, want the error of the write", e)
		}
		if e := s.settle(d.frame().free(x.id), 2, "AWAIT"); e != nil {
			t.fail("FREE of a tensor whose write failed: %v, want no error", e)
		}
	}},
	{ID: "data/size", Section: 4, Text: "A size that is not the tensor's is an error of shape.", check: func(t *test) {
		d := t.device()
		s := d.stream()
		x := d.new(4)
		s.send(d.frame().write(x, floats(1, 2, 3, 4)))
		for _, size := range []uint64{0, 12, 1 << 40} {
			r := s.ask()
			s.send(d.frame().read(r, x.id, size))
			s.wantCode(r, fmt.Sprintf("READ of %d of 16 bytes", size), codeShape)
		}
		s.value(x, "READ")
	}},
	{ID: "data/read-then-free", Section: 4, Text: "The tensor's elements are those at this place of the stream, even if a later command frees it.", check: func(t *test) {
		d := t.device()
		s := d.stream()
		x := d.new(chunkSize / 2)
		data := pattern(x.bytes())
		s.wantOK(s.upload(x, data), "a write in chunks")
		r := s.ask()
		s.send(d.frame().read(r, x.id, x.bytes()).free(x.id))
		if !bytes.Equal(s.wantData(r, "READ with FREE behind it"), data) {
			t.fail("READ with FREE behind it gives other data")
		}
		s.fault(x, "READ after FREE", codeUnknown)
	}},
	{ID: "data/receives", Section: 4, Text: "so it MUST go on receiving while it works (it may hold back when 16 frames are waiting)", check: func(t *test) {
		d := t.device()
		a, b := d.stream(), d.stream()
		x := d.new(14 * chunkSize / 4)
		b.send(d.frame().wait(a.number, 1)) // a has not been signaled
		r := b.ask()
		b.send(d.frame().beginWrite(r, x))
		for range 14 {
			b.send((&frame{}).chunk(r, make([]byte, chunkSize)))
		}
		b.silent(200*time.Millisecond, "a write behind a WAIT")
		a.send(d.frame().signal())
		b.wantOK(r, "14 MiB that were sent during a WAIT")
	}},
	{ID: "data/half-closed", Section: 4, Text: "answers open requests, and ends the call with status OK", check: func(t *test) {
		d := t.device()
		s := d.stream()
		x := d.new(2)
		r := s.ask()
		s.send(d.frame().write(x, floats(8, 9)).read(r, x.id, 8))
		t.must("the end of the host's side", s.tr.finish())
		// The plugin may drop commands that it has not begun, and then answers with an error.
		if data, e := s.dataOr(r, "READ before the end of the host's side"); e == nil && !bytes.Equal(data, floats(8, 9)) {
			t.fail("READ before the end of the host's side: other data, want %v or an error", floats(8, 9))
		}
		s.end("the end of the host's side")
	}},
}
