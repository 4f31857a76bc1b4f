package outline_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/outline"
)

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    ken.Claim
		want outline.About
		some bool
	}{
		{"names in one spelling, each once", ken.Claim{Kind: ken.KindFact, Entities: []string{"The Payments-Service", "payments_service", "…", "Ledger"}, Aspect: " deployment "},
			outline.About{Names: []string{"payments service", "ledger"}, Aspect: "deployment"}, true},
		{"a rule about nothing", ken.Claim{Kind: ken.KindFact, Constraint: true}, outline.About{Said: []string{}}, true},
		{"a rule whose names are none", ken.Claim{Kind: ken.KindFact, Constraint: true, Entities: []string{"?"}}, outline.About{Said: []string{}}, true},
		{"what a rule says", ken.Claim{Kind: ken.KindFact, Constraint: true, Heading: "Customs", Text: "Never on Fridays."},
			outline.About{Said: []string{"custom", "never", "on", "fridai"}}, true},
		{"a claim about nothing", ken.Claim{Kind: ken.KindFact, Aspect: "a"}, outline.About{}, false},
		{"a piece of the repository", ken.Claim{Kind: ken.KindDocument, Entities: []string{"a"}, Constraint: true}, outline.About{}, false},
		{"a link", ken.Claim{Kind: ken.KindDependency, Entities: []string{"a", "b"}, Aspect: "owned_by", Importance: 0.7},
			outline.About{Names: []string{"a", "b"}, Aspect: "owned_by", Strength: 0.7}, true},
		{"a link says nothing", ken.Claim{Kind: ken.KindDependency, Entities: []string{"a"}, Text: "a uses b", Constraint: true}, outline.About{Names: []string{"a"}}, true},
		{"a link of nothing", ken.Claim{Kind: ken.KindAlias, Constraint: true}, outline.About{}, false},
	} {
		got, some := outline.Of(&tt.c)
		if some != tt.some || some && !cmp.Equal(got, tt.want) {
			t.Errorf("%s: %+v, %v", tt.name, got, some)
		}
	}
}

func TestAboutRoundTrip(t *testing.T) {
	for _, want := range []outline.About{{}, {Aspect: "a"}, {Strength: 0.3}, {Names: []string{"payments"}, Aspect: "deployment", Strength: 1},
		{Names: []string{"a", strings.Repeat("ä", 200), "c", "d", "e"}}, {Said: []string{}}, {Names: []string{"a"}, Said: []string{"never", "on", "fridai"}}} {
		got, err := outline.Decode(want.Append(nil))
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%+v became %+v, %v", want, got, err)
		}
	}
}

// FuzzAbout checks that what is read is what was written, and that nothing else is
// read as something.
func FuzzAbout(f *testing.F) {
	for _, a := range []outline.About{{}, {Names: []string{"payments", "ledger"}, Aspect: "deployment", Strength: 0.5}, {Said: []string{"never", "again"}}} {
		f.Add(a.Append(nil))
	}
	f.Add([]byte{1, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Add([]byte{3})
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := outline.Decode(b)
		if err != nil {
			return
		}
		again, err := outline.Decode(a.Append(nil))
		if err != nil || !cmp.Equal(a, again) {
			t.Errorf("%x: %+v became %+v, %v", b, a, again, err)
		}
		if longer := append(bytes.Clone(b), 0); !isBad(longer) {
			t.Errorf("%x is read with something behind it", b)
		}
	})
}

func isBad(b []byte) bool {
	_, err := outline.Decode(b)
	return err != nil
}
