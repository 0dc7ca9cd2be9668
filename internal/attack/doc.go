// Package attack holds permanent attack tests on burn: mutations of every file format that it reads, plugins that send invalid
// replies, processes killed at work, programs replaced while they start. A short part of each test always runs; BURN_ATTACK=full
// (make attack) runs them in full. Nothing imports this package.
package attack
