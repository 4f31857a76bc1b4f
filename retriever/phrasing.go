package retriever

import (
	"strings"
	"sync"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

// phrasingWords phrase a question, but name nothing that a file could be about. They are rare in
// code, so without this list, having or lacking one would count much.
const phrasingWords = `happen know take get go put make try choose decide find give come keep let need want use become tell say see look show ask
bring leave stay mean matter think believe expect suppose seem appear care consider work turn help depend affect reason difference
many much several same other another more most less few fewer some any every each both nobody somebody someone anybody anyone everybody everyone
something anything nothing everything thing kind sort way place half whole enough one two own
before after between under over up down out off through inside outside instead already still yet ever never always often once twice until since
while without really exactly actually apart around behind like big small large new old may might`

// phrasing returns these words as index terms.
var phrasing = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for word := range strings.FieldsSeq(phrasingWords) {
		for _, term := range analysis.Terms(word) {
			out[term] = true
		}
	}
	return out
})

// contentShare returns the part of the query's terms that a record has, without those that only
// phrase the question. parts are what each term adds to the record's score. If the query has no
// other terms, it returns share, the part of all terms.
func contentShare(res *store.Result, parts []float32, share float64) float64 {
	if len(parts) != len(res.Values) || len(parts) != len(res.Terms) {
		return share
	}
	has, all := float32(0), float32(0)
	for i, v := range res.Values {
		if phrasing()[res.Terms[i]] {
			continue
		}
		if all += v; parts[i] > 0 {
			has += v
		}
	}
	if all == 0 {
		return share
	}
	return float64(min(1, has/all))
}
