package attack

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	stdimage "image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/data/csv"
	"github.com/goburn/burn/data/image"
	"github.com/goburn/burn/data/jsonl"
	"github.com/goburn/burn/data/source"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/internal/cli"
	"github.com/goburn/burn/internal/config"
	"github.com/goburn/burn/internal/imagein"
	"github.com/goburn/burn/internal/npy"
	"github.com/goburn/burn/internal/tomlfile"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/record"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/sdk/wire"
	"github.com/goburn/burn/tensor"
	"github.com/goburn/burn/train/checkpoint"
)

// format is a file format that burn reads and that others may write.
type format struct {
	// seeds returns valid files. It also writes them to dir, for the process that reads their mutations.
	seeds func(t *testing.T, dir string) [][]byte
	// read reads a file with the content b. path is its location, for readers that need one.
	read func(b []byte, path string) error
}

var ctx = context.Background()

func text(all ...string) func(*testing.T, string) [][]byte {
	return func(*testing.T, string) (seeds [][]byte) {
		for _, s := range all {
			seeds = append(seeds, []byte(s))
		}
		return seeds
	}
}

const manifestText = `name = "npu"
namespace = "example.org/acme"
version = "1.2.3"
kind = "process"
os = "linux"
arch = "amd64"
sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
signer = "ed25519:abc"
[protocol]
min = 2
max = 2
[needs]
network = true
devices = ["/dev/npu*"]
read = ["~/models"]
`

const settingsText = `device = "cpu"
threads = 2
plugin_path = ["/opt/burn/plugins"]
log = "warn"
mirror = "https://example.org/burn"
dev_plugins = {npu = "/src/npu/burn-backend-npu"}
plugin_memory = "8GiB"
plugin_files = 64
plugin_containment = "strict except npu"
heartbeat = "10s"
`

var formats = map[string]format{
	"manifest": {text(manifestText, "name = \"x\"\n"), func(b []byte, path string) error {
		dir := filepath.Dir(path)
		for name, content := range map[string][]byte{"burn-backend-npu": nil, "burn-backend-npu.toml": b} {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o755); err != nil {
				panic(err)
			}
		}
		var m host.Manifest
		_, err := tomlfile.Load(tomlfile.Manifest, filepath.Join(dir, "burn-backend-npu.toml"), &m)
		winners, _ := host.Find(host.Options{Dirs: []string{dir}})
		for _, p := range winners {
			if p.Name == "npu" {
				_ = p.Check()
			}
		}
		return errors.Join(err, m.Needs.Check())
	}},
	"settings": {text(settingsText), func(_ []byte, path string) error {
		_, err := config.Load(func(name string) string {
			if name == "BURN_CONFIG" {
				return path
			}
			return ""
		})
		return err
	}},
	"lock": {installed("burn.lock"), func(_ []byte, path string) error {
		l, err := store.ReadLock(path)
		if err == nil {
			_, err = l.Encode()
		}
		return err
	}},
	"trust": {installed("trust.toml"), func(_ []byte, path string) error {
		_, err := store.ReadTrust(path)
		return err
	}},
	"index": {installed("index.toml"), func(b []byte, _ string) error {
		x, err := store.ParseIndex(b)
		if err == nil {
			_, err = x.Encode()
		}
		return err
	}},
	"signature": {installed("npu.tar.gz.sig"), func(b []byte, _ string) error {
		s, err := store.ParseSignature(b)
		if err == nil {
			_, err = s.ID()
		}
		return err
	}},
	"archive": {installed("npu.tar.gz"), func(_ []byte, path string) error {
		_, err := store.Inspect(path, store.Limits{})
		return err
	}},
	"commands": {commands, func(b []byte, _ string) error {
		d := wire.NewDecoder(1)
		d.Start(b)
		for d.More() {
			var c wire.Command
			if err := d.Next(&c); err != nil {
				return err
			}
		}
		_, _, _ = wire.ParseSegment(wire.NewFrame(b))
		_, _, _ = wire.Overtakes(wire.NewFrame(b))
		return nil
	}},
	"replies": {replies, func(b []byte, _ string) error {
		var p wire.Reply
		return p.Parse(wire.NewFrame(b))
	}},
	"onnx":        {files("../../examples/digits/digits.onnx"), readONNX},
	"record":      {records(record.Record), readRecord},
	"safetensors": {records(record.Safetensors), readRecord},
	"checkpoint": {checkpoints, func(b []byte, path string) error {
		dir := filepath.Join(filepath.Dir(path), "run", "step-000000007")
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "manifest.json"), b, 0o644),
			os.WriteFile(filepath.Join(dir, "state.json"), []byte("{}"), 0o644)); err != nil {
			panic(err)
		}
		st, err := checkpoint.Open(filepath.Dir(dir), 0, nil)
		if err != nil {
			return err
		}
		_, damaged, err := st.Latest()
		return errors.Join(append(damaged, err)...)
	}},
	"npy": {arrays, func(b []byte, _ string) error {
		_, err := npy.Read(bytes.NewReader(b), 1<<26)
		return err
	}},
	"idx": {text("\x00\x00\x08\x03\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00\x02abcdefgh", "\x00\x00\x08\x01\x00\x00\x00\x03abc"), func(b []byte, _ string) error {
		_, err := source.ReadIDX(bytes.NewReader(b))
		return err
	}},
	"csv": {text("a,b,c\n1,true,x\n-7,false,\"y,\n\"\"z\"\n", "c,a,b\nq,3,\n"), func(b []byte, _ string) error {
		_, err := csv.Read[struct {
			A int8   `csv:"a"`
			B *bool  `csv:"b"`
			C string `csv:"c"`
		}](bytes.NewReader(b), csv.Options{Lazy: true})
		return err
	}},
	"jsonl": {text("{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":\"y\",\"c\":[1,[2]]}\n"), func(b []byte, _ string) error {
		f, err := jsonl.Read[struct {
			A int `json:"a"`
			B string
			C any
		}](bytes.NewReader(b))
		for i := 0; err == nil && i < f.Len(); i++ {
			_, err = f.Get(i)
		}
		return err
	}},
	"images": {images, func(b []byte, _ string) error {
		_, err := image.Decode(bytes.NewReader(b), 3)
		return err
	}},
	"inputs": {inputs, func(b []byte, _ string) error {
		_, _, err := imagein.Load(bytes.NewReader(b), imagein.Options{Width: 8, Height: 8})
		return err
	}},
}

