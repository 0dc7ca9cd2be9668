//go:build race

package gemmtest

// UnderRace reports whether the race detector is on, which slows tests down.
const UnderRace = true
