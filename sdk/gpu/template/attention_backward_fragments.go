package template

func (f flashBack) fragments(t Target) bool { return false }

func (s *sequence) backFragments(f flashBack) {}
