package consolidate_test

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
)

// Of several statements that a trained judgement takes for replaced, the likeliest gets a note.
func TestTheLikeliestIsNoted(t *testing.T) {
	known := []ken.Claim{
		said("s1", 0, "We keep the rendered invoices in MinIO, bucket inv-prod."),
		said("s1", 0, "We keep the invoices in MinIO."),
		said("s1", 0, "Deploys happen on Tuesdays."),
	}
	a := consolidate.Plan(said("s2", 20, "Invoices are in S3 these days."), known)
	if len(a.Amend) != 1 || !strings.HasPrefix(a.Amend[0].Text, "We keep the invoices in MinIO (") {
		t.Errorf("%+v", a)
	}
}