// installed returns a function that creates keys, a signed archive, a mirror and an installation in dir, and returns the content of the
// file name.
func installed(name string) func(*testing.T, string) [][]byte {
	return func(t *testing.T, dir string) [][]byte {
		t.Helper()
		burn := func(args ...string) {
			var out bytes.Buffer
			require.Zero(t, cli.Main(args, strings.NewReader(""), &out, &out), out.String())
		}
		at := func(name string) string { return filepath.Join(dir, name) }
		exe := at(store.Executable("npu", "process", store.Native()))
		require.NoError(t, os.WriteFile(exe, []byte("#!/bin/sh\n"), 0o755))
		burn("plugin", "keygen", at("maker.key"))
		require.NoError(t, os.MkdirAll(at("mirror"), 0o755))
		burn("plugin", "pack", exe, "--namespace", "example.org/acme", "--version", "1.0.0", "--key", at("maker.key"), "--out", at("npu.tar.gz"))
		burn("plugin", "pack", exe, "--namespace", "example.org/acme", "--version", "1.0.0", "--key", at("maker.key"), "--mirror", at("mirror"))
		burn("plugin", "trust", at("maker.key.pub"), "--namespace", "example.org/acme", "--owner", "ACME", "--trust-file", at("trust.toml"))
		t.Setenv("BURN_CONFIG", "")
		burn("plugin", "install", at("npu.tar.gz"), "--dir", at("store"), "--trust-file", at("trust.toml"), "--lock-file", at("burn.lock"))
		path := at(name)
		if name == "index.toml" {
			path = filepath.Join(at("mirror"), name)
		}
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		return [][]byte{b}
	}
}

func files(paths ...string) func(*testing.T, string) [][]byte {
	return func(t *testing.T, _ string) (seeds [][]byte) {
		for _, p := range paths {
			b, err := os.ReadFile(p)
			require.NoError(t, err)
			seeds = append(seeds, b)
		}
		return seeds
	}
}

func commands(t *testing.T, _ string) [][]byte {
	t.Helper()
	e := wire.NewEncoder(1)
	code, ok := op.ByName("add")
	require.True(t, ok)
	neg, ok := op.ByName("neg")
	require.True(t, ok)
	id := func(n uint64) op.TensorID { return op.TensorID(n | 1<<48) }
	d := op.Desc{ID: id(3), DType: dtype.F32, Shape: []int{2}}
	e.Node(&op.Node{Op: code, Version: 1, Inputs: []op.TensorID{id(1), id(2)}, Outputs: []op.Desc{d}, Drop: 2})
	e.Free([]op.TensorID{d.ID})
	e.Write(d, make([]byte, 8))
	e.Run(1, []op.TensorID{1, 2}, []op.TensorID{3}, []bool{false, true})
	e.Read(1, d.ID, 8)
	e.Signal()
	e.Wait(2, 3)
	e.Await(2, 1)
	e.Copy(d, 1<<63, d.ID)
	e.AllReduce(1, core.ReduceMax, d.ID, d)
	e.BeginWrite(3, d)
	e.WriteShared(4, d, 1)
	seeds := [][]byte{content(t, e)}
	require.NoError(t, e.Define(1, 1, &program.Program{Name: "p", Inputs: []op.Desc{d}, Nodes: []op.Node{{Op: neg, Version: 1,
		Inputs: []op.TensorID{3}, Outputs: []op.Desc{{ID: 4, DType: dtype.F32}}}}, Outputs: []op.TensorID{4}}, nil))
	return append(seeds, content(t, e), []byte{0x01, 0, 0}, []byte{0x0e, 1, 0x80, 0x20})
}

