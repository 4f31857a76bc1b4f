package cases

import "github.com/kenlayer/ken/internal/spelling"

// nearest returns the known name that somebody who wrote name most likely meant:
// itself, else the one that takes the fewest letters to change, at most one in
// three. "" means that there is none.
func nearest(name string, known []string) string {
	best, least := "", len(name)/3+1
	for _, k := range known {
		if k == name {
			return k
		}
		if d := spelling.Distance(name, k); d < least {
			best, least = k, d
		}
	}
	return best
}
