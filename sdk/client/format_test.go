package client

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// header returns n bytes with the given values at their places: bytes, and numbers of two and four bytes.
func header(n int, order binary.ByteOrder, at map[int]any) []byte {
	b := make([]byte, n)
	for i, v := range at {
		switch v := v.(type) {
		case string:
			copy(b[i:], v)
		case byte:
			b[i] = v
		case uint16:
			order.PutUint16(b[i:], v)
		case uint32:
			order.PutUint32(b[i:], v)
		}
	}
	return b
}

// elf64 returns the header of an ELF file of 64 bits, by the System V ABI: no programs, no sections.
func elf64(machine uint16, osabi byte) []byte {
	return header(64, binary.LittleEndian, map[int]any{0: "\x7fELF", 4: byte(2), 5: byte(1), 6: byte(1), 7: osabi, 16: uint16(2), 18: machine, 20: uint32(1), 52: uint16(64), 58: uint16(64)})
}

// machO returns the header of a Mach-O program of 64 bits.
func machO(cpu uint32) []byte {
	return header(32, binary.LittleEndian, map[int]any{0: uint32(0xfeedfacf), 4: cpu, 12: uint32(2)})
}

// portable returns a DOS header that leads to the header of a PE file without sections.
func portable(machine uint16) []byte {
	return header(0x40+24+128, binary.LittleEndian, map[int]any{0: "MZ", 0x3c: uint32(0x40), 0x40: "PE\x00\x00", 0x44: machine})
}

// TestFormatOf recognises programs of the platforms by the numbers that their formats define.
func TestFormatOf(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		what string
		file []byte
		want string
	}{
		{"amd64", elf64(62, 0), "linux/amd64"}, {"arm64", elf64(183, 0), "linux/arm64"}, {"FreeBSD", elf64(62, 9), "freebsd/amd64"},
		{"Linux by name", elf64(62, 3), "linux/amd64"}, {"RISC-V", elf64(243, 0), "linux/EM_RISCV"},
		{"Intel Mac", machO(0x01000007), "darwin/amd64"}, {"Mac", machO(0x0100000c), "darwin/arm64"}, {"old Mac", machO(0x01000012), "darwin/CpuPpc64"},
		{"Windows", portable(0x8664), "windows/amd64"}, {"Windows on ARM", portable(0xaa64), "windows/arm64"},
		{"half a header", elf64(62, 0)[:40], ""}, {"nothing", nil, ""}, {"a script", []byte("#!/bin/sh\nexit 1\n"), ""},
		{"WebAssembly", []byte("\x00asm\x01\x00\x00\x00"), ""},
	} {
		path := filepath.Join(dir, "f")
		require.NoError(t, os.WriteFile(path, c.file, 0o600))
		require.Equal(t, c.want, FormatOf(path), c.what)
	}
	require.Empty(t, FormatOf(dir))
	require.Empty(t, FormatOf(filepath.Join(dir, "none")))
	self, err := os.Executable()
	require.NoError(t, err)
	require.Equal(t, runtime.GOOS+"/"+runtime.GOARCH, FormatOf(self), "this program")
}
