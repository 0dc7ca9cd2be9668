package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/goburn/burn/internal/plain"
	"github.com/goburn/burn/internal/tomlfile"
)

// Fetcher reads archives and small files from the network and from disk. The zero Fetcher is usable.
type Fetcher struct {
	Limits   Limits
	Progress func(done, total int64) // called during a download; total is -1 if the server does not report it
	Stall    time.Duration           // a download fails if no byte arrives for this time; 0: 60 seconds
	Rate     int64                   // least average rate of a download, in bytes per second, in each interval of Stall; 0: 1024
	Deadline time.Duration           // time limit of a whole download; 0: 6 hours for archives and 2 minutes for other files
	Index    *IndexPolicy            // rules for the index of a mirror; nil: any index is accepted
	Client   *http.Client            // nil: a client that follows few redirects, and none from https to http
}

// IsURL reports whether a source is fetched over the network.
func IsURL(source string) bool {
	return strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://")
}

const maxRedirects = 5

func (f *Fetcher) client() *http.Client {
	if f.Client != nil {
		return f.Client
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = 30 * time.Second
	t.DisableKeepAlives = true
	t.MaxResponseHeaderBytes = 64 << 10
	return &http.Client{Transport: t, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if len(via) >= maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		if via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
			return errors.New("redirect from https to http")
		}
		return nil
	}}
}

// File opens an archive on disk, with the signature beside it.
func (f *Fetcher) File(path string) (*Archive, error) {
	file, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	sig, err := ReadSignature(path)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path+SignatureExt, err)
	}
	return &Archive{File: file, Source: path, Signature: sig}, nil
}

// URL downloads an archive, and its signature from the same address with .sig, into a file that Close removes.
func (f *Fetcher) URL(ctx context.Context, address string) (*Archive, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("download: got %q, want http(s)://HOST/PATH without password: %w", address, ErrFormat)
	}
	sigURL := *u
	sigURL.Path += SignatureExt
	var sig *Signature
	text, err := f.small(ctx, tomlfile.Signature, sigURL.String())
	switch {
	case err == nil:
		if sig, err = ParseSignature(text); err != nil {
			return nil, fmt.Errorf("%s: %w", sigURL.String(), err)
		}
	case !errors.Is(err, ErrNotFound):
		return nil, err
	}
	file, err := os.CreateTemp("", "burn-download-")
	if err != nil {
		return nil, err
	}
	a := &Archive{File: file, Source: address, Signature: sig, temporary: true}
	limit := f.Limits.complete().Archive
	if err := f.get(ctx, address, limit, disk(file)); err != nil {
		_ = a.Close()
		return nil, err
	}
	return a, nil
}

// small reads a small file. It returns ErrNotFound if the file does not exist.
func (f *Fetcher) small(ctx context.Context, k tomlfile.Kind, address string) ([]byte, error) {
	var b strings.Builder
	quiet := *f
	quiet.Progress = nil
	quiet.Deadline = f.deadline(2 * time.Minute)
	if err := quiet.get(ctx, address, int64(k.Bytes), &b); err != nil {
		return nil, err
	}
	return []byte(b.String()), nil
}

func (f *Fetcher) deadline(usual time.Duration) time.Duration {
	if f.Deadline != 0 {
		return f.Deadline
	}
	return usual
}

// get downloads at most limit bytes to w.
func (f *Fetcher) get(ctx context.Context, address string, limit int64, w io.Writer) error {
	stall := f.Stall
	if stall == 0 {
		stall = time.Minute
	}
	deadline := f.deadline(6 * time.Hour)
	ctx, release := context.WithTimeoutCause(ctx, deadline, fmt.Errorf("not done within %v", deadline))
	defer release()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(stall, func() { cancel(fmt.Errorf("no data for %v", stall)) })
	defer watchdog.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := f.client().Do(req)
	if err != nil {
		return &quoted{orCause(ctx, err), "download: "}
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone:
		return refuse(ErrNotFound, "", "download %s: %s", address, foreign(resp.Status))
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("download %s: got status %s, want 200 OK", address, foreign(resp.Status))
	case resp.ContentLength > limit:
		return badArchive("download %s: %d bytes, want at most %d", address, resp.ContentLength, limit)
	}
	least := f.least(stall)
	begin, before := time.Now(), int64(0) // start of the interval, and bytes received before it
	body := &meter{r: resp.Body, tick: func(done int64) {
		watchdog.Reset(stall)
		if took := time.Since(begin); took >= stall {
			if done-before < least {
				cancel(fmt.Errorf("%d bytes in %v, want at least %d", done-before, took.Round(time.Millisecond), least))
			}
			begin, before = time.Now(), done
		}
		if f.Progress != nil {
			f.Progress(done, resp.ContentLength)
		}
	}}
	n, err := io.Copy(w, io.LimitReader(body, limit+1))
	switch {
	case err != nil:
		return fmt.Errorf("download %s: after %d bytes: %w", address, n, orCause(ctx, err))
	case n > limit:
		return badArchive("download %s: more than %d bytes", address, limit)
	case resp.ContentLength >= 0 && n != resp.ContentLength:
		return fmt.Errorf("download %s: got %d bytes, want %d", address, n, resp.ContentLength)
	}
	return nil
}

// least returns the number of bytes that a download must receive in an interval.
func (f *Fetcher) least(stretch time.Duration) int64 {
	rate := f.Rate
	if rate == 0 {
		rate = 1 << 10
	}
	return max(1, int64(float64(rate)*stretch.Seconds()))
}

// foreign returns a text from a server, shortened and safe to print.
func foreign(s string) string {
	if s = plain.Text(s); len(s) > 200 {
		s = s[:200] + "..."
	}
	return s
}

// quoted is an error that may quote a server's text.
type quoted struct {
	error
	what string
}

func (q *quoted) Error() string { return q.what + foreign(q.error.Error()) }
func (q *quoted) Unwrap() error { return q.error }

func orCause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil {
		return c
	}
	return err
}

type meter struct {
	r    io.Reader
	done int64
	tick func(done int64)
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.done += int64(n)
	m.tick(m.done)
	return n, err
}
