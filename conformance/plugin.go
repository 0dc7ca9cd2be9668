package conformance

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// Plugin identifies the tested backend. The program that opens the backend sets it.
type Plugin struct {
	Device string `json:"device,omitempty"` // spec with which it can be opened again
	File   string `json:"file,omitempty"`   // base name of the plugin; empty for a backend of this program
	SHA256 string `json:"sha256,omitempty"` // of the plugin's file, or of the program

	// Package, Version, Platform and Archive describe a plugin that was installed from an archive or is tested in one. Package is
	// HOST/NAMESPACE/NAME, Archive the digest sha256:HEX.
	Package  string `json:"package,omitempty"`
	Version  string `json:"version,omitempty"`
	Platform string `json:"platform,omitempty"`
	Archive  string `json:"archive,omitempty"`
	// Files are all files of the plugin in order of path: its program, and the libraries and scripts beside it. Tree is TreeOf them.
	Tree  string       `json:"tree,omitempty"`
	Files []PluginFile `json:"files,omitempty"`
}

// PluginFile is one file of a plugin.
type PluginFile struct {
	Path       string `json:"path"`   // with slashes
	Digest     string `json:"digest"` // sha256:HEX
	Executable bool   `json:"executable,omitempty"`
}

// TreeOf returns the digest of files as in the signature of an archive: the SHA-256 of one line for each file, in order of path. A line
// contains "x" if the file is executable or else "-", its digest and its path, separated by spaces.
func TreeOf(files []PluginFile) string {
	h := sha256.New()
	for _, f := range slices.SortedFunc(slices.Values(files), func(a, b PluginFile) int { return strings.Compare(a.Path, b.Path) }) {
		fmt.Fprintf(h, "%s %s %s\n", map[bool]string{true: "x", false: "-"}[f.Executable], f.Digest, f.Path)
	}
	return "sha256:" + sum(h)
}

// Content returns the digest that identifies all code that ran. This is the digest of the archive if it is known, or else of the files, or
// else of the single file. If no digest is known, Content returns "".
func (p *Plugin) Content() string {
	switch {
	case p.Archive != "":
		return p.Archive
	case p.Tree != "":
		return p.Tree
	case p.SHA256 != "":
		return "sha256:" + p.SHA256
	}
	return ""
}

// check returns an error if the description contradicts itself.
func (p *Plugin) check() error {
	if got := TreeOf(p.Files); p.Tree != "" && got != p.Tree {
		return tampered("the files of the plugin have the digest %s, %s says %s", got, ManifestFile, p.Tree)
	}
	return nil
}
