package structure

// Clause says in words how the step leads to its entity, to stand behind its name:
// "which payments requires".
func (s *Step) Clause() string {
	switch {
	case s.Type == "owned_by" && s.Out:
		return "which owns " + s.Focus
	case s.Type == "owned_by":
		return "which " + s.Focus + " owns"
	case s.Out:
		return "which " + s.Focus + " " + s.Type
	}
	return "which " + s.Type + " " + s.Focus
}