func content(t *testing.T, e *wire.Encoder) (b []byte) {
	t.Helper()
	require.NoError(t, e.Take().Bytes(func(p []byte) error { b = append(b, p...); return nil }))
	return b
}

func replies(t *testing.T, _ string) (seeds [][]byte) {
	t.Helper()
	for _, f := range []*wire.Frame{wire.OpenedFrame(), wire.DoneFrame(1, &core.NodeError{Op: "x", Outputs: []op.Desc{{ID: 1}}, Err: core.ErrShape}),
		wire.FailFrame(core.ErrProtocol), wire.DataFrame(1, wire.NewBuffer(4), 0, 4, true), wire.KeptFrame(1), wire.PartFrame(1, 1<<20), wire.ReleaseFrame(1)} {
		require.NoError(t, f.Bytes(func(b []byte) error { seeds = append(seeds, bytes.Clone(b)); return nil }))
	}
	return seeds
}

func readONNX(b []byte, _ string) error {
	m, err := onnx.Parse(b, "", onnx.Options{})
	if err != nil {
		return err
	}
	_ = m.Info()
	p, err := core.OpenPlace("cpu", core.Config{Threads: 1})
	if err != nil {
		panic(err)
	}
	dev, err := tensor.On(ctx, p)
	if err != nil {
		panic(err)
	}
	defer dev.Close()
	s, err := m.Open(dev)
	if err != nil {
		return err
	}
	_, err = s.Explain(ctx, nil)
	return err
}

func records(f record.Format) func(*testing.T, string) [][]byte {
	return func(t *testing.T, _ string) [][]byte {
		t.Helper()
		p, err := core.OpenPlace("cpu", core.Config{})
		require.NoError(t, err)
		d, err := tensor.On(ctx, p)
		require.NoError(t, err)
		defer d.Close()
		b, err := record.Bytes(ctx, []nn.Entry{{Name: "a.weight", Tensor: tensor.From(d, []float32{1, 2, 3, 4, 5, 6}, 2, 3)},
			{Name: "a.bias", Tensor: tensor.From(d, []int64{7}, 1)}, {Name: "none", Tensor: tensor.From(d, []uint8{}, 0)}}, record.Options{Format: f})
		require.NoError(t, err)
		return [][]byte{b}
	}
}

func readRecord(b []byte, _ string) error {
	r, err := record.Parse(b)
	if err != nil {
		return err
	}
	for _, i := range r.Infos() {
		if _, _, err := r.Bytes(i.Name); err != nil {
			return err
		}
	}
	return nil
}

func checkpoints(t *testing.T, dir string) [][]byte {
	t.Helper()
	dir = filepath.Join(dir, "made")
	st, err := checkpoint.Open(dir, 0, nil)
	require.NoError(t, err)
	require.NoError(t, st.Save(&checkpoint.Snapshot{Step: 7, Files: map[string][]byte{"state.json": []byte("{}")}}, false))
	require.NoError(t, st.Wait())
	return files(filepath.Join(dir, "step-000000007", "manifest.json"))(t, dir)
}

func arrays(t *testing.T, _ string) (seeds [][]byte) {
	t.Helper()
	for _, a := range []npy.Array{{DType: "f32", Shape: []int{2, 2}, Data: make([]byte, 16)}, {DType: "u8", Data: []byte{1}}} {
		var b bytes.Buffer
		require.NoError(t, npy.Write(&b, &a))
		seeds = append(seeds, b.Bytes())
	}
	return seeds
}

// inputs returns images in the formats that models accept: PNG and JPEG.
func inputs(t *testing.T, dir string) [][]byte {
	all := images(t, dir)
	return [][]byte{all[0], all[2]}
}

func images(t *testing.T, _ string) (seeds [][]byte) {
	t.Helper()
	m := stdimage.NewPaletted(stdimage.Rect(0, 0, 9, 7), color.Palette{color.Black, color.White})
	for i := range m.Pix {
		m.Pix[i] = byte(i % 2)
	}
	for _, encode := range []func(io.Writer) error{
		func(w io.Writer) error { return png.Encode(w, m) },
		func(w io.Writer) error { return gif.Encode(w, m, nil) },
		func(w io.Writer) error { return jpeg.Encode(w, m, nil) },
		func(w io.Writer) error { return bmp(w, 4, 4) },
	} {
		var b bytes.Buffer
		require.NoError(t, encode(&b))
		seeds = append(seeds, b.Bytes())
	}
	return seeds
}

// bmp writes a bitmap with 24 bits per pixel.
func bmp(w io.Writer, width, height int) error {
	row := (3*width + 3) / 4 * 4
	head := make([]byte, 54)
	copy(head, "BM")
	le := binary.LittleEndian
	le.PutUint32(head[2:], uint32(54+row*height))
	le.PutUint32(head[10:], 54)
	le.PutUint32(head[14:], 40)
	le.PutUint32(head[18:], uint32(width))
	le.PutUint32(head[22:], uint32(height))
	le.PutUint16(head[26:], 1)
	le.PutUint16(head[28:], 24)
	_, err := w.Write(append(head, make([]byte, row*height)...))
	return err
}
