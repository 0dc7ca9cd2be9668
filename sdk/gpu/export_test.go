package gpu

// Fake is a driver whose devices are the interpreter.
func Fake() Driver { return &fakeDriver{} }
