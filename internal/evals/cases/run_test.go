package cases_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/evals/cases"
)

// What every case of TestEveryExpectation starts with.
const knowledge = `
now: 2026-06-01
given:
  - {key: three, text: The payments service retries a failed transfer three times.}
  - {key: five, text: The payments service retries a failed transfer five times., status: superseded}
  - {key: maybe, text: The payments service might retry a failed transfer forever., status: hypothesis}
  - {key: over, text: "Until May, a failed transfer is retried by hand.", expires_at: 2026-05-01}
  - {key: billing, text: The billing service retries a failed transfer twice., scope: "repo:billing"}
  - {key: page, text: A page says that a failed transfer is retried daily., evidence: [{kind: url, url: "https://example.org"}]}
  - {key: lunch, text: Lunch is at noon.}
  - {key: theirs, owner: bob, text: Bob retries a failed transfer at night.}
cases:
  - name: x
    ask: How often is a failed transfer retried by the payments service?
`

// Every expectation is tested with a case that meets it and one that doesn't.
func TestEveryExpectation(t *testing.T) {
	hot := "    given: [{key: hot, kind: hot, text: Answer in French.}]\n"
	for _, tt := range []struct {
		what, green, red string
		shows            []string // parts of what a red one says
	}{
		{"recall by key", "must_recall: {key: three}", "must_recall: {key: lunch}", []string{`lunch "Lunch is at noon.": no leg finds it`, "found: three", "rank 1"}},
		{"recall by text", "must_recall: FAILED   transfer three", "must_recall: failed transfer nine", []string{"none of the 7 records of default matches"}},
		{"recall by regexp", "must_recall: {regexp: 'three \\w+\\.$'}", "must_recall: {regexp: '^three'}", []string{"regexp ^three"}},
		{"recall by source", "must_recall: {source: cases.yaml}\n    given: [{text: A failed transfer., source: 'cases.yaml:1'}]", "must_recall: {source: nowhere/}", nil},
		{"recall by id", "must_recall: {id: '[k:00ABCD]'}\n    given: [{id: 00000000-0000-4000-8000-00000000ABCD, text: A failed transfer.}]",
			"must_recall: {id: 00abcd}", nil},
		{"a near key", "must_recall: {key: three}", "must_recall: {key: thre}", []string{"Did you mean the key three?"}},
		{"rank", "must_recall: {key: three, within: 1}", "must_recall: {key: page, within: 1}", []string{"before it: three"}},
		{"rank of all", "within: 1\n    must_recall: {key: three}", "within: 1\n    must_recall: [{key: three}, {key: page}]", []string{"at rank 1 or better"}},
		{"a rank of one's own", "within: 1\n    must_recall: [{key: three}, {key: page, within: 3}]", "within: 3\n    must_recall: [{key: three}, {key: page, within: 1}]", nil},
		{"pinned has no rank", "must_recall: {key: hot, within: 1}\n" + hot, "must_not_recall: {key: hot}\n" + hot, []string{"pinned"}},
		{"status", "must_not_recall: {key: five}", "must_recall: {key: five}", []string{"cut for status: it is superseded"}},
		{"hypothesis", "must_not_recall: {key: maybe}", "must_inject: {key: maybe}", []string{"cut for status: it is hypothesis"}},
		{"expiry", "must_not_inject: {key: over}", "must_inject: {key: over}", []string{"cut for expired", "2026-05-01"}},
		{"time", "now: 2026-04-01\n    must_inject: {key: over}", "now: 2026-04-01\n    must_not_inject: {key: over}", []string{"in the block: over"}},
		{"scope", "scopes: ['repo:payments']\n    must_not_recall: {key: billing}", "scopes: ['repo:payments']\n    must_recall: {key: billing}", []string{"cut for scope: its scope is repo:billing, the turn sees repo:payments"}},
		{"own scope", "scopes: 'repo:billing'\n    must_recall: {key: billing}", "scopes: []\n    must_not_recall: {key: billing}", nil},
		{"owner", "must_not_recall: {key: theirs}", "must_recall: {key: theirs}", []string{"it belongs to another owner, bob", "Set owner: bob"}},
		{"asked as somebody", "owner: bob\n    must_recall: {key: theirs}", "owner: bob\n    must_not_recall: {key: theirs}", nil},
		{"not recalled", "must_not_recall: lunch", "must_not_recall: {key: three}", []string{"rank 1"}},
		{"in the block", "must_inject: [three times, {key: three}]", "must_inject: Lunch is", []string{"no leg finds it"}},
		{"not in the block", "must_not_inject: [Lunch, {key: lunch}, {regexp: '(?i)lunch'}]", "must_not_inject: [{regexp: 'th?ree'}]", []string{"in the block: The payments service"}},
		{"no block", "ask: Thanks!\n    block_empty: true", "block_empty: true", []string{"a block of", "three"}},
		{"a block", "block_empty: false", "ask: Thanks!\n    block_empty: false", []string{"no block; mode none: the message asks for nothing"}},
		{"length", "max_chars: 2000", "max_chars: 200", []string{"at most 200 characters", "characters, score"}},
		{"mode", "mode: keyword", "mode: hybrid", []string{"mode keyword: switched off: knowledge.embeddings is false"}},
		{"mode without a question", "ask: Thanks!\n    mode: none", "mode: none", nil},
		{"nothing for others", "other_owner_sees_nothing: bob", "other_owner_sees_nothing: bob\n    given: [{owner: bob, text: The payments service retries a failed  transfer THREE times.}]",
			[]string{"the block finds", "the keyword leg finds"}},
		{"nothing pinned for others", hot + "    other_owner_sees_nothing: bob",
			"given: [{kind: hot, text: Answer in French.}, {owner: bob, kind: hot, text: Answer in French.}]\n    other_owner_sees_nothing: bob", []string{"the pinned leg finds"}},
		{"nobody knows anything", "other_owner_sees_nothing: bob", "owner: nobody\n    other_owner_sees_nothing: bob", []string{"finds none of nobody's 0 claims"}},
		{"canaries", "canaries: [only Bob, at night]", "canaries: [failed transfer THREE times]", []string{"in the block:", "in the receipt of request 1: block", "for the question, the keyword leg finds", "for the canary itself", "in the export: text"}},
		{"what small talk doesn't show", "ask: Thanks!\n    canaries: nine times", "ask: Thanks!\n    canaries: is at noon", []string{"in the export: text"}},
		{"a canary that is asked for", "canaries: a nightingale", "ask: What is a nightingale42?\n    canaries: nightingale42", []string{"in the receipt of request 1: signals", "The conversation itself has it"}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			text := func(expect string) string {
				k := knowledge
				if strings.Contains(expect, "ask:") {
					k = k[:strings.Index(k, "    ask:")]
				}
				return k + "    " + strings.TrimPrefix(expect, "    ") + "\n"
			}
			for _, r := range run(t, text(tt.green), cases.Options{}) {
				if !r.OK() {
					t.Errorf("not green:\n%s", r.Explain(""))
				}
			}
			for _, r := range run(t, text(tt.red), cases.Options{}) {
				if len(r.Failures) != 1 {
					t.Fatalf("not red once: %s", r.Explain(""))
				}
				if f := r.Failures[0]; !strings.Contains(tt.red, f.Check) || len(f.Have) == 0 || f.Try == "" {
					t.Errorf("the failure is not complete: %+v", f)
				}
				for _, part := range tt.shows {
					if !strings.Contains(r.Explain(""), part) {
						t.Errorf("does not say %q:\n%s", part, r.Explain(""))
					}
				}
			}
		})
	}
}

