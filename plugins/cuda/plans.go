package cuda

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// plans keeps plans of cuDNN in files of a folder: compiling an engine of attention takes most of a second, and loading its plan a few
// milliseconds. A file begins with a checksum; a file with a wrong checksum, or for another call, counts as missing. Several processes may
// use a folder. A nil *plans keeps nothing.
type plans struct {
	folder string
	origin string        // the library, the driver and the device, all of which plans depend on
	slow   time.Duration // plans that take at least this long to create are kept
}

const (
	planSuffix = ".plan"
	// graphs is a version. It changes with the numbers of tensors in graphs, by which plans identify tensors.
	graphs = 1
	// slowPlan is the shortest creation time of a plan that is worth a file.
	slowPlan = 20 * time.Millisecond
	// maxPlans is the number of files that are kept: about 40 MB for plans of attention.
	maxPlans = 512
)

func newPlans(cache, origin string) *plans {
	if cache == "" {
		return nil
	}
	return &plans{folder: filepath.Join(cache, "plans"), origin: fmt.Sprintf("graphs %d, %s", graphs, origin), slow: slowPlan}
}

// name returns a text that contains everything that the plan of a key depends on, and the path of its file.
func (p *plans) name(key string) (name []byte, file string) {
	name = []byte(p.origin + "\n" + key + "\x00")
	sum := sha256.Sum256(name)
	return name, filepath.Join(p.folder, hex.EncodeToString(sum[:16])+planSuffix)
}

// get returns the plan that was put under a key, or nil.
func (p *plans) get(key string) []byte {
	if p == nil {
		return nil
	}
	name, file := p.name(key)
	data, err := os.ReadFile(file)
	if err != nil || len(data) < sha256.Size {
		return nil
	}
	sum, rest := data[:sha256.Size], data[sha256.Size:]
	if want := sha256.Sum256(rest); !bytes.Equal(sum, want[:]) || !bytes.HasPrefix(rest, name) {
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(file, now, now) // the least recently used files are removed first
	return rest[len(name):]
}

// put keeps a plan. A plan that cannot be kept is created again the next time.
func (p *plans) put(key string, plan []byte) {
	if p == nil || os.MkdirAll(p.folder, 0o700) != nil {
		return
	}
	name, file := p.name(key)
	rest := append(name, plan...)
	sum := sha256.Sum256(rest)
	f, err := os.CreateTemp(p.folder, "new-*")
	if err != nil {
		return
	}
	_, err = f.Write(append(sum[:], rest...))
	if e := f.Close(); err != nil || e != nil || os.Rename(f.Name(), file) != nil {
		_ = os.Remove(f.Name())
		return
	}
	p.trim()
}

// drop removes the plan of a key.
func (p *plans) drop(key string) {
	if p != nil {
		_, file := p.name(key)
		_ = os.Remove(file) // a file that stays is refused again
	}
}

// trim removes the least recently used files, down to maxPlans, and unfinished files of processes that have ended.
func (p *plans) trim() {
	type used struct {
		file string
		at   time.Time
	}
	var files []used
	entries, _ := os.ReadDir(p.folder)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		file := filepath.Join(p.folder, e.Name())
		switch {
		case filepath.Ext(file) == planSuffix:
			files = append(files, used{file, info.ModTime()})
		case time.Since(info.ModTime()) > time.Hour:
			_ = os.Remove(file)
		}
	}
	if len(files) <= maxPlans {
		return
	}
	slices.SortFunc(files, func(a, b used) int { return cmp.Compare(a.at.UnixNano(), b.at.UnixNano()) })
	for _, f := range files[:len(files)-maxPlans] {
		_ = os.Remove(f.file)
	}
}
