package owner

// Check finds nothing: the folders of a user are his own there.
func Check(string) error { return nil }
