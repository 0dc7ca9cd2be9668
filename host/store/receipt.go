package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/goburn/burn/internal/tomlfile"
)

// Receipt is the store's record of an installation, beside the plugin.
type Receipt struct {
	Source    string     `toml:"source" json:"source"`
	Archive   string     `toml:"archive" json:"archive"` // digest
	Tree      string     `toml:"tree" json:"tree"`
	Installed time.Time  `toml:"installed" json:"installed"`
	Signature *Signature `toml:"signed,omitempty" json:"signed,omitempty"` // nil: the archive was not signed
	Files     []File     `toml:"file" json:"files"`
}

const receiptName = ".burn-receipt.toml"

// Signer returns the id of the key, or "" if the archive was not signed.
func (r *Receipt) Signer() string {
	if r.Signature == nil {
		return ""
	}
	return r.Signature.Key
}

func (r *Receipt) write(dir string) error {
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(r); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, receiptName), b.Bytes(), 0o444)
}

func readReceipt(dir string) (*Receipt, error) {
	text, err := read(tomlfile.Receipt, filepath.Join(dir, receiptName))
	if os.IsNotExist(err) {
		return nil, refuse(ErrFormat, "install it again with --force, or remove the folder", "%s: no receipt of an installation", dir)
	}
	if err != nil {
		return nil, err
	}
	r := &Receipt{}
	if err := decode(tomlfile.Receipt, text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, receiptName), err)
	}
	if r.Signature != nil {
		if err := r.Signature.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, receiptName), err)
		}
	}
	return r, nil
}
