package provenance_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
)

func passing(statement string, evidence ...ken.Evidence) provenance.Check {
	return provenance.Check{Validator: "go test", Target: "pay", Statement: statement, Passed: true, Evidence: evidence}
}

func failing(statement string, evidence ...ken.Evidence) provenance.Check {
	c := passing(statement, evidence...)
	c.Passed = false
	return c
}

func TestTheSameVerdictAgain(t *testing.T) {
	each(t, func(k *kit) {
		t := k.T
		first := k.record(passing("the tests of pay pass", ken.FromExitCode("go test ./pay", 0)))
		if first.Outcome != provenance.Written {
			t.Fatalf("%+v", first)
		}
		if tier := k.of(provenance.Query{Target: "pay"}).Claims[0].Tier; tier != ken.Inferred {
			t.Errorf("one piece is %s", tier)
		}
		k.set(epoch.AddDate(0, 0, 100))
		if r := k.record(passing("the tests of pay pass", ken.FromExitCode("go test ./pay", 0))); r.ID != first.ID || r.Outcome != provenance.Reinforced {
			t.Fatalf("%+v", r)
		}
		c := k.claimOf(first.ID)
		if len(c.Evidence) != 1 || !c.Evidence[0].FetchedAt.Equal(k.now()) || c.Reinforcements != 1 {
			t.Errorf("the same piece again: %+v", c)
		}
		k.record(passing("the tests of pay pass", ken.FromTestResult("TestRetry", "")))
		if v := k.of(provenance.Query{Target: "pay"}); len(v.Claims) != 1 || v.Claims[0].Tier != ken.Inferred || v.Claims[0].Reinforcements != 2 {
			t.Errorf("another piece: %+v", v.Claims)
		}
		more := passing("the tests of pay pass", ken.FromExitCode("go test ./pay", 0))
		more.ExpiresAt, more.About = k.now().Add(time.Hour), []string{"pay/retry.go", "Pay"}
		if r := k.record(more); r.ID != first.ID || r.Outcome != provenance.Reinforced {
			t.Fatalf("%+v", r)
		}
		if c = k.claimOf(first.ID); !c.ExpiresAt.Equal(more.ExpiresAt) || fmt.Sprint(c.Entities) != "[pay pay/retry.go]" || len(c.Evidence) != 2 {
			t.Errorf("longer, and about more: %+v", c)
		}
		if r := k.record(passing("all 12 tests of pay pass", ken.FromTestResult("TestNew", ""))); r.ID != first.ID || r.Outcome != provenance.Revised {
			t.Fatalf("%+v", r)
		}
		if c = k.claimOf(first.ID); len(c.Evidence) != 1 || c.Evidence[0].ID != "TestNew" {
			t.Errorf("in other words, what backed the old ones counts: %+v", c.Evidence)
		}
	})
}

func TestAVerdictThatTurns(t *testing.T) {
	each(t, func(k *kit) {
		t := k.T
		last := k.record(passing("the tests of pay pass", ken.FromExitCode("go test ./pay", 0)))
		for i := range 40 {
			k.set(k.now().Add(time.Minute))
			c := failing("the tests of pay fail: TestRetry", ken.FromExitCode("go test ./pay", 1), ken.FromTestResult("TestRetry", "failed"))
			if i%2 == 1 {
				c = passing("the tests of pay pass", ken.FromExitCode("go test ./pay", 0))
			}
			r := k.record(c)
			if r.Outcome != provenance.Turned || r.Superseded != last.ID || r.ID == last.ID {
				t.Fatalf("turn %d: %+v", i, r)
			}
			was := k.claimOf(last.ID)
			if was.Status != ken.StatusSuperseded || was.SupersededBy != r.ID || k.standing("pay") != 1 {
				t.Fatalf("turn %d: %+v, %d stand", i, was, k.standing("pay"))
			}
			last = r
		}
		v := k.of(provenance.Query{Target: "pay"})
		if len(v.Claims) != 1 || v.Claims[0].ID != last.ID || v.LeftOut.Superseded != 40 {
			t.Errorf("%d shown, %+v left out", len(v.Claims), v.LeftOut)
		}
	})
}

