package source

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
)

// Environment variables that this package reads.
const (
	EnvDir     = "BURN_DATA"    // folder of data sets
	EnvOffline = "BURN_OFFLINE" // if not empty, nothing is downloaded
)

// Options tells where to search and whether to download a data set. The zero value suits most programs.
type Options struct {
	Dir      string         // folder that is searched first and receives downloads; empty for the default ones
	Only     bool           // search only Dir, and never download
	Offline  bool           // never download
	Progress func(Download) // receives the progress of a download, from one goroutine; may be nil
	Client   *http.Client   // for downloads; nil means http.DefaultClient

	create func(path string) (sink, error) // opens the file of a download, keeping its content if it exists; nil means os.OpenFile
}

// Download is the progress of a download. Total is -1 if the server did not report it.
type Download struct {
	File, URL   string
	Done, Total int64 // bytes, including those of an earlier, interrupted download
}

func (o Options) offline() bool { return o.Only || o.Offline || os.Getenv(EnvOffline) != "" }

// cache returns the folder for downloads of the named set.
func (o Options) cache(name string) (string, error) {
	if o.Dir != "" {
		return o.Dir, nil
	}
	if dir := os.Getenv(EnvDir); dir != "" {
		return filepath.Join(dir, name), nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("source: no cache folder: %w; set %s to a folder for data sets", err, EnvDir)
	}
	return filepath.Join(dir, "burn", "data", name), nil
}
