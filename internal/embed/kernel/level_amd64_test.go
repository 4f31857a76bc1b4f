package kernel

import "testing"

// everyLevel runs a test with each set of instructions that this processor has.
func everyLevel(t *testing.T, name string, f func(t *testing.T)) {
	best := active
	defer func() { active = best }()
	for l := range best + 1 {
		active = l
		t.Run(name+" "+l.String(), f)
	}
}
