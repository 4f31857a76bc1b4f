package provenance_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/internal/projectfile"
	"github.com/kenlayer/ken/store"
)

// A block has the short ids of pieces of files. Such an id leads to the piece and its file.
func TestPieceOfAFile(t *testing.T) {
	each(t, func(k *kit) {
		piece := ken.Claim{Text: "Never retry a refund.", Kind: ken.KindDocument, Key: "pay.md#1", Source: "pay.md:3", Confidence: 1,
			Evidence: []ken.Evidence{ken.FromFile("pay.md", "", "")}}
		files, ok := k.claims.(store.Documents)
		if !ok {
			k.Skip("this store holds no files")
		}
		err := files.PutDocuments(k.Context(), []store.Document{{Path: "pay.md", Known: store.Known{Hash: "sha256:1"}, Chunks: []ken.Claim{piece}}})
		if err != nil {
			k.Fatal(err)
		}
		found, err := k.Query(k.Context(), ken.Query{Filter: ken.Filter{Kinds: []ken.Kind{ken.KindDocument}}})
		if err != nil || len(found) != 1 {
			k.Fatalf("%d pieces, %v", len(found), err)
		}
		id := found[0].ID
		for _, target := range []string{id, id[len(id)-6:], "[k:" + id[len(id)-6:] + "]"} {
			v := k.of(provenance.Query{Target: target})
			if len(v.Claims) != 1 || v.Claims[0].ID != id || v.Claims[0].Source != "pay.md:3" || v.Claims[0].Evidence[0].Reference != "pay.md" {
				k.Errorf("%s: %+v", target, v.Claims)
			}
		}
	})
}

func TestEveryWayToAClaim(t *testing.T) {
	each(t, func(k *kit) {
		t := k.T
		retry := k.write("the retry is safe", about("pay.Retry", "pay/retry.go"), rests(ken.FromTestResult("TestRetry", ""), ken.FromExitCode("go test ./pay", 0)),
			func(c *ken.Claim) { c.Key = "retry" })
		derived := k.write("so is the ledger", about("ledger"), rests(ken.FromDecision(retry), ken.FromArtifact("report-7", "out/report.html")))
		for target, want := range map[string][]string{
			retry:                                 {retry + " id", derived + " evidence"},
			retry[len(retry)-8:]:                  {retry + " id", derived + " evidence"},
			"[k:" + retry[len(retry)-6:] + "]":    {retry + " id", derived + " evidence"},
			"retry":                               {retry + " key", derived + " evidence"},
			"PAY.Retry":                           {retry + " name"},
			"method:pay.Retry":                    {retry + " name"},
			"pay/retry.go":                        {retry + " name"},
			"./pay/retry.go":                      {retry + " name"},
			"pay/retry.go:12":                     {retry + " name"},
			"file:pay/retry.go":                   {retry + " name"},
			filepath.Join(k.root, "pay/retry.go"): {retry + " name"},
			"TestRetry":                           {retry + " evidence"},
			"go test ./pay":                       {retry + " evidence"},
			"report-7":                            {derived + " evidence"},
			"artifact:report-7":                   {derived + " evidence"},
			"out/report.html":                     {derived + " evidence"},
			"nobody":                              {},
		} {
			v := k.of(provenance.Query{Target: target})
			got := []string{}
			for _, c := range v.Claims {
				via := ""
				for _, w := range c.Via {
					via += " " + string(w)
				}
				got = append(got, c.ID+via)
			}
			if diff := cmp.Diff(want, got); diff != "" || v.Total != len(want) {
				t.Errorf("%s: %d: %s", target, v.Total, diff)
			}
		}
		_, err := provenance.Of(t.Context(), k, provenance.Query{Target: " "}, k.options())
		if !errors.Is(err, ken.ErrInvalid) {
			t.Errorf("an empty target: %v", err)
		}
	})
}

