package title

const known = true
