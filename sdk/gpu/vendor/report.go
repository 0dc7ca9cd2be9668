package vendor

import (
	"fmt"
	"strings"
)

// Report lists the libraries that were searched for, in one row each.
type Report []Row

// Row is the result of the search for one library.
type Row struct {
	Key     string // the name of the library in Search.Hide
	Library string // name of the library in messages
	Path    string // path of the loaded file
	Version string // version of the loaded library
	Err     error  // why it is missing, or nil; wraps ErrMissing, except for a driver without a device
	Lost    string // what is slower or absent without the library
	Install string // what to install to get the library
	// Refused lists files that were found but not used, each with the reason.
	Refused []string
}

// String returns one line for each library. Below a missing library it adds what is lost without it, and the remedy.
func (r Report) String() string {
	var b strings.Builder
	for _, row := range r {
		if row.Err == nil {
			fmt.Fprintf(&b, "%s %s: %s\n", row.Library, row.Version, row.Path)
		} else {
			fmt.Fprintf(&b, "%s: %v\n  without it: %s\n  to get it: %s\n", row.Library, row.Err, row.Lost, row.Install)
		}
		for _, text := range row.Refused {
			fmt.Fprintf(&b, "  not used: %s\n", text)
		}
	}
	return b.String()
}

// Row returns the row of a library by its key, or nil.
func (r Report) Row(key string) *Row {
	for i := range r {
		if r[i].Key == key {
			return &r[i]
		}
	}
	return nil
}

// Detail describes the library in the detail of a device: version and file, or why it is missing.
func (r *Row) Detail() string {
	if r.Err != nil {
		return fmt.Sprintf("no %s: %s", r.Library, r.Missing())
	}
	return fmt.Sprintf("%s %s (%s)", r.Library, r.Version, r.Path)
}

// Missing returns a text that says why a library is missing, what is lost without it, and how to get it.
func (r *Row) Missing() string {
	text := fmt.Sprintf("%v; without it %s", r.Err, r.Lost)
	for _, refused := range r.Refused {
		text += "; not used: " + refused
	}
	return text + "; to get it: " + r.Install
}
