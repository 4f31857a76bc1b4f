package console_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console"
	"github.com/kenlayer/ken/internal/console/consoletest"
	"github.com/kenlayer/ken/store"
)

// health requests the page until its background data is there.
func health(t *testing.T, c *rig, path string, says string) *page {
	t.Helper()
	var p *page
	c.eventually("the page says "+says, func() bool {
		var status int
		if status, p = get(t, c, path); status != http.StatusOK {
			t.Fatalf("%s: %d: %s", path, status, p.text())
		}
		return strings.Contains(p.text(), says)
	})
	return p
}

func TestHealthSaysHowASearchRuns(t *testing.T) {
	c := open(t)
	p := health(t, c, "/console/health?range=all", "Why turns ran with less")
	p.says("How a search runs now hybrid", "by words and by meaning", "answers", "Sessions 0 open", "1 dead", "Runs since just now", "Version test", "Upstream none")
	if !p.links("/console/jobs") || !p.links("/console/turns?mode=keyword") {
		t.Errorf("no way to the jobs or to the turns: %s", p.body)
	}
	// Problems that need a person come first.
	if i, j := strings.Index(p.text(), "1 job was given up on"), strings.Index(p.text(), "How a search runs now"); i < 0 || i > j {
		t.Errorf("the concern is at %d, what it is about at %d", i, j)
	}
	// Each picture has its figures as a table.
	if charts, tables := len(p.all("figure")), len(p.all(".chart-data")); charts < 5 || tables < 5 {
		t.Errorf("%d pictures, %d tables", charts, tables)
	}
	p.hides(consoletest.BobWord)
}

// The charts are of the time that is chosen, down to the minute.
func TestHealthBetweenTwoMoments(t *testing.T) {
	c := open(t)
	at := now.Add(-30 * time.Hour) // seven turns, four minutes apart
	between := func(from, to time.Time) *page {
		t.Helper()
		status, p := get(t, c, "/console/health?from="+from.Format("2006-01-02T15:04")+"&to="+to.Format("2006-01-02T15:04"))
		if status != http.StatusOK {
			t.Fatalf("%d: %s", status, p.text())
		}
		return p
	}
	p := between(at.Add(-time.Minute), at.Add(9*time.Minute))
	p.says("Turns 3 ", "How retrieval ran", "of 3")
	if p.has(`[aria-label="How far back"] [aria-current]`) || attr(p.one("#health-from"), "value") != at.Add(-time.Minute).Format("2006-01-02T15:04") {
		t.Error("another time is marked as chosen")
	}
	p = between(at.Add(-time.Minute), at.Add(time.Hour))
	p.says("Turns 7 ", "3 without a block")
	_, list := get(t, c, attr(p.one(`main a[href^="/console/turns?block=none"]`), "href"))
	if got := listed(list); len(got) != 3 || got[0] != c.project.Turns["settlement 7"] {
		t.Errorf("%q", got)
	}
	between(at.Add(-20*24*time.Hour), at.Add(-19*24*time.Hour)).says("There was no turn in this time.")
	for _, q := range []string{"from=soon", "from=2026-03-14&to=2026-03-13", "to=1999-01-01"} {
		if status, p := get(t, c, "/console/health?"+q); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", q, status, p.text())
		}
	}
}

func TestHealthForAReader(t *testing.T) {
	c := open(t)
	health(t, c, "/console/health?range=all", "Why turns ran with less")
	status, p := get(t, c, "/console/health?range=all", reader)
	if status != http.StatusOK {
		t.Fatal(status)
	}
	p.says("17 turns ran keyword")
	for _, a := range p.all("main a") {
		if to := attr(a, "href"); strings.HasPrefix(to, "/console/turns") || strings.HasPrefix(to, "/console/jobs") {
			t.Errorf("a reader is shown %s", to)
		}
	}
	if strings.Contains(p.text(), "given up on") {
		t.Error("a reader is told of jobs that only an operator can see")
	}
}

func TestHealthOfAnotherOwner(t *testing.T) {
	c := open(t)
	health(t, c, "/console/health?range=all", "Why turns ran with less")
	_, p := get(t, c, "/console/health?range=all", bob)
	p.hides(consoletest.OwnWord, "17 turns")
	if strings.Contains(p.text(), "given up on") {
		t.Errorf("the dead job is another owner's: %s", p.text())
	}
}

func TestHealthOfNothing(t *testing.T) {
	c := open(t, bare)
	p := health(t, c, "/console/health", "There was no turn in this time.")
	p.says("Nothing is known yet.", "All systems normal.")
	if status, p := get(t, c, "/console/health?range=century"); status != http.StatusOK || !strings.Contains(p.text(), "the last day") {
		t.Errorf("an odd range: %d", status)
	}
}

// down is an embedder that answers no more.
type down struct{}

func (down) Embed(context.Context, []string) ([][]float32, error) {
	return nil, errors.New("connection refused <b>by nobody</b>")
}
func (down) Model() string { return "down-1" }
func (down) Dim() int      { return 3 }

func TestHealthWhenTheEmbedderIsDown(t *testing.T) {
	c := open(t, func(s *setup) {
		s.layer.Embedder = down{}
		s.config.Breaker.Failures = 1
		s.config.Breaker.Open = time.Hour
	})
	_, _ = c.layer.Operator().Embedder().Embed(context.Background(), []string{"anything"})
	p := health(t, c, "/console/health?range=all", "The last turn that it helped")
	p.says("The embedder does not answer:", "connection refused <b>by nobody</b>", "Try: ken doctor", "does not answer down-1", "A test request is sent every 1h0m0s", "How a search runs now keyword")
	p.hides("<b>by nobody")
}

// What can't be read is a concern: the page said that nothing was.
func TestHealthWhenTheStoreIsDamaged(t *testing.T) {
	c := open(t, bare)
	const text = "The lamp of the lighthouse is green."
	c.learn(ken.DefaultOwner, text)
	var file string
	c.store(ken.DefaultOwner, func(s store.Engine) error { file = filepath.Join(s.Dir(), "ken.db"); return nil })
	b, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(b, []byte(text)) {
		t.Fatalf("the text is not in the file: %v", err)
	}
	if err := os.WriteFile(file, bytes.ReplaceAll(b, []byte(text), []byte(strings.ToUpper(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	c.store(ken.DefaultOwner, func(s store.Engine) error {
		_, err := s.Check(t.Context())
		for range s.Claims(t.Context()) {
		}
		return err
	})
	if status, p := get(t, c, "/console/"); status != http.StatusOK || !strings.Contains(p.text(), "Something in the store can't be read. Health") {
		t.Errorf("the overview: %d %s", status, p.text())
	}
	p := health(t, c, "/console/health", "Something in the store can't be read. Try: ken check")
	p.says("The claims can't be counted before the store is repaired.")
	if strings.Contains(p.text(), "All systems normal") || strings.Contains(p.text(), "Nothing is known") {
		t.Errorf("the page says %q", p.text())
	}
}

func TestStretchesDivideTime(t *testing.T) {
	for _, span := range []time.Duration{0, time.Second, time.Hour, 25 * time.Hour, 40 * 24 * time.Hour, 3 * 365 * 24 * time.Hour, 20 * 365 * 24 * time.Hour} {
		step := console.StepFor(span)
		if n := span/step + 1; step <= 0 || n > console.MostBuckets {
			t.Errorf("%s is divided into %d times %s", span, n, step)
		}
	}
}
