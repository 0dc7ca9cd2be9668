package title

// last ends the memory. Without a zero there, Linux takes it for one text that ends at the first zero.
const last = ' '
