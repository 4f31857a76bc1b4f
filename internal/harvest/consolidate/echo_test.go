package consolidate_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/run/session"
)

// retelling is a text after something was injected.
type retelling struct {
	Injected, Text string
	Echo           bool
}

func retellings(t testing.TB, file string) []retelling {
	t.Helper()
	f, err := os.Open("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []retelling
	for s := bufio.NewScanner(f); s.Scan(); {
		var r retelling
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// What adds a number, a name, a negation or a noun is never an echo: it would be
// lost. A retelling that is missed is only weighed again. The second and third file
// were written when the rules were done; at first sight they had precision 9/10 and
// 11/13, and recall 9/17 and 11/11.
func TestRetellingsAreEchoes(t *testing.T) {
	for file, floor := range map[string]float64{"echo.jsonl": 1, "echo_second.jsonl": 0.9, "echo_third.jsonl": 0.9} {
		t.Run(file, func(t *testing.T) {
			var wanted, found, right int
			for _, c := range retellings(t, file) {
				e := consolidate.NewEcho([]session.Injection{
					{ID: "other", Text: "The user's cat is called Miso. The weekly report goes to finance."}, {ID: "it", Text: c.Injected}})
				id, echo := e.Repeats(c.Text)
				switch {
				case echo && !c.Echo:
					t.Errorf("lost: %q after %q", c.Text, c.Injected)
				case echo && id != "it":
					t.Errorf("%q is said to repeat %s", c.Text, id)
				case c.Echo && !echo:
					t.Logf("missed: %q after %q", c.Text, c.Injected)
				}
				if c.Echo {
					wanted++
				}
				if echo {
					found++
					if c.Echo {
						right++
					}
				}
			}
			t.Logf("precision %d/%d, recall %d/%d", right, found, right, wanted)
			if float64(right) < floor*float64(wanted) {
				t.Errorf("recall %d/%d, floor %.2f", right, wanted, floor)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	e := consolidate.NewEcho([]session.Injection{{ID: "c1", Text: "The ledger runs on PostgreSQL 15."}, {ID: "c2", Text: "本番のデータベースは東京にあります"}})
	for _, tc := range []struct {
		text string
		user bool
		want consolidate.EchoKind
		id   string
	}{
		{"yes, the ledger runs on PostgreSQL 15", true, consolidate.Confirmed, "c1"},
		{"The ledger uses PostgreSQL 15", true, consolidate.Confirmed, "c1"},
		{"yes, the ledger runs on PostgreSQL 15", false, consolidate.Echoed, "c1"},
		{"Does the ledger run on PostgreSQL 15?", true, consolidate.Echoed, "c1"},
		{"I think the ledger runs on PostgreSQL 15", true, consolidate.Echoed, "c1"},
		{"No, the ledger runs on PostgreSQL 16", true, consolidate.Novel, ""},
		{"No, the ledger doesn't run on PostgreSQL 15", true, consolidate.Novel, ""},
		{"yes", true, consolidate.Novel, ""},
		{"", true, consolidate.Novel, ""},
		{"本番のデータベースは東京にあります。", true, consolidate.Confirmed, "c2"},
		{"本番のデータベースは大阪にあります。", true, consolidate.Novel, ""},
	} {
		if id, got := e.Judge(tc.text, tc.user); got != tc.want || id != tc.id {
			t.Errorf("%q by user %v: %s of %q, want %s of %q", tc.text, tc.user, got, id, tc.want, tc.id)
		}
	}
	if id, echo := consolidate.NewEcho(nil).Repeats("anything"); echo || id != "" {
		t.Errorf("nothing was injected, and %q is repeated", id)
	}
}

// Pain 2: one hallucination was recalled 668 times, said again by the model each
// time, and learned each time. Here it stays one claim, and its own echoes do not
// make it better supported; nor do they where the guard is not asked.
func TestHallucinationIsNotLearnedFromItsOwnEchoes(t *testing.T) {
	st := opened(t)
	wrong := learn(t, st, said("s0", 0, "The user lives in Boston", byAssistant))
	for i := range 668 {
		name := "s" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		e := consolidate.NewEcho([]session.Injection{{ID: wrong.ID, Kind: ken.KindFact, Text: "The user lives in Boston"}})
		for _, retold := range []string{"The user lives in Boston.", "As noted, the user is living in Boston", "I remember that the user resides in Boston"} {
			if id, heard := e.Judge(retold, false); heard != consolidate.Echoed || id != wrong.ID {
				t.Fatalf("%q in session %s: %s of %s", retold, name, heard, id)
			}
		}
		if i < 20 { // a session that nobody guarded
			learn(t, st, said(name, i, "the user lives in Boston", byAssistant))
		}
	}
	all, err := st.Query(t.Context(), ken.Query{Limit: 10})
	if err != nil || len(all) != 1 || all[0].Support(nil).Tier != ken.Assumed {
		t.Errorf("%+v, %v", all, err)
	}
}

func FuzzRepeats(f *testing.F) {
	for _, r := range retellings(f, "echo.jsonl") {
		f.Add(r.Injected, r.Text)
	}
	f.Add("", "")
	f.Add("\xff 5 5 5.", "and and")
	f.Fuzz(func(t *testing.T, injected, text string) {
		e := consolidate.NewEcho([]session.Injection{{ID: "x", Text: injected}})
		id, echo := e.Repeats(text)
		if echo != (id == "x") {
			t.Fatalf("%q, %v", id, echo)
		}
		if again, _ := e.Repeats(text); again != id {
			t.Fatalf("%q, then %q", id, again)
		}
	})
}
