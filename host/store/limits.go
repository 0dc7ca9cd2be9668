package store

import (
	"fmt"
	"io"
)

// Limits bound the size of an archive. Zero fields are the defaults.
type Limits struct {
	Archive int64 // bytes of the archive: 2 GiB
	Total   int64 // bytes unpacked: 8 GiB
	Ratio   int64 // bytes unpacked for each byte of the archive, beyond 16 MiB: 200
	Files   int   // files and folders: 4096
	Depth   int   // elements of an entry's path: 8
}

func (l Limits) complete() Limits {
	set := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	set(&l.Archive, 2<<30)
	set(&l.Total, 8<<30)
	set(&l.Ratio, 200)
	if l.Files == 0 {
		l.Files = 4096
	}
	if l.Depth == 0 {
		l.Depth = 8
	}
	return l
}

// ratioSlack bytes are unpacked without checking the ratio.
const ratioSlack = 16 << 20

// budget counts the bytes that are unpacked from an archive.
type budget struct {
	left int64
	why  string
}

func (l Limits) budget(archive int64) *budget {
	if byRatio := archive*l.Ratio + ratioSlack; byRatio < l.Total {
		return &budget{byRatio, fmt.Sprintf("it unpacks to more than %d bytes for each of its own", l.Ratio)}
	}
	return &budget{l.Total, fmt.Sprintf("it unpacks to more than %d bytes", l.Total)}
}

func (b *budget) spend(n int) error {
	if b.left -= int64(n); b.left < 0 {
		return badArchive("archive: %s", b.why)
	}
	return nil
}

// reader returns a reader that counts the bytes read from r.
func (b *budget) reader(r io.Reader) io.Reader { return &budgetReader{r, b} }

type budgetReader struct {
	r io.Reader
	b *budget
}

func (r *budgetReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if e := r.b.spend(n); e != nil {
		return 0, e
	}
	return n, err
}
