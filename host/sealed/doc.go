// Package sealed ensures that the file that is executed is the file that was hashed: it cannot be replaced or modified between the check
// and the start.
package sealed
