package ken_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/kenlayer/ken"
)

func TestSupportTier(t *testing.T) {
	test1, test2 := ken.FromTestResult("TestA", "ok"), ken.FromTestResult("TestB", "ok")
	again := ken.FromTestResult("TestA", "ok, run an hour later")
	again.FetchedAt = someDay.Add(time.Hour)
	human := ken.FromHumanAssertion("ada", someDay, "checked by hand")
	words := ken.FromMessage("s", "m", "said so")
	file := ken.FromFile("a.go", "", "")

	for _, tt := range []struct {
		name     string
		status   ken.Status
		evidence []ken.Evidence
		want     ken.Tier
	}{
		{"nothing", ken.StatusObserved, nil, ken.Guessed},
		{"words", ken.StatusObserved, []ken.Evidence{words}, ken.Assumed},
		{"many words stay words", ken.StatusObserved, []ken.Evidence{words, ken.FromUserStatement("s", "m2"),
			ken.FromAgentAssertion("a", "yes"), ken.FromModelInference("s", "m3", "so")}, ken.Assumed},
		{"a file", ken.StatusObserved, []ken.Evidence{file}, ken.Inferred},
		{"two files are not proof", ken.StatusObserved, []ken.Evidence{file, ken.FromFile("b.go", "", "")}, ken.Inferred},
		{"one hard piece", ken.StatusObserved, []ken.Evidence{test1}, ken.Inferred},
		{"a hard piece and a file", ken.StatusObserved, []ken.Evidence{test1, file}, ken.Inferred},
		{"two hard pieces of one run", ken.StatusObserved, []ken.Evidence{test1, test2}, ken.Inferred},
		{"exit status and output of one run", ken.StatusObserved, []ken.Evidence{at(ken.FromExitCode("go test", 0), 1), at(test1, 1)}, ken.Inferred},
		{"two runs", ken.StatusObserved, []ken.Evidence{at(ken.FromExitCode("go test", 0), 1), at(test1, 2)}, ken.Verified},
		{"one test in two runs", ken.StatusObserved, []ken.Evidence{at(test1, 1), at(test1, 2)}, ken.Inferred},
		{"a run and a commit", ken.StatusObserved, []ken.Evidence{at(test1, 1), at(ken.FromGitHistory("r", "abc", ""), 1)}, ken.Verified},
		{"two hard kinds with one reference", ken.StatusObserved,
			[]ken.Evidence{ken.FromTestResult("x", ""), ken.FromValidator("x", "")}, ken.Verified},
		{"a human on an observed claim", ken.StatusObserved, []ken.Evidence{human}, ken.Inferred},
		{"a human's verification", ken.StatusVerified, []ken.Evidence{human}, ken.Verified},
		{"a verification backed by words", ken.StatusVerified, []ken.Evidence{words}, ken.Assumed},
		{"the same piece twice", ken.StatusObserved, []ken.Evidence{test1, test1}, ken.Inferred},
		{"the same piece recorded later", ken.StatusObserved, []ken.Evidence{test1, again}, ken.Inferred},
		{"the same command twice", ken.StatusObserved,
			[]ken.Evidence{ken.FromExitCode("go test", 0), ken.FromExitCode("go test", 0)}, ken.Inferred},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := claimWith(tt.evidence...)
			c.Status = tt.status
			if got := c.Support(nil).Tier; got != tt.want {
				t.Errorf("tier %v, want %v", got, tt.want)
			}
		})
	}
}

