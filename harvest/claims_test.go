package harvest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/harvest"
)

func ExampleClaims() {
	at := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	claims, err := harvest.Claims(context.Background(), []ken.Message{
		{Role: "user", Text: "Never deploy the ledger on Fridays. The mailer listens on port 8025. Which port does the proxy use?"},
		{Role: "assistant", Text: "<scratch_pad>Is it 8443?</scratch_pad>I don't know."},
	}, at)
	if err != nil {
		panic(err)
	}
	for _, c := range claims {
		if c.Kind != ken.KindEpisode {
			fmt.Println(c.Kind, c.RuleCandidate, c.Text)
		}
	}
	// Output:
	// fact true User: Never deploy the ledger on Fridays.
	// fact false The mailer listens on port 8025.
}

// A conversation without a message, or with nothing but reasoning, teaches nothing.
func TestClaimsOfNothing(t *testing.T) {
	for name, messages := range map[string][]ken.Message{
		"no message": nil,
		"reasoning":  {{Role: "assistant", Text: "<scratch_pad>The port is 8443.</scratch_pad>"}},
	} {
		claims, err := harvest.Claims(t.Context(), messages, monday)
		if err != nil || len(claims) > 0 {
			t.Errorf("%s: %v, %v", name, claims, err)
		}
	}
}
