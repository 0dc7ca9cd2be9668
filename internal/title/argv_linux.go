package title

// last is the last byte of the memory. If it is not zero, Linux reports the memory as one string that ends at the first zero.
const last = ' '
