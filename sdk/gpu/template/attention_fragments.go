package template

// fragments reports whether matrix instructions do for f.
func (f flash) fragments(t Target) bool { return false }

func (s *sequence) attendFragments(f flash) {}
