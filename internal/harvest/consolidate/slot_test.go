package consolidate

import (
	"testing"
	"time"

	"github.com/kenlayer/ken"
)

// What is said later of a value replaces what was said before, also where neither sentence can be
// taken apart. Different things keep their values.
func TestLaterValuesReplace(t *testing.T) {
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		old, new string
		want     Do
	}{
		{"The port is 8080.", "The port is 8081.", Supersede},
		{"The on-call handover is on Mondays at 9.", "The on-call handover moves to Wednesday.", Supersede},
		{"Die Sitzung der Mitglieder ist am Montag.", "Die Sitzung der Mitglieder ist jetzt am Dienstag.", Supersede},
		{"The mailer is owned by Cy.", "The auth service is owned by Cy.", Write},
		{"The on-call handover is on Mondays at 9, there are five of us in the rota, the pay is 240 euros a week and the phone is in the drawer of the front desk.", "The on-call handover moves to Wednesday.", Write},
		{"The backup runs on Monday.", "The yoga class moves to Wednesday.", Write},
	} {
		known := ken.Claim{ID: "old", Kind: ken.KindFact, Text: tt.old, Status: ken.StatusObserved, Confidence: 0.8, CreatedAt: at}
		fresh := ken.Claim{Key: "new", Kind: ken.KindFact, Text: tt.new, Status: ken.StatusObserved, Confidence: 0.8, CreatedAt: at.Add(time.Minute)}
		if a := Plan(fresh, []ken.Claim{known}); a.Do != tt.want {
			t.Errorf("%q after %q: %+v", tt.new, tt.old, a)
		}
	}
}
