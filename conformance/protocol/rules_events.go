package protocol

import (
	"fmt"
	"time"
)

var eventRules = []Rule{
	{ID: "events/await", Section: 4, Text: "AWAIT names an event that the same stream has signaled.", check: func(t *test) {
		d := t.device()
		d.fails("AWAIT of event 1 when none was signaled", d.frame().await(1, 1))
		d.fails("AWAIT of event 2 of 1", d.frame().signal().await(1, 2))
		d.fails("AWAIT of event 0", d.frame().signal().await(1, 0))
	}},
	{ID: "events/settled", Section: 4, Text: "An AWAIT of a settled event is answered at once.", check: func(t *test) {
		s := t.device().stream()
		for _, event := range []uint64{2, 1, 2} {
			r := s.ask()
			f := s.frame()
			if r == 1 {
				f.signal().signal()
			}
			s.send(f.await(r, event))
			s.wantOK(r, fmt.Sprintf("AWAIT of event %d of 2", event))
		}
	}},
	{ID: "events/once", Section: 4, Text: "with the first failure of the commands before it that no AWAIT was answered with, or without error", check: func(t *test) {
		d := t.device()
		s := d.stream()
		f := d.frame().free(d.id(70)) // unknown
		t.wantCode(s.settle(f, 1, "AWAIT"), "AWAIT after FREE of an unknown tensor", codeUnknown)
		if e := s.settle(d.frame(), 2, "AWAIT"); e != nil {
			t.fail("the next AWAIT: %v, want no error", e)
		}
	}},
	{ID: "events/behind", Section: 4, Text: "An event is reached when all commands before it are done.", check: func(t *test) {
		d := t.device()
		s := d.stream()
		a, b := s.ask(), s.ask()
		s.send(d.frame().signal().free(d.id(70)).signal().await(a, 1).await(b, 2))
		for range 2 { // in any order
			switch r := s.next("AWAIT"); {
			case r.tag != replyDone:
				t.fail("AWAIT is answered by %v", r)
			case r.request == a && r.err != nil:
				t.fail("AWAIT of the event before a failure: %v, want no error", r.err)
			case r.request == b:
				t.wantCode(r.err, "AWAIT of the event behind a failure", codeUnknown)
			}
		}
	}},
	{ID: "events/wait", Section: 4, Text: "It may come before that SIGNAL is decoded: then the plugin decodes nothing more of this stream until the SIGNAL has come, and goes on with the others.", check: func(t *test) {
		d := t.device()
		a, b := d.stream(), d.stream()
		x := d.new(1)
		r := b.ask()
		b.send(d.frame().wait(a.number, 2).read(r, x.id, 4))
		b.silent(200*time.Millisecond, "READ behind WAIT for an event that was not signaled")
		a.send(d.frame().signal())
		b.silent(200*time.Millisecond, "READ behind WAIT for event 2 of 1")
		a.alive("a stream that another waits for")
		a.send(d.frame().write(x, floats(6)).signal())
		if string(b.wantData(r, "READ behind WAIT")) != string(floats(6)) {
			t.fail("READ behind WAIT gives another value")
		}
	}},
	{ID: "events/wait-nothing", Section: 4, Text: "A WAIT for an event that is settled, or of a stream that has ended or that is not known, does nothing.", check: func(t *test) {
		d := t.device()
		a, b, s := d.stream(), d.stream(), d.stream()
		a.settle(d.frame(), 1, "AWAIT")
		b.end("the end of a stream")
		s.send(d.frame().wait(a.number, 1).wait(b.number, 5).wait(1<<62, 1).signal().wait(s.number, 1))
		s.alive("a stream behind WAITs that do nothing")
	}},
	{ID: "events/wait-end", Section: 4, Text: "or of a stream that has ended or that is not known, does nothing", check: func(t *test) {
		d := t.device()
		a, b := d.stream(), d.stream()
		r := b.ask()
		x := d.new(1)
		b.send(d.frame().write(x, floats(1)))
		b.send(d.frame().wait(a.number, 1).read(r, x.id, 4))
		b.silent(100*time.Millisecond, "READ behind WAIT for an event that was not signaled")
		a.end("the end of a stream that another waits for")
		b.wantData(r, "READ behind WAIT for a stream that has ended")
	}},
	{ID: "events/wait-failure", Section: 4, Text: "A WAIT passes no failure on.", check: func(t *test) {
		d := t.device()
		a, b := d.stream(), d.stream()
		a.send(d.frame().free(d.id(70)).signal())
		if e := b.settle(d.frame().wait(a.number, 1), 1, "AWAIT"); e != nil {
			t.fail("AWAIT behind WAIT for an event behind a failure: %v, want no error", e)
		}
		r := a.ask()
		a.send(d.frame().await(r, 1))
		a.wantCode(r, "AWAIT on the stream of the failure", codeUnknown)
	}},
	{ID: "events/cancel-unknown", Section: 4, Text: "CANCEL ends the wait of a request: it is answered as canceled, or as it would have been.", check: func(t *test) {
		d := t.device()
		a, s := d.stream(), d.stream()
		s.send(d.frame().cancel(77))
		x := d.new(1)
		s.send(d.frame().write(x, floats(1)))
		s.send(d.frame().wait(a.number, 1))
		r := s.ask()
		s.send(d.frame().read(r, x.id, 4))
		s.send(d.frame().cancel(r))
		a.send(d.frame().signal())
		if got := s.next("READ that was canceled"); got.request != r || got.tag == replyDone && (got.err == nil || got.err.root() != codeCanceled) {
			t.fail("READ that was canceled is answered by %v, want its data, or code 12", got)
		}
		s.alive("the stream of a READ that was canceled")
	}},
	{ID: "events/cancel-failure", Section: 4, Text: "An AWAIT that is answered as canceled settles nothing and takes no failure: the next AWAIT is answered with it.", check: func(t *test) {
		d := t.device()
		a, s := d.stream(), d.stream()
		r := s.ask()
		s.send(d.frame().wait(a.number, 1))
		s.send(d.frame().free(d.id(70)).signal().await(r, 1))
		s.send(d.frame().cancel(r))
		time.Sleep(50 * time.Millisecond)
		a.send(d.frame().signal())
		e := s.wantDone(r, "AWAIT that was canceled")
		if e == nil {
			t.fail("AWAIT that was canceled, behind a failure, is answered without an error")
		}
		if e.root() == codeCanceled {
			t.wantCode(s.settle(d.frame(), 2, "AWAIT"), "the AWAIT after one that was canceled", codeUnknown)
		}
	}},
}
