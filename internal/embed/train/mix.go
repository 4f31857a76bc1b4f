package train

import "strings"

// Mix is the weight of each source of the shipped table's pairs: large sets of one
// kind of text count less, dialogue, questions and Python more. A source that it
// does not know has the weight 1.
func Mix(src string) float64 {
	if w, ok := mix[src]; ok {
		return w
	}
	if strings.HasSuffix(src, "-code") {
		return 1.5
	}
	return 1
}

var mix = map[string]float64{
	"cpp-docs":               0.35,
	"wordnet":                0.4,
	"go-modules":             0.8,
	"python-stdlib":          1.5,
	"synthetic-persona-chat": 3,
	"qmsum":                  2,
	"molweni":                2,
	"taskmaster":             2,
	"clinc-oos":              1.5,
	"pubmedqa":               2,
	"scitldr":                2,
	"covid-qa":               2,
	"hybridqa":               2,
}
