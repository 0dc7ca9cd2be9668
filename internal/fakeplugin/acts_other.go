//go:build !linux

package fakeplugin

func acts() {}

func leave(bool) {}
