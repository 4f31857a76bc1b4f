package scorer

import "github.com/kenlayer/ken/internal/analysis"

// Slot hashes the name of an entity or an aspect, as analysis.Entity spells it: 32-bit
// FNV-1a. It is 0 for a name of which nothing is left, and for no other.
func Slot(name string) uint32 {
	name = analysis.Entity(name)
	if name == "" {
		return 0
	}
	const offset, prime = 2166136261, 16777619
	h := uint32(offset)
	for i := range len(name) {
		h ^= uint32(name[i])
		h *= prime
	}
	if h == 0 {
		return offset
	}
	return h
}

// pair is an entity's aspect as one number.
func pair(entity, aspect uint32) uint64 { return uint64(entity)<<32 | uint64(aspect) }

// mix spreads the bits of a number (the finalizer of splitmix64, Steele, Lea and
// Flood, OOPSLA 2014).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