func TestPagesAndWhatIsLeftOut(t *testing.T) {
	each(t, func(k *kit) {
		t := k.T
		var all []string
		for i := range 25 {
			k.set(epoch.Add(time.Duration(i) * time.Hour))
			all = append(all, k.write(fmt.Sprint("claim ", i), about("ledger")))
		}
		slices.Reverse(all) // the newest first
		old := k.write("it was slow", about("ledger"), expires(k.now().Add(time.Minute)))
		replaced := k.write("it was red", about("ledger"))
		if err := k.Supersede(t.Context(), replaced, all[0]); err != nil {
			t.Fatal(err)
		}
		k.set(k.now().Add(time.Hour))
		v := k.of(provenance.Query{Target: "ledger"})
		if !slices.Equal(ids(v), all[:20]) || v.Total != 25 || v.LeftOut != (provenance.LeftOut{Expired: 1, Superseded: 1}) {
			t.Errorf("the first page: %d of %d, %+v", len(v.Claims), v.Total, v.LeftOut)
		}
		if v = k.of(provenance.Query{Target: "ledger", Offset: 20}); !slices.Equal(ids(v), all[20:]) || v.Offset != 20 {
			t.Errorf("the second page: %v", ids(v))
		}
		if v = k.of(provenance.Query{Target: "ledger", Offset: 99, Limit: 3}); len(v.Claims) != 0 || v.Total != 25 {
			t.Errorf("behind the end: %v", ids(v))
		}
		v = k.of(provenance.Query{Target: "ledger", Limit: 5000, Expired: true, Superseded: true})
		if got := ids(v); len(got) != 27 || got[26] != replaced || !slices.Contains(got, old) || v.LeftOut != (provenance.LeftOut{}) {
			t.Errorf("all: %d, %+v", len(v.Claims), v.LeftOut)
		}
		for _, c := range v.Claims {
			if c.Expired != (c.ID == old) || (c.SupersededBy != "") != (c.ID == replaced) {
				t.Errorf("%s: %+v", c.Text, c)
			}
		}
		if v = k.of(provenance.Query{Target: old}); !slices.Equal(ids(v), []string{old}) || v.LeftOut.Expired != 0 {
			t.Errorf("an expired claim by its own name: %v", ids(v))
		}
	})
}

func TestHowFilesStand(t *testing.T) {
	each(t, func(k *kit) {
		t := k.T
		k.file("pay/same.go", "package pay")
		k.file("pay/other.go", "package other")
		if err := os.Symlink("same.go", filepath.Join(k.root, "pay/link.go")); err != nil {
			t.Skip(err)
		}
		hash := projectfile.Hash([]byte("package pay"))
		for path, want := range map[string]struct {
			state provenance.State
			tier  ken.Tier
			why   string
		}{
			"pay/same.go":    {provenance.Stands, ken.Inferred, "backed by file pay/same.go"},
			"pay/other.go":   {provenance.Changed, ken.Guessed, "nothing that still stands: pay/other.go has changed"},
			"pay/gone.go":    {provenance.Gone, ken.Guessed, "nothing that still stands: pay/gone.go is gone"},
			"pay/link.go":    {provenance.Unread, ken.Inferred, "backed by file pay/link.go"},
			"../outside.txt": {provenance.Unread, ken.Inferred, "backed by file ../outside.txt"},
			"pay":            {provenance.Unread, ken.Inferred, "backed by file pay"},
		} {
			k.write("about "+path, about("thing "+path), rests(hashed(path, hash)))
			c := k.of(provenance.Query{Target: "thing " + path}).Claims[0]
			if c.Evidence[0].State != want.state || c.Tier != want.tier || c.Why != want.why {
				t.Errorf("%s: %s, %s, %q", path, c.Evidence[0].State, c.Tier, c.Why)
			}
		}
	})
}

