package client

import (
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"os"
)

// FormatOf returns the platform ("linux/amd64") that the program or object at path is built for, "" if the format is unknown.
func FormatOf(path string) string {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return "" // opening a named pipe would block
	}
	if f, err := elf.Open(path); err == nil {
		defer f.Close()
		goos := "linux"
		if f.OSABI == elf.ELFOSABI_FREEBSD {
			goos = "freebsd"
		}
		switch f.Machine {
		case elf.EM_X86_64:
			return goos + "/amd64"
		case elf.EM_AARCH64:
			return goos + "/arm64"
		}
		return goos + "/" + f.Machine.String()
	}
	if f, err := macho.Open(path); err == nil {
		defer f.Close()
		switch f.Cpu {
		case macho.CpuAmd64:
			return "darwin/amd64"
		case macho.CpuArm64:
			return "darwin/arm64"
		}
		return "darwin/" + f.Cpu.String()
	}
	if f, err := pe.Open(path); err == nil {
		defer f.Close()
		switch f.Machine {
		case pe.IMAGE_FILE_MACHINE_AMD64:
			return "windows/amd64"
		case pe.IMAGE_FILE_MACHINE_ARM64:
			return "windows/arm64"
		}
		return "windows/other"
	}
	return ""
}
