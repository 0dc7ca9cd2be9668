package mem

// System is the memory in bytes that this process may use: that of the machine, or of the container it runs in. It is 0
// when it is not known.
func System() int64 { return systemMemory() }
