package source

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
)

// Variables of the environment that this package reads.
const (
	EnvDir     = "BURN_DATA"    // folder of data sets
	EnvOffline = "BURN_OFFLINE" // not empty: nothing is downloaded
)

// Options say where a data set may come from. The zero value is right for most.
type Options struct {
	Dir      string         // the folder that is searched first and takes downloads; empty for the usual ones
	Only     bool           // look in Dir and nowhere else, and never download
	Offline  bool           // never download
	Progress func(Download) // is told of a download as it goes on, by one goroutine; nil for silence
	Client   *http.Client   // for downloads; nil means http.DefaultClient

	create func(path string) (sink, error) // of the file of a download, kept if it exists; nil means os.OpenFile
}

// Download is how far the download of a file is. Total is -1 if the server did not say.
type Download struct {
	File, URL   string
	Done, Total int64 // bytes, with those of an earlier, broken download
}

func (o Options) offline() bool { return o.Only || o.Offline || os.Getenv(EnvOffline) != "" }

// cache returns the folder that downloads of the named set are kept in.
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
