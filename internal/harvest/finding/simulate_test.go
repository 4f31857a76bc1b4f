package finding

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/simulate"
)

// Sixty sessions of daily work: what they found out is little, is no junk, does
// not repeat itself, and holds no secret.
func TestSixtySessions(t *testing.T) {
	const sessions = 60
	var claims []ken.Claim
	last := map[string]ken.Claim{}
	kinds := map[Kind]int{}
	for _, s := range simulate.Work(1, sessions) {
		tr := transcript(s)
		for _, f := range Extract(tr, Tools{}) {
			c := f.Claim(tr.Info)
			if err := c.Validate(); err != nil {
				t.Fatalf("%s: %v: %+v", s.ID, err, c)
			}
			kinds[f.Kind]++
			claims = append(claims, c)
			last[c.Key] = c
		}
	}
	junk := map[string]int{}
	var kept []ken.Claim
	bad := 0
	for _, c := range last {
		kept = append(kept, c)
		if why, is := simulate.Junk(&c); is {
			junk[why]++
			bad++
			t.Logf("junk (%s): %s", why, c.Text)
		}
		for _, s := range []string{"v3ry", "sk_live", "q7Rz", "Ignore previous", "approve refunds", "/home/ada", "/tmp/"} {
			if strings.Contains(fmt.Sprint(c), s) {
				t.Errorf("%q in %q", s, c.Text)
			}
		}
	}
	repeats := len(simulate.Repeats(kept))
	t.Logf("%d sessions: %d findings (%.1f a session) %v, %d claims after revision, %d junk %v, %d repeats",
		sessions, len(claims), float64(len(claims))/sessions, kinds, len(kept), bad, junk, repeats)
	if per := float64(len(claims)) / sessions; per < 1 || per > 8 {
		t.Errorf("%.1f findings a session", per)
	}
	if 100*bad >= 5*len(kept) {
		t.Errorf("%d of %d claims are junk", bad, len(kept))
	}
	if 100*repeats >= 2*len(kept) {
		t.Errorf("%d of %d claims repeat another", repeats, len(kept))
	}
	for _, k := range []Kind{Observation, Change, Ownership, Architecture, Dependency, Pitfall} {
		if kinds[k] == 0 {
			t.Errorf("no %s", k)
		}
	}
}

func TestExtractIsDeterministic(t *testing.T) {
	for _, s := range simulate.Work(3, 20) {
		first := fmt.Sprintf("%+v", Extract(transcript(s), Tools{}))
		for range 5 {
			if again := fmt.Sprintf("%+v", Extract(transcript(s), Tools{})); stripPointers(again) != stripPointers(first) {
				t.Fatalf("%s differs:\n%s\n%s", s.ID, first, again)
			}
		}
	}
}

// stripPointers takes the addresses of exit codes out.
func stripPointers(s string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "ExitCode:0x")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		_, s, _ = strings.Cut(rest, " ")
	}
}

func BenchmarkExtract(b *testing.B) {
	work := simulate.Work(1, 200)
	longest := work[0]
	for _, s := range work {
		if len(s.Messages) > len(longest.Messages) {
			longest = s
		}
	}
	tr := transcript(longest)
	for len(tr.Entries) < 200 {
		for _, e := range tr.Entries[:min(len(tr.Entries), 200-len(tr.Entries))] {
			e.Seq = uint64(len(tr.Entries) + 1)
			tr.Entries = append(tr.Entries, e)
		}
	}
	b.ReportMetric(float64(len(tr.Entries)), "messages")
	for b.Loop() {
		if len(Extract(tr, Tools{})) == 0 {
			b.Fatal("nothing")
		}
	}
}
