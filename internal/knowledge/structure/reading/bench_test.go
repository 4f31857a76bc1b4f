package reading_test

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

// A sentence of 25 words, with and without names to ask for, and a text of a megabyte.
func BenchmarkRead(b *testing.B) {
	const sentence = "never deploy the payments service on Fridays; it depends on the ledger, which must stay on PostgreSQL 15 until the new `mailer.go` has been reviewed"
	for _, bb := range []struct {
		name, text string
		known      reading.Names
	}{
		{"sentence", sentence, nil},
		{"sentence/known", sentence, names{"payments": true, "ledger": true}},
		{"talk", "Ana: I moved to Lyon last month with my partner, and we both love how quiet the mornings are compared to our old flat in Paris.", names{"ana": true}},
		{"megabyte", strings.Repeat(sentence+". ", 6500), names{"payments": true}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			c := claim(bb.text)
			b.ReportAllocs()
			for b.Loop() {
				reading.Read(&c, bb.known)
			}
		})
	}
}

// names knows some names.
type names map[string]bool

func (n names) Known(list []string) []bool {
	out := make([]bool, len(list))
	for i, s := range list {
		out[i] = n[s]
	}
	return out
}

// claim is a text as the operator said it.
func claim(text string, entities ...string) ken.Claim {
	c, err := ken.NewClaim(text, ken.Evidence{Kind: ken.EvidenceUserStatement, ID: "ada"})
	if err != nil {
		panic(err) // every text here is one
	}
	c.Entities = entities
	return c
}
