package trained

import (
	"strconv"
	"sync"
)

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
	f.list = append(f.list, feature{place(parts...), x})
}

// place returns the hash of a feature's name.
func place(parts ...string) uint32 {
	h := uint32(2166136261) // FNV-1a
	for _, p := range parts {
		for i := range len(p) {
			h = (h ^ uint32(p[i])) * 16777619
		}
		h = (h ^ 0xff) * 16777619
	}
	return h ^ h>>15
}

// addVector adds the numbers of a vector, times factor. Each feature is named after the vector and its index.
func (f *features) addVector(factor float32, name string, v []float32) {
	at, ok := places.Load(name)
	if !ok || len(at.([]uint32)) < len(v) {
		list := make([]uint32, len(v))
		for i := range list {
			list[i] = place(name, strconv.Itoa(i))
		}
		at = list
		places.Store(name, at)
	}
	for i, h := range at.([]uint32)[:len(v)] {
		f.list = append(f.list, feature{h, v[i] * factor})
	}
}

// places holds the hashes of the names of vectors' features, by the name of the vector. There are few names.
var places sync.Map

func (f *features) is(parts ...string) { f.add(1, parts...) }
