package kernel

// everyLevel runs a test with each set of instructions that this processor has.
func everyLevel[T interface {
	Run(name string, f func(T)) bool
}](t T, name string, f func(t T)) {
	best := active
	defer func() { active = best }()
	for l := range best + 1 {
		active = l
		t.Run(name+" "+l.String(), f)
	}
}
