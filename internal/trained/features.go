package trained

// feature is the hash of a feature's name, with its value.
type feature struct {
	at uint32
	x  float32
}

// features collects the features of a model's input.
type features struct {
	list []feature
}

// add adds a feature. Its name is given in parts.
func (f *features) add(x float32, parts ...string) {
	h := uint32(2166136261) // FNV-1a
	for _, p := range parts {
		for i := range len(p) {
			h = (h ^ uint32(p[i])) * 16777619
		}
		h = (h ^ 0xff) * 16777619
	}
	f.list = append(f.list, feature{h ^ h>>15, x})
}

func (f *features) is(parts ...string) { f.add(1, parts...) }
