package store

import (
	"errors"
	"fmt"
)

// The reasons of refusals. Errors of this package wrap one of them, or an error of the system or the network.
var (
	ErrArchive   = errors.New("archive refused")    // attacks, damage, archives without a plugin
	ErrUnsigned  = errors.New("not signed")         // there is no signature
	ErrUntrusted = errors.New("signer not trusted") // unknown, expired, revoked, or not for this namespace
	ErrSignature = errors.New("signature is wrong") // the signature belongs to another archive, or is forged
	ErrLocked    = errors.New("differs from the lock")
	ErrNotFound  = errors.New("not found")
	ErrPlatform  = errors.New("wrong platform")
	ErrExists    = errors.New("installed with other content")
	ErrFormat    = errors.New("malformed") // a file of this package cannot be parsed: trust, lock, index, key
	ErrForeign   = errors.New("not safe from other users")
	ErrChanged   = errors.New("changed by something other than burn")
	ErrDowngrade = errors.New("older than what is in use")
	ErrRollback  = errors.New("older than what the mirror showed before")
	ErrExpired   = errors.New("expired")
)

// Refusal is an error with a remedy.
type Refusal struct {
	What   string
	Remedy string
	Err    error // one of the errors above
}

// Error prints "what: why; remedy".
func (r *Refusal) Error() string {
	s := fmt.Sprintf("%s: %v", r.What, r.Err)
	if r.Remedy != "" {
		s += "; " + r.Remedy
	}
	return s
}

// Unwrap returns the reason.
func (r *Refusal) Unwrap() error { return r.Err }

func refuse(err error, remedy, format string, args ...any) error {
	return &Refusal{fmt.Sprintf(format, args...), remedy, err}
}

func badArchive(format string, args ...any) error {
	return refuse(ErrArchive, "", format, args...)
}