// Evidence from a file that changed no longer counts: its claim must not keep the tier
// of the old content.
func TestSupportCountsOnlyWhatStands(t *testing.T) {
	file, words := ken.FromFile("a.go", "", ""), ken.FromMessage("s", "m", "said so")
	noFiles := func(e ken.Evidence) bool { return e.Kind != ken.EvidenceFile }
	for _, tt := range []struct {
		name     string
		evidence []ken.Evidence
		want     ken.Tier
	}{
		{"only the file", []ken.Evidence{file}, ken.Guessed},
		{"words remain", []ken.Evidence{file, words}, ken.Assumed},
		{"a test remains", []ken.Evidence{file, ken.FromTestResult("T", "ok")}, ken.Inferred},
	} {
		c := claimWith(tt.evidence...)
		if got := c.Support(noFiles).Tier; got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	c := claimWith(ken.FromTestResult("A", ""), ken.FromTestResult("B", ""))
	if got := c.Support(func(ken.Evidence) bool { return false }).Tier; got != ken.Guessed {
		t.Errorf("nothing stands: %v, want Guessed", got)
	}
}

func TestSupportTrustIsTheLeastTrusted(t *testing.T) {
	external := ken.FromToolResult("tc", "ok")
	agent, operator := ken.FromArtifact("a", ""), ken.FromFile("a.go", "", "")
	raised := external
	raised.Trust = ken.TrustOperator
	for _, tt := range []struct {
		name     string
		evidence []ken.Evidence
		want     ken.Trust
	}{
		{"none", nil, ken.TrustExternal},
		{"operator", []ken.Evidence{operator}, ken.TrustOperator},
		{"agent below operator", []ken.Evidence{operator, agent}, ken.TrustAgent},
		{"external below all", []ken.Evidence{operator, agent, external}, ken.TrustExternal},
		{"own trust wins", []ken.Evidence{operator, raised}, ken.TrustOperator},
		{"unknown kind is external", []ken.Evidence{operator, {Kind: "rumour"}}, ken.TrustExternal},
	} {
		c := claimWith(tt.evidence...)
		if got := c.Support(nil).Trust; got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	// A piece that no longer holds still counts for the trust.
	c := claimWith(operator, external)
	if got := c.Support(func(e ken.Evidence) bool { return e.Kind == ken.EvidenceFile }).Trust; got != ken.TrustExternal {
		t.Errorf("trust rose to %v because a piece fell", got)
	}
}

func TestTierDecayBorder(t *testing.T) {
	const days = 30
	newest := someDay
	border := newest.Add(days * 24 * time.Hour)
	for _, tt := range []struct {
		name string
		tier ken.Tier
		now  time.Time
		days int
		want ken.Tier
	}{
		{"fresh", ken.Verified, newest, days, ken.Verified},
		{"on the last day", ken.Verified, border, days, ken.Verified},
		{"one nanosecond later", ken.Verified, border.Add(1), days, ken.Inferred},
		{"no decay", ken.Verified, border.Add(1e9 * 1e9), 0, ken.Verified},
		{"negative means no decay", ken.Verified, border.Add(1), -1, ken.Verified},
		{"only Verified decays", ken.Inferred, border.Add(1), days, ken.Inferred},
		{"Guessed stays", ken.Guessed, border.Add(1), days, ken.Guessed},
		{"a clock that runs behind", ken.Verified, newest.Add(-time.Hour), days, ken.Verified},
	} {
		s := ken.Support{Tier: tt.tier, NewestAt: newest}
		if got := s.At(tt.now, tt.days); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestSupportNewestAt(t *testing.T) {
	later := someDay.Add(48 * time.Hour)
	c := claimWith(ken.FromTestResult("A", ""), ken.FromTestResult("B", ""))
	if got := c.Support(nil).NewestAt; !got.Equal(someDay) {
		t.Errorf("pieces without a time are as old as the claim: %v", got)
	}
	c.Evidence[1].FetchedAt = later
	if got := c.Support(nil).NewestAt; !got.Equal(later) {
		t.Errorf("the newest piece counts: %v", got)
	}
	c.Evidence[1].FetchedAt = someDay.Add(-time.Hour)
	if got := c.Support(nil).NewestAt; !got.Equal(someDay) {
		t.Errorf("an older piece must not age the claim: %v", got)
	}
	c.Evidence[1].FetchedAt = later
	fallen := func(e ken.Evidence) bool { return e.ID != "B" }
	if got := c.Support(fallen).NewestAt; !got.Equal(someDay) {
		t.Errorf("a piece that fell refreshes nothing: %v", got)
	}
}

func TestTierText(t *testing.T) {
	for tier, name := range map[ken.Tier]string{
		ken.Guessed: "Guessed", ken.Assumed: "Assumed", ken.Inferred: "Inferred", ken.Verified: "Verified", 9: "invalid(9)"} {
		if tier.String() != name {
			t.Errorf("%d is %q, want %q", tier, tier, name)
		}
	}
	if !(ken.Guessed < ken.Assumed && ken.Assumed < ken.Inferred && ken.Inferred < ken.Verified) {
		t.Error("a stronger tier must compare larger")
	}
	for tier := ken.Guessed; tier <= ken.Verified; tier++ {
		b, err := json.Marshal(tier)
		if err != nil {
			t.Fatal(err)
		}
		var back ken.Tier
		if err := json.Unmarshal(b, &back); err != nil || back != tier {
			t.Errorf("%s came back as %v, %v", b, back, err)
		}
	}
	var back ken.Tier
	wantField(t, back.UnmarshalText([]byte("Certain")), "tier")
}

// at is evidence that was collected so many minutes after noon.
func at(e ken.Evidence, minutes int) ken.Evidence {
	e.FetchedAt = time.Date(2026, 5, 18, 12, minutes, 0, 0, time.UTC)
	return e
}
