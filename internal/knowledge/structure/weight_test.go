package structure_test

import (
	"fmt"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/store"
)

func TestWeight(t *testing.T) {
	for _, tt := range []struct {
		name        string
		a           store.AspectOutline
		largest     int
		shown, used float64
		want        float64
	}{
		{"never shown, touches nothing", store.AspectOutline{Name: "a", Claims: 500}, 8, 0, 0, 0.25},
		{"the most central", store.AspectOutline{Name: "a", Others: 5, Constraints: 3}, 8, 0, 0, 0.75},
		{"half as central", store.AspectOutline{Name: "a", Others: 4}, 8, 0, 0, 0.5},
		{"used each time", store.AspectOutline{Name: "a", Others: 8}, 8, 98, 98, 0.5 + 99.0/200},
		{"never used", store.AspectOutline{Name: "a", Others: 8}, 8, 98, 0, 0.5 + 1.0/200},
		{"not classified", store.AspectOutline{Others: 8, Constraints: 8}, 16, 0, 0, 0.25},
		{"nothing to compare with", store.AspectOutline{Name: "a"}, 0, 0, 0, 0.25},
		{"counts that make no sense", store.AspectOutline{Name: "a"}, 0, 1, 5, 6.0 / 14},
		{"below zero", store.AspectOutline{Name: "a"}, 0, -3, -2, 0.25},
	} {
		if got := structure.Weight(&tt.a, tt.largest, tt.shown, tt.used); got != tt.want {
			t.Errorf("%s: %v, not %v", tt.name, got, tt.want)
		}
	}
}

// used counts for one aspect alone.
type used string

func (u used) Counts(entity, aspect string) (shown, times float64) {
	if entity != "payments" || aspect != string(u) {
		return 0, 0
	}
	return 50, 50
}

// How much is filed under an aspect is nothing; whether answers use it is.
func TestUtilityMovesAspects(t *testing.T) {
	var claims []ken.Claim
	for i := range 30 {
		claims = append(claims, fact("deploys", "payments", fmt.Sprint("x", i%3)))
	}
	s := newShelf(append(claims, fact("owners", "payments", "ada", "priya", "mia"))...)
	for _, tt := range []struct {
		u    structure.Utility
		want string
	}{{nil, "deploys"}, {used("owners"), "owners"}, {used("deploys"), "deploys"}} {
		_, tr, err := structure.New(s, tt.u).Look(t.Context(), ask("payments"), nil, structure.Bounds{Aspects: 1, Attributes: 1})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, fmt.Sprint(tt.u), tr.Attributes[0].Aspect, tt.want)
	}
}
