package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// sink is the destination file of a download.
type sink interface {
	io.ReadWriteSeeker
	io.Closer
	Truncate(int64) error
	Sync() error
}

// downloading is a lock, taken by a send so that waiting for it can be cancelled. Downloads within a program take turns, so that two
// loaders of a set download it once.
var downloading = make(chan struct{}, 1)

// fetch downloads f into dir, checks it, and returns its path. An interrupted download leaves NAME.part, which the next download continues;
// the file is renamed to its final name only when it is complete.
func (s *set) fetch(ctx context.Context, o Options, f file, dir string) (string, error) {
	select {
	case downloading <- struct{}{}:
		defer func() { <-downloading }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	name, sum := f.download()
	p := filepath.Join(dir, name)
	if _, err := load(p, f); err == nil {
		return p, nil // another loader was faster
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if o.create == nil {
		o.create = func(p string) (sink, error) { return os.OpenFile(p, os.O_RDWR|os.O_CREATE, 0o644) }
	}
	var errs []error
	for _, base := range s.urls {
		t := transfer{o: o, d: Download{File: name, URL: base + name, Total: -1}, part: p + ".part", size: f.size, sum: sum}
		err := t.run(ctx)
		if errors.Is(err, ErrChecksum) && t.resumed {
			err = t.run(ctx) // the first part may belong to another file
		}
		if err == nil {
			return p, os.Rename(t.part, p)
		}
		errs = append(errs, fmt.Errorf("%s: %w", base+name, err))
		if ctx.Err() != nil {
			break
		}
	}
	return "", errors.Join(errs...)
}

// transfer completes the partial file from the URL.
type transfer struct {
	o         Options
	d         Download
	part, sum string
	size      int64 // expected size of the file, 0 if unknown
	resumed   bool
}

func (t *transfer) run(ctx context.Context) (err error) {
	w, err := t.o.create(t.part)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := w.Close(); err == nil {
			err = cerr
		}
		if errors.Is(err, ErrChecksum) {
			os.Remove(t.part)
		}
	}()
	h := sha256.New()
	have, err := io.Copy(h, w)
	if err != nil {
		return err
	}
	t.resumed = have > 0
	if t.size == 0 || have < t.size {
		ctx, idle := watch(ctx)
		defer idle.Stop()
		body, whole, err := t.get(ctx, have)
		if err != nil {
			return cause(ctx, err)
		}
		defer body.Close()
		if whole && have > 0 {
			h.Reset()
			if _, err := w.Seek(0, io.SeekStart); err != nil {
				return err
			}
			if err := w.Truncate(0); err != nil {
				return err
			}
		}
		if err := t.receive(body, io.MultiWriter(w, h), idle); err != nil {
			return cause(ctx, err)
		}
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != t.sum {
		return fmt.Errorf("sha256 %s, want %s: %w", got, t.sum, ErrChecksum)
	}
	return w.Sync()
}

// stall is the longest time that a server may send nothing.
const stall = time.Minute

// watch returns a timer and a context, which is cancelled if the timer is not reset for the time stall.
func watch(ctx context.Context) (context.Context, *time.Timer) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, time.AfterFunc(stall, func() { cancel(fmt.Errorf("the server sent nothing for %v", stall)) })
}

// cause returns the reason why ctx ended, if it did, and else err.
func cause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil {
		return fmt.Errorf("%w: %w", err, c)
	}
	return err
}

// get requests the rest of the file, from offset have on. whole reports whether the server sends the file from its start instead.
func (t *transfer) get(ctx context.Context, have int64) (body io.ReadCloser, whole bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.d.URL, nil)
	if err != nil {
		return nil, false, err
	}
	// Without this header Go decompresses the response, and the sizes would not match.
	req.Header.Set("Accept-Encoding", "identity")
	if have > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	client := t.o.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, false, err
	}
	var start int64
	switch resp.StatusCode {
	case http.StatusPartialContent:
		if _, err := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-", &start); err != nil || start != have {
			resp.Body.Close()
			return nil, false, fmt.Errorf("the server gave the range %q, want bytes %d-", resp.Header.Get("Content-Range"), have)
		}
	case http.StatusRequestedRangeNotSatisfiable:
		resp.Body.Close()
		return http.NoBody, false, nil // there is no more; the checksum decides
	case http.StatusOK:
	default:
		resp.Body.Close()
		return nil, false, fmt.Errorf("status %s", resp.Status)
	}
	t.d.Done, t.d.Total = start, -1
	if resp.ContentLength >= 0 {
		t.d.Total = start + resp.ContentLength
	}
	return resp.Body, resp.StatusCode == http.StatusOK, nil
}

// receive copies body to w and reports the progress about every 256 KiB.
func (t *transfer) receive(body io.Reader, w io.Writer, idle *time.Timer) error {
	buf := make([]byte, 1<<16)
	for told := t.d.Done; ; {
		n, err := body.Read(buf)
		idle.Reset(stall)
		if _, werr := w.Write(buf[:n]); werr != nil {
			return fmt.Errorf("write after %d bytes: %w", t.d.Done, werr)
		}
		t.d.Done += int64(n)
		if t.size > 0 && t.d.Done > t.size {
			return fmt.Errorf("more than the %d bytes of the file: %w", t.size, ErrChecksum)
		}
		if t.o.Progress != nil && (t.d.Done-told >= 1<<18 || err == io.EOF) {
			t.o.Progress(t.d)
			told = t.d.Done
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the connection ended after %d bytes; the next download continues there: %w", t.d.Done, err)
		}
	}
}
