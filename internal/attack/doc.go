// Package attack has the attacks on burn that stay: mutations of every format that it reads, plugins that answer nonsense, kills
// in the midst of work, programs exchanged while they are started. They are tests, of which a short part always runs; BURN_ATTACK=full
// (make attack) runs them in full. Nothing imports this package.
package attack
