package title

// last is the last byte of the memory. macOS reports as many strings as there were arguments; all except the first are empty.
const last = 0
