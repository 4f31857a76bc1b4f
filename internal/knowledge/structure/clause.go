package structure

import "strings"

// Clause says in words how the step leads to its entity, to stand behind its name:
// "which payments requires".
func (s *Step) Clause() string {
	switch {
	case s.Type == "owned_by" && s.Out:
		return "which owns " + s.Focus
	case s.Type == "owned_by":
		return "which " + s.Focus + " owns"
	case s.Out:
		return "which " + s.Focus + " " + strings.ReplaceAll(s.Type, "_", " ")
	}
	return "which " + strings.ReplaceAll(s.Type, "_", " ") + " " + s.Focus
}