func TestWhatAPersonSaysStays(t *testing.T) {
	each(t, func(k *kit) {
		t := k.T
		first := k.record(passing("the tests of pay pass", ken.FromExitCode("go test ./pay", 0)))
		if err := k.Transition(t.Context(), ken.Transition{ID: first.ID, To: ken.StatusDisputed, Reason: "they are skipped"}); err != nil {
			t.Fatal(err)
		}
		for _, says := range []string{"the tests of pay pass", "all tests of pay pass"} {
			if r := k.record(passing(says, ken.FromTestResult("TestRetry", ""))); r.Outcome != provenance.Disputed || r.ID != first.ID {
				t.Errorf("%+v", r)
			}
		}
		if c := k.claimOf(first.ID); c.Status != ken.StatusDisputed || len(c.Evidence) != 2 {
			t.Errorf("%+v", c)
		}
		r := k.record(failing("the tests of pay fail", ken.FromExitCode("go test ./pay", 1)))
		if r.Outcome != provenance.Turned || k.claimOf(first.ID).Status != ken.StatusSuperseded {
			t.Errorf("%+v", r)
		}
		by := k.write("pay has no tests any more", about("something else"))
		if err := k.Supersede(t.Context(), r.ID, by); err != nil {
			t.Fatal(err)
		}
		if r = k.record(failing("the tests of pay fail", ken.FromExitCode("go test ./pay", 1))); r.Outcome != provenance.Written || k.standing("pay") != 1 {
			t.Errorf("after somebody replaced it: %+v", r)
		}
	})
}

func TestSettlesOnly(t *testing.T) {
	each(t, func(k *kit) {
		t := k.T
		pass, fail := passing("it ended by itself", ken.FromExitCode("make", 0)), failing("it hung", ken.FromExitCode("make", 130))
		pass.Settles, fail.Settles = true, true
		for _, tt := range []struct {
			c    provenance.Check
			want provenance.Outcome
		}{{pass, provenance.Nothing}, {fail, provenance.Written}, {fail, provenance.Reinforced}, {pass, provenance.Turned}, {pass, provenance.Reinforced}} {
			if r := k.record(tt.c); r.Outcome != tt.want {
				t.Errorf("%+v, want %s", r, tt.want)
			}
		}
	})
}

func TestARecordThatWasCutShort(t *testing.T) {
	each(t, func(k *kit) {
		t := k.T
		k.record(passing("the tests of pay pass", ken.FromExitCode("go test ./pay", 0)))
		if _, err := provenance.Record(t.Context(), broken{k}, failing("they fail", ken.FromExitCode("go test ./pay", 1)), k.now()); err == nil {
			t.Fatal("no error")
		}
		if n := k.standing("pay"); n != 2 {
			t.Fatalf("%d stand", n)
		}
		if r := k.record(failing("they fail", ken.FromExitCode("go test ./pay", 1))); r.Outcome != provenance.Reinforced || k.standing("pay") != 1 {
			t.Errorf("%+v, %d stand", r, k.standing("pay"))
		}
	})
}

func TestRecordIsClean(t *testing.T) {
	each(t, func(k *kit) {
		t := k.T
		const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
		r := k.record(passing("deploy with "+secret+" passes", ken.FromTestResult("Test/"+secret, "saw "+secret), ken.FromExitCode("deploy --token "+secret, 0)))
		if got := fmt.Sprintf("%+v", k.claimOf(r.ID)); strings.Contains(got, secret) {
			t.Error(got)
		}
	})
}

func TestChecksThatLackSomething(t *testing.T) {
	each(t, func(k *kit) {
		t := k.T
		whole := passing("it passes", ken.FromExitCode("make", 0))
		for name, drop := range map[string]func(*provenance.Check){
			"validator": func(c *provenance.Check) { c.Validator = " " }, "target": func(c *provenance.Check) { c.Target = "" },
			"statement": func(c *provenance.Check) { c.Statement = "" }, "evidence": func(c *provenance.Check) { c.Evidence = nil },
		} {
			c := whole
			drop(&c)
			var e *ken.Error
			if _, err := provenance.Record(t.Context(), k, c, k.now()); !errors.As(err, &e) || e.Field != name || e.Code != ken.CodeInvalid {
				t.Errorf("without %s: %v", name, err)
			}
		}
	})
}

