package codegraph

// Versions returns the versions at the head of a saved graph.
func Versions() map[string]uint64 {
	out := map[string]uint64{}
	for _, v := range versions {
		out[v.of] = v.n
	}
	return out
}
