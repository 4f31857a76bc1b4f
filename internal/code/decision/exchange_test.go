package decision

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
)

func TestImportExport(t *testing.T) {
	const given = `{"Id":"ADR-0042","Title":"Use a log","Status":"Accepted","Date":"2026-05-29T10:00:00Z","Context":"Writes get lost.","Decision":"A log.",
		"Alternatives":["files",{"title":"SQLite","cons":["cgo"]}],"Consequences":["one file","it grows"],"Governs":["type:shop.Line","store/log.go"],"superseded_by":null,"unknown":1}`
	x, err := ParseExchange([]byte(given))
	if err != nil {
		t.Fatal(err)
	}
	want := Exchange{ID: "ADR-0042", Title: "Use a log", Status: "Accepted", Date: "2026-05-29", Context: "Writes get lost.", Decision: "A log.", Consequences: "- one file\n- it grows",
		Alternatives: []Alternative{{Title: "files"}, {Title: "SQLite", Cons: []string{"cgo"}}}, Governs: []string{"type:shop.Line", "store/log.go"}}
	if diff := cmp.Diff(want, x); diff != "" {
		t.Fatal(diff)
	}
	r, _ := project(t, nil)
	got, err := r.Import(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, Export(got)); diff != "" || got.Handle != "ADR-0042" {
		t.Error(got.Handle, diff)
	}
	again, err := r.Import(t.Context(), x)
	if err != nil || again.Handle != "ADR-0043" {
		t.Error("a number that is taken:", again.Handle, err)
	}
	x.Status, x.ID, x.SupersededBy = "Superseded", "ADR-0050", []string{"ADR-0043"}
	old, err := r.Import(t.Context(), x)
	if err != nil || old.Status != Superseded || Export(old).SupersededBy[0] != "ADR-0043" {
		t.Error(old.Status, old.SupersededBy, err)
	}
	if late, err := r.Import(t.Context(), Exchange{Title: "Only weighed", Status: "Rejected", Context: "c"}); err != nil || late.Status != Rejected {
		t.Error("a proposal that was never decided:", err)
	}
	for _, bad := range []string{"", "[]", `{"title":""}`, `{"title":"x","status":"maybe"}`, `{"title":{"a":1}}`, `{"title":"x","tags":[1]}`} {
		if _, err := ParseExchange([]byte(bad)); !errors.Is(err, ken.ErrInvalid) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
