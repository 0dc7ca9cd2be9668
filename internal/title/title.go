// Package title hides the command line of this process from the plugins that it starts: a plugin must not learn from its parent's command
// line whether it is tested or used. It works on Linux, macOS and Windows; on macOS the number of arguments stays visible. Only package main
// may use it, because it overwrites the memory in which the system stores the command line.
package title

import "sync"

var mu sync.Mutex

// Hide replaces the command line that other processes see by name, and reports whether it succeeded. It may be called again. It does not
// change os.Args.
func Hide(name string) bool {
	mu.Lock()
	defer mu.Unlock()
	return hide(name)
}
