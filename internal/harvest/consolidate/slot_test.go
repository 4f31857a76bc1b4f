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
		{"The payments service keeps its logs for 30 days.", "The payments service logs now take 20 gb of disk.", Write},
		{"The search cluster runs with 3 nodes in Frankfurt.", "The search cluster in Frankfurt now has 5 replicas per shard.", Write},
		{"The payments service runs on Go 1.22.", "The payments service now uses Redis 7.20 for sessions.", Write},
		{"The payments service keeps its logs for 30 days.", "The payments service keeps its logs for 14 days now.", Supersede},
		{"The backup runs on Monday.", "The yoga class moves to Wednesday.", Write},
	} {
		known := ken.Claim{ID: "old", Kind: ken.KindFact, Text: tt.old, Status: ken.StatusObserved, Confidence: 0.8, CreatedAt: at}
		fresh := ken.Claim{Key: "new", Kind: ken.KindFact, Text: tt.new, Status: ken.StatusObserved, Confidence: 0.8, CreatedAt: at.Add(time.Minute)}
		if a := Plan(fresh, []ken.Claim{known}); a.Do != tt.want {
			t.Errorf("%q after %q: %+v", tt.new, tt.old, a)
		}
	}
	ends := ken.Claim{Key: "new", Kind: ken.KindFact, Text: "The port is 8081.", Status: ken.StatusObserved, Confidence: 0.8, CreatedAt: at.Add(time.Minute), ExpiresAt: at.Add(time.Hour)}
	if a := Plan(ends, []ken.Claim{{ID: "old", Kind: ken.KindFact, Text: "The port is 8080.", Status: ken.StatusObserved, Confidence: 0.8, CreatedAt: at}}); a.Do != Write {
		t.Errorf("what ends in an hour: %+v", a)
	}
}
