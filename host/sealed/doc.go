// Package sealed makes the file that is executed the file that was hashed: what is checked cannot be exchanged or written
// to between the check and the start.
package sealed
