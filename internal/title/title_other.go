//go:build !linux && !darwin && !windows

package title

func hide(string) bool { return false }
