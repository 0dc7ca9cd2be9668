// Package sealed ensures that the file that is executed is the file that was hashed: nobody can replace or modify it between the check and
// the start. Package host calls it before it starts a plugin. It must not decide which hashes are trusted.
package sealed
