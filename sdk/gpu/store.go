package gpu

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// store keeps compiled kernels in files of a folder, one for each call of the compiler. A file names the compiler and the
// kernels, and ends in a checksum; a file that does not match counts as missing. Several processes may use a folder.
type store struct {
	folder   string
	compiler string
	limit    int64 // bytes of all files

	mu    sync.Mutex // guards the fields below
	known bool       // the folder was read
	units map[string]*unit
	at    map[digest]place
}

// unit is a file of the store.
type unit struct {
	file    string
	kernels int
	bytes   int64
}

// place is the place of a kernel in the store: the file, and the index in the file.
type place struct {
	unit *unit
	at   int
}

// found is a file with kernels that are wanted.
type found struct {
	file    string
	kernels int   // number of kernels in the file
	places  []int // indices in the file of the wanted kernels
	wanted  []int // their indices among the wanted names
}

const (
	storeMagic  = "burn kernels 1\n"
	storeSuffix = ".kernels"
	// storeUnfinished is the name of a file that is being written.
	storeUnfinished = "new-*"
	maxNames        = 1 << 16
)

// newStore returns a store in a folder, which put creates.
func newStore(folder, compiler string, limit int64) *store {
	return &store{folder: folder, compiler: compiler, limit: limit, units: map[string]*unit{}, at: map[digest]place{}}
}

// find returns the files that have kernels of these names.
func (s *store) find(names []digest) []found {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scan()
	var all []found
	index := map[*unit]int{}
	for i, n := range names {
		p, ok := s.at[n]
		if !ok {
			continue
		}
		k, ok := index[p.unit]
		if !ok {
			k = len(all)
			index[p.unit] = k
			all = append(all, found{file: p.unit.file, kernels: p.unit.kernels})
		}
		all[k].places, all[k].wanted = append(all[k].places, p.at), append(all[k].wanted, i)
	}
	return all
}

// scan reads the heads of all files, once. The caller holds mu.
func (s *store) scan() {
	if s.known {
		return
	}
	s.known = true
	files, _ := os.ReadDir(s.folder)
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), storeSuffix) || !f.Type().IsRegular() {
			continue
		}
		path := filepath.Join(s.folder, f.Name())
		if names, bytes, err := s.head(path); err == nil {
			s.add(path, names, bytes)
		}
	}
}

func (s *store) add(path string, names []digest, bytes int64) {
	u := &unit{path, len(names), bytes}
	s.units[path] = u
	for i, n := range names {
		s.at[n] = place{u, i}
	}
}

// head reads the names of the kernels in a file.
func (s *store) head(path string) ([]digest, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	names, err := s.readHead(f)
	return names, info.Size(), err
}

// errStore says that a file was not written by the store for this compiler.
var errStore = errors.New("no file of compiled kernels for this compiler")

func (s *store) readHead(r io.Reader) ([]digest, error) {
	head := make([]byte, len(storeMagic)+4)
	if _, err := io.ReadFull(r, head); err != nil || string(head[:len(storeMagic)]) != storeMagic {
		return nil, errStore
	}
	n := binary.LittleEndian.Uint32(head[len(storeMagic):])
	if int(n) != len(s.compiler) {
		return nil, errStore
	}
	rest := make([]byte, int(n)+4)
	if _, err := io.ReadFull(r, rest); err != nil || string(rest[:n]) != s.compiler {
		return nil, errStore
	}
	count := binary.LittleEndian.Uint32(rest[n:])
	if count == 0 || count > maxNames {
		return nil, errStore
	}
	names := make([]digest, count)
	for i := range names {
		if _, err := io.ReadFull(r, names[i][:]); err != nil {
			return nil, errStore
		}
	}
	return names, nil
}

// read returns the code of a file. A file that is damaged is removed.
func (s *store) read(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err == nil {
		var code []byte
		if code, err = s.code(data); err == nil {
			now := time.Now()
			_ = os.Chtimes(path, now, now) // the oldest are removed first
			return code, nil
		}
	}
	s.remove(path)
	return nil, err
}

func (s *store) code(data []byte) ([]byte, error) {
	n := len(data) - sha256.Size
	if n < 0 {
		return nil, errStore
	}
	if sum := sha256.Sum256(data[:n]); !bytes.Equal(sum[:], data[n:]) {
		return nil, fmt.Errorf("damaged: %w", errStore)
	}
	r := bytes.NewReader(data[:n])
	if _, err := s.readHead(r); err != nil {
		return nil, err
	}
	return data[n-r.Len() : n], nil
}

// remove forgets a file and removes it.
func (s *store) remove(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(path)
}

func (s *store) drop(path string) {
	u := s.units[path]
	delete(s.units, path)
	for n, p := range s.at {
		if p.unit == u {
			delete(s.at, n)
		}
	}
	_ = os.Remove(path)
}

// put keeps the code of kernels.
func (s *store) put(names []digest, code []byte) error {
	var b bytes.Buffer
	b.WriteString(storeMagic)
	number := func(n int) { _ = binary.Write(&b, binary.LittleEndian, uint32(n)) }
	number(len(s.compiler))
	b.WriteString(s.compiler)
	number(len(names))
	for _, n := range names {
		b.Write(n[:])
	}
	name := sha256.Sum256(b.Bytes())
	b.Write(code)
	sum := sha256.Sum256(b.Bytes())
	b.Write(sum[:])
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.folder, storeUnfinished)
	if err != nil {
		return err
	}
	_, err = f.Write(b.Bytes())
	if e := f.Close(); err == nil {
		err = e
	}
	path := filepath.Join(s.folder, hex.EncodeToString(name[:])+storeSuffix)
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scan()
	s.add(path, names, int64(b.Len()))
	s.bound()
	return nil
}

// bound removes the least recently used files, also of other compilers, until the rest is within the limit. The caller holds mu.
func (s *store) bound() {
	files, err := os.ReadDir(s.folder)
	if err != nil {
		return
	}
	type file struct {
		path string
		used time.Time
		size int64
	}
	var all []file
	total := int64(0)
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			continue
		}
		if unfinished, _ := filepath.Match(storeUnfinished, f.Name()); unfinished && time.Since(info.ModTime()) > time.Hour {
			_ = os.Remove(filepath.Join(s.folder, f.Name())) // left by a process that ended
		}
		if !strings.HasSuffix(f.Name(), storeSuffix) {
			continue
		}
		all = append(all, file{filepath.Join(s.folder, f.Name()), info.ModTime(), info.Size()})
		total += info.Size()
	}
	slices.SortFunc(all, func(a, b file) int { return a.used.Compare(b.used) })
	for _, f := range all {
		if total <= s.limit {
			return
		}
		total -= f.size
		s.drop(f.path)
	}
}