// For a claim that was found and cut, the report has its rank and the reason.
func TestCutsAreExplained(t *testing.T) {
	const text = `
given:
  - {key: a, text: "Deploys run on Tuesday. The release train leaves at nine, from the north gate, and waits for nobody at all, so be there in time, every one of you."}
  - {key: b, text: "Deploys of the release train stop on Friday. Nobody knows why this is so, but it has been so for longer than anybody can tell, and so it will remain."}
  - {key: c, text: "The canteen, the garden, the library, the workshop and the gate close when deploys end."}
cases:
  - name: x
    ask: When do deploys of the release train run and stop?
    must_inject: [{key: a}, {key: b}, {key: c}]
`
	for _, tt := range []struct {
		what   string
		change func(*config.Config)
		want   string
	}{
		{"budget", func(c *config.Config) { c.Budget.Chars = 500; c.Budget.ItemChars = 1500 }, "cut for budget ("},
		{"pool", func(c *config.Config) { c.Knowledge.TopK = 1 }, "cut for pool; rank 2"},
		{"floor", func(c *config.Config) { c.Retrieval.Floor = 0.9 }, "the floor wants 0.90"},
		{"dry run", func(c *config.Config) { c.Middleware.Inject = false }, "rank 1"},
		{"nothing at all", func(c *config.Config) { c.Middleware.Knowledge = false }, "nothing was searched: switched off: middleware.knowledge is false"},
		{"trust", func(c *config.Config) { c.Retrieval.MinTrust = ken.TrustOperator }, "cut for trust: its least trusted evidence is agent"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			cfg := words()
			tt.change(cfg)
			r := run(t, text, cases.Options{Config: cfg})[0]
			if r.OK() || !strings.Contains(r.Explain(""), tt.want) {
				t.Errorf("does not say %q:\n%s", tt.want, r.Explain(""))
			}
		})
	}
}

