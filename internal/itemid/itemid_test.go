package itemid_test

import (
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/itemid"
)

func TestBare(t *testing.T) {
	for in, want := range map[string]string{"[k:0e7f75]": "0e7f75", "k:0E7F75": "0e7f75", " 0e7f75\n": "0e7f75", "": "", "k:": "", "ok": "ok"} {
		if got := itemid.Bare(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// Ids that are names end in a part of a word, so a hash stands for them.
func TestEnding(t *testing.T) {
	for kind, same := range map[ken.Kind]bool{ken.KindFact: true, ken.KindDocument: true, itemid.KindSymbol: false, itemid.KindObjectives: false} {
		if got := itemid.Ending("file:vault.go", kind); (got == "file:vault.go") != same {
			t.Errorf("%s: got %s", kind, got)
		}
	}
}
