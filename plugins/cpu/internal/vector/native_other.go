//go:build !amd64

package vector

func best() *loops { return nil }

func levels() []*loops { return nil }