func TestSearchByMeaning(t *testing.T) {
	const text = `
given: [{key: a, text: Deploys run on Tuesday.}, {key: b, owner: bob, text: Deploys run on Sunday.}]
cases:
  - {name: hybrid, ask: When do deploys run?, mode: hybrid, must_inject: {key: a}, other_owner_sees_nothing: bob}
  - {name: leak, ask: When do deploys run?, canaries: on Tuesday}
  - {name: bob knows, ask: When do deploys run?, given: [{owner: bob, text: Deploys run on tuesday.}], other_owner_sees_nothing: bob}
`
	got := run(t, text, cases.Options{Embedder: embedtest.Bag{}})
	if !got[0].OK() {
		t.Error(got[0].Explain(""))
	}
	for _, r := range got[1:] {
		if s := r.Explain(""); !strings.Contains(s, "the vector leg finds") {
			t.Errorf("%s: the vector leg was not checked:\n%s", r.Case.Name, s)
		}
	}
}

func TestConversations(t *testing.T) {
	const text = `
given: [{key: a, text: Deploys run on Tuesday.}, {key: b, text: The canteen opens at noon.}]
cases:
  - name: the earlier block stays, and is not said twice
    conversation: [{system: Be brief.}, {user: When do deploys run?}, {assistant: On Tuesday.}, {user: And when does the canteen open?}]
    must_inject: [{key: a}, {key: b}]
    must_recall: {key: b}
    must_not_recall: {key: a}
  - name: the same again
    conversation: [{system: Be brief.}, {user: When do deploys run?}, {assistant: On Tuesday.}, {user: When do deploys run?}]
    must_inject: {key: a}
    must_recall: {key: a}
    block_empty: true
  - name: a tool loop keeps the turn's block
    conversation: [{user: When do deploys run?}, {assistant: Let me see.}, {tool: "error: no calendar"}]
    must_inject: {key: a}
    block_empty: false
  - name: one case's blocks are not in another's
    conversation: [{system: Be brief.}, {user: When do deploys run?}]
    must_inject: {key: a}
    must_recall: {key: a}
    block_empty: false
  - name: the receipts before the last one count
    given: [{key: c, text: The zeppelin leaves on Monday.}]
    conversation: [{user: When does the zeppelin leave?}, {assistant: Soon.}, {user: Thanks!}]
    canaries: zeppelin leaves
    block_empty: true
`
	for _, r := range run(t, text, cases.Options{}) {
		if strings.HasPrefix(r.Case.Name, "the receipts before") {
			if !strings.Contains(r.Explain(""), "in the receipt of request 1: ") || len(r.Failures) != 1 {
				t.Errorf("%s:\n%s", r.Case.Name, r.Explain(""))
			}
		} else if !r.OK() {
			t.Errorf("%s:\n%s", r.Case.Name, r.Explain(""))
		}
	}
}

func TestNotes(t *testing.T) {
	const text = `
given: [{text: Deploys run on Tuesday.}, {text: "<think>nothing but thoughts</think>"}]
cases:
  - {name: x, ask: When do deploys run?, must_not_inject: {key: gone}, canaries: nothing but thoughts}
`
	r := run(t, text, cases.Options{})[0]
	if !r.OK() {
		t.Fatal(r.Explain(""))
	}
	notes := strings.Join(r.Notes, "\n")
	for _, want := range []string{"no claim of anybody's has key gone, so this can't fail", "the given claim in line 2 was not kept: text: nothing but reasoning"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes lack %q:\n%s", want, notes)
		}
	}
}

// The same file gives the same results, ids and all.
func TestRunsAreAlike(t *testing.T) {
	var first string
	for range 3 {
		var got strings.Builder
		rs := run(t, knowledge+"    must_recall: {key: lunch}\n    must_not_inject: transfer\n", cases.Options{Now: still})
		if err := cases.WriteJUnit(&got, rs); err != nil {
			t.Fatal(err)
		}
		for _, r := range rs {
			fmt.Fprintln(&got, r.Receipt.Block, r.Receipt.Cut)
		}
		if first == "" {
			first = got.String()
		}
		if got.String() != first {
			t.Fatalf("differs:\n%s\n%s", first, got.String())
		}
	}
}

func TestRunStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	f := parse(t, knowledge+"    block_empty: false\n  - {name: y, ask: When?, mode: keyword}\n")
	n := 0
	var told []string
	progress := func(stage string, done, total int) { told = append(told, fmt.Sprint(stage, done, total)) }
	err := cases.Run(ctx, f.Cases, cases.Options{Config: words(), Progress: progress}, func(cases.Result) { n++; cancel() })
	if !errors.Is(err, context.Canceled) || n != 1 || !slices.Contains(told, "cases1 2") {
		t.Errorf("%d results, error %v, progress %q", n, err, told)
	}
}

func ExampleRun() {
	f, err := cases.Parse("memory.yaml", []byte(`
given:
  - {key: deploys, text: Deploys run on Tuesday.}
cases:
  - name: deploys are known
    ask: When do deploys run?
    must_inject: {key: deploys}
  - name: small talk stays silent
    ask: Thanks!
    block_empty: true
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	err = cases.Run(context.Background(), f.Cases, cases.Options{}, func(r cases.Result) { fmt.Println(r.Case.Name, r.OK()) })
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// deploys are known true
	// small talk stays silent true
}
