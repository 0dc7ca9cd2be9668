package sealed

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"

	"golang.org/x/sys/windows"
)

// openRead opens path for reading and keeps others from writing to it, renaming or removing it.
func openRead(path string) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	h, err := windows.CreateFile(name, windows.GENERIC_READ, windows.FILE_SHARE_READ, nil, windows.OPEN_EXISTING,
		windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

func open(src *os.File, path, want string, _ How, _ bool) (*File, error) {
	got, err := sumOf(src)
	if err != nil {
		return nil, err
	}
	if got != want {
		return nil, mismatch(path, got, want)
	}
	return newFile(path, "", src.Close), nil
}

// sumOf reads r to its end.
func sumOf(r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
