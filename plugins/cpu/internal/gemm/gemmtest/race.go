//go:build race

package gemmtest

// UnderRace says that the race detector slows the tests down.
const UnderRace = true