func TestWhyATier(t *testing.T) {
	each(t, func(k *kit) {
		t := k.T
		at := func(e ken.Evidence) ken.Evidence { e.FetchedAt = epoch; return e }
		person := at(ken.FromHumanAssertion("ada", epoch, "read it"))
		for i, tt := range []struct {
			status   ken.Status
			evidence []ken.Evidence
			days     int
			tier     ken.Tier
			why      string
		}{
			{ken.StatusObserved, []ken.Evidence{at(ken.FromTestResult("TestA", "")), at(ken.FromExitCode("go test", 0)), at(ken.FromTestResult("TestA", ""))}, 1, ken.Inferred, "one run: test_result TestA, exit_code go test"},
			{ken.StatusObserved, []ken.Evidence{at(ken.FromTestResult("TestA", "")), at(ken.FromValidator("vet", ""))}, 1, ken.Verified, "2 independent hard pieces: test_result TestA, validator vet"},
			{ken.StatusObserved, []ken.Evidence{at(ken.FromTestResult("TestA", "")), at(ken.FromValidator("vet", ""))}, 91, ken.Inferred,
				"2 independent hard pieces: test_result TestA, validator vet; but none of it is newer than 2026-03-14, and after 90 days that counts as Inferred"},
			{ken.StatusVerified, []ken.Evidence{person}, 1, ken.Verified, "a person's verification: ada"},
			{ken.StatusObserved, []ken.Evidence{person}, 1, ken.Inferred, "backed by human_assertion ada"},
			{ken.StatusObserved, []ken.Evidence{at(ken.FromValidator("vet", ""))}, 91, ken.Inferred, "one hard piece: validator vet"},
			{ken.StatusObserved, []ken.Evidence{ken.FromUserStatement("s", "m")}, 1, ken.Assumed, "words alone: user_statement"},
			{ken.StatusObserved, []ken.Evidence{hashed("gone.go", "sha256:0")}, 1, ken.Guessed, "nothing that still stands: gone.go is gone"},
		} {
			name := fmt.Sprint("thing ", i)
			k.set(epoch)
			k.write(name, about(name), rests(tt.evidence...), func(c *ken.Claim) { c.Status = tt.status })
			k.set(epoch.AddDate(0, 0, tt.days))
			if c := k.of(provenance.Query{Target: name}).Claims[0]; c.Tier != tt.tier || c.Why != tt.why {
				t.Errorf("%d: %s, %q", i, c.Tier, c.Why)
			}
		}
	})
}

// The words agree with the tier, whatever the evidence is.
func TestWhyAgreesWithTheTier(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	starts := map[ken.Tier][]string{ken.Verified: {"2 independent", "3 independent", "4 independent", "a person's"}, ken.Inferred: {"one hard", "one run", "backed by"},
		ken.Assumed: {"words alone"}, ken.Guessed: {"nothing that"}}
	each(t, func(k *kit) {
		t := k.T
		k.file("here.go", "x")
		pool := []ken.Evidence{ken.FromTestResult("A", ""), ken.FromTestResult("B", ""), ken.FromExitCode("c", 0), ken.FromGitHistory("r", "abc", ""), ken.FromMessage("s", "m", ""),
			ken.FromHumanAssertion("ada", epoch, ""), hashed("here.go", projectfile.Hash([]byte("x"))), hashed("here.go", "sha256:1"), hashed("no.go", "sha256:1"),
			ken.FromURL("https://example.org", epoch, ""), ken.FromURL("https://example.org/h", epoch, "sha256:1"), ken.FromArtifact("a", ""), ken.FromModelInference("s", "m", "")}
		for i := range 200 {
			var on []ken.Evidence
			for range 1 + rng.IntN(4) {
				on = append(on, pool[rng.IntN(len(pool))])
			}
			name := fmt.Sprint("thing ", i)
			k.write(name, about(name), rests(on...), func(c *ken.Claim) {
				if rng.IntN(2) == 0 {
					c.Status = ken.StatusVerified
				}
			})
			c := k.of(provenance.Query{Target: name}).Claims[0]
			if !slices.ContainsFunc(starts[c.Tier], func(s string) bool { return strings.HasPrefix(c.Why, s) }) {
				t.Errorf("%s because of %q", c.Tier, c.Why)
			}
		}
	})
}
