package cli

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// archive returns a zip file of empty files.
func archive(t *testing.T, names ...string) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, n := range names {
		_, err := z.Create(n)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.String()
}

// For a file or folder that is not an ONNX model, the error says what it is or names a remedy.
func TestForeignModels(t *testing.T) {
	dir := t.TempDir()
	header := `{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
	safetensors := string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + "\x00\x00\x00\x00"
	for name, c := range map[string][2]string{
		"net.pt":            {archive(t, "net/data.pkl", "net/version"), "torch.onnx.export"},
		"old.pt":            {"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", "torch.onnx.export"},
		"net.safetensors":   {safetensors, "weights in safetensors"},
		"net.gguf":          {"GGUF\x03\x00\x00\x00", "GGUF"},
		"net.keras":         {archive(t, "metadata.json", "config.json"), "Keras"},
		"net.h5":            {"\x89HDF\r\n\x1a\n\x00", "HDF5"},
		"net.tflite":        {"\x1c\x00\x00\x00TFL3\x14\x00", "TensorFlow Lite"},
		"packed.zip":        {archive(t, "deep/net.onnx"), "unpack it"},
		"arrays.npz":        {archive(t, "x.npy"), "--input"},
		"x.npy":             {"\x93NUMPY\x01\x00", "--input"},
		"notes.txt":         {"seven\neight — nine\n", "a text file"},
		"page.onnx":         {"\n<!DOCTYPE html><html>", "a web page"},
		"pointer.onnx":      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "git lfs pull"},
		"empty.onnx":        {"", "empty"},
		"model.burn":        {"\x89BURNREC\x01\x00\x00\x00", "record.LoadModule"},
		"photo.png":         {"\x89PNG\r\n\x1a\n", "an image"},
		"model.onnx.gz":     {"\x1f\x8b\x08\x00", "gzip"},
		"models/a.onnx":     {"x", ""},
		"hub/config.json":   {"{}", ""},
		"tf/saved_model.pb": {"x", ""},
		"nothing/readme.md": {"x", ""},
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(c[0]), 0o600))
		for _, command := range [][]string{{"run"}, {"inspect"}, {"bench", "model"}} {
			if c[1] == "" {
				continue
			}
			_, errs, code := burn(t, append(command, path)...)
			require.Equal(t, exitModel, code, name)
			require.Contains(t, errs, c[1], name)
			require.Contains(t, errs, path, name)
		}
	}
	for name, want := range map[string]string{"models": filepath.Join("models", "a.onnx"), "hub": "optimum-cli", "tf": "SavedModel", "nothing": "holds no .onnx file"} {
		_, errs, code := burn(t, "run", filepath.Join(dir, name))
		require.Equal(t, exitModel, code, name)
		require.Contains(t, errs, want, name)
	}
}