func TestEvidenceIsBounded(t *testing.T) {
	each(t, func(k *kit) {
		t := k.T
		id := ""
		for i := range 150 {
			id = k.record(passing("pay passes", ken.FromExitCode(fmt.Sprint("go test -run ", i), 0))).ID
		}
		if n := len(k.claimOf(id).Evidence); n > 101 {
			t.Errorf("%d pieces", n)
		}
	})
}

// However many validators say something at a time, one verdict stands.
func TestRecordTogether(t *testing.T) {
	each(t, func(k *kit) {
		t := k.T
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for j := range 10 {
					c := passing("pay passes", ken.FromExitCode("go test ./pay", 0))
					if (i+j)%3 == 0 {
						c = failing("pay fails", ken.FromExitCode("go test ./pay", 1))
					}
					if _, err := provenance.Record(t.Context(), k, c, k.now()); err != nil && !errors.Is(err, ken.ErrRefused) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		k.record(passing("pay passes", ken.FromExitCode("go test ./pay", 0)))
		if n := k.standing("pay"); n != 1 {
			t.Errorf("%d stand", n)
		}
	})
}

// put writes a file below a folder.
func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// A file is evidence as it is now, under one name however it is named.
func TestEvidence(t *testing.T) {
	root := t.TempDir()
	abs := put(t, root, "pay/retry.go", "package pay\n")
	const hash = "sha256:0c567765e6ad48e8b76905c944d4bbb3166df2e2808c07703352e28ff955e32b"
	names := []string{"pay/retry.go", "./pay//retry.go", `pay\retry.go`, "pay/../pay/retry.go", abs}
	if elsewhere := filepath.Join(t.TempDir(), "project"); os.Symlink(root, elsewhere) == nil {
		names = append(names, filepath.Join(elsewhere, "pay", "retry.go"))
	}
	for _, name := range names {
		e, err := provenance.Evidence(root, name)
		if err != nil || e.Kind != ken.EvidenceFile || e.Path != "pay/retry.go" || e.ContentHash != hash {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

// Nothing outside of the project is read, and each error says which file it is about.
func TestEvidenceThatIsNone(t *testing.T) {
	root, outside := t.TempDir(), put(t, t.TempDir(), "secret", "x")
	put(t, root, "a/b.go", "package b\n")
	if err := os.Symlink(outside, filepath.Join(root, "link")); err != nil {
		t.Skip(err)
	}
	large := put(t, root, "large", "")
	if err := os.Truncate(large, 64<<20+1); err != nil { // a hole: it takes no room
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		"../x": ken.ErrInvalid, outside: ken.ErrInvalid, "link": ken.ErrInvalid, "a": ken.ErrInvalid, ".": ken.ErrInvalid, "": ken.ErrInvalid,
		"a/../../x": ken.ErrInvalid, "a\x00b": ken.ErrInvalid, "large": ken.ErrInvalid, "none.go": ken.ErrNotFound,
	} {
		e, err := provenance.Evidence(root, name)
		if !errors.Is(err, want) || !strings.Contains(err.Error(), cmp.Or(name, "empty")) || ken.Hint(err) == "" || e != (ken.Evidence{}) {
			t.Errorf("%q: %+v, %v", name, e, err)
		}
	}
	if _, err := provenance.Evidence(filepath.Join(root, "gone"), "a/b.go"); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("a project that is not there: %v", err)
	}
}

func TestPage(t *testing.T) {
	for address, page := range map[string]bool{
		"https://example.org": true, "http://example.org/a?b=c#d": true, "https://münchen.example/straße": true, "HTTPS://EXAMPLE.ORG/": true,
		"http://127.0.0.1:8080/x": true, "http://[::1]/": true, "https://wiki.internal/a%20b": true,
		"": false, "http://": false, "https:///x": false, "http://:80/": false, "javascript:alert(1)": false, "data:text/html,x": false, "file:///etc/passwd": false,
		"ftp://example.org/a": false, "example.org/page": false, "//example.org/page": false, "nonsense": false, "https:example.org": false, "http://a b/": false, "https://%zz/": false,
	} {
		e, err := provenance.Page("url", address, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
		if ok := err == nil; ok != page || ok && e.URL != address || !ok && !errors.Is(err, ken.ErrInvalid) {
			t.Errorf("%q: %+v, %v", address, e, err)
		}
	}
}
