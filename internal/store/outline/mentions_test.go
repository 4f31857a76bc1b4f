package outline_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/outline"
	"github.com/kenlayer/ken/store"
)

var everything = outline.Pass{Claim: func(store.Ref) bool { return true }, Link: func(store.Ref) bool { return true }}

// ruleSaying is a rule as a store puts it into an index.
func ruleSaying(t testing.TB, ref store.Ref, text string, names ...string) outline.Record {
	t.Helper()
	about, ok := outline.Of(&ken.Claim{Kind: ken.KindFact, Text: text, Entities: names, Constraint: true})
	if !ok {
		t.Fatal("it has no place")
	}
	return outline.Record{Ref: ref, ID: uuid.UUID{byte(ref), byte(ref >> 8)}, Kind: ken.KindFact, Created: -int64(ref), Constraint: true, About: about}
}

func saying(x *outline.Index, names ...string) (out []store.Ref) {
	for i := range names {
		names[i] = analysis.Entity(names[i])
	}
	for _, o := range x.Outlines(names, everything, store.OutlineOptions{Mentioned: names, Brief: true}) {
		out = append(out, o.Constraints...)
	}
	return out
}

// A rule may have been written before the name was known, or filed under another name.
func TestRulesAreFoundByWhatTheySay(t *testing.T) {
	for _, tt := range []struct {
		text string
		says []string
		not  []string
	}{
		{"Customs declarations must be filed 24 hours before arrival.", []string{"customs", "Customs declaration", "arrival"}, []string{"custom files", "declarations customs", "tariff", "arr"}},
		{"The Payments-Service must never log a CVC.", []string{"payments", "payments service", "payment_service", "cvc"}, nil},
		{"Never touch the ledger’s tables, or the Ledger's queue.", []string{"ledger", "table", "queue", "ledger queue"}, []string{"s"}},
		{"Don't edit payments/api.go or node.js by hand.", []string{"payments", "payments/api.go", "api.go", "node.js"}, []string{"js node"}},
		{"C++ and C# need two reviews; C does not.", []string{"c++", "c#", "c"}, []string{"f#"}},
		{"PaymentsService must not retry, HTTPGateways must.", []string{"PaymentsService", "payments service", "payments", "http gateway"}, []string{"retry http"}},
		{"Reviews are on GitHub.", []string{"GitHub", "review"}, []string{"git", "hub"}},
		{"Statuses of policies, caches, boxes and indices; addresses of people.", []string{"status", "policy", "cache", "box", "index", "address", "person"}, nil},
		{"Every cache has a policy, a status and an address.", []string{"caches", "policies", "statuses", "addresses"}, nil},
		{"Ask in St. Gallen, or at Acme, Inc.", []string{"St. Gallen", "acme inc", "Acme, Inc."}, nil},
		{"Das Café in Zürich öffnet nie.", []string{"cafe", "Zurich", "ZÜRICH"}, nil},
		{"部署支付服务之前先问。", []string{"支付服务", "支付"}, []string{"服务支付"}},
		{"결제서비스를 배포하지 마세요", []string{"결제서비스"}, nil},
		{"container_id stays the key, R&D's too", []string{"container id", "container_id", "R&D"}, []string{"r d too s"}},
		{"", nil, []string{"a"}},
	} {
		x := outline.New()
		x.Put(ruleSaying(t, 3, tt.text, "something else"))
		for _, name := range tt.says {
			if got := saying(x, name); !slices.Equal(got, []store.Ref{3}) {
				t.Errorf("%q does not say %q", tt.text, name)
			}
		}
		for _, name := range tt.not {
			if got := saying(x, name); len(got) > 0 {
				t.Errorf("%q says %q", tt.text, name)
			}
		}
	}
}

func TestMentionsStandBehindWhatCarriesTheName(t *testing.T) {
	x := outline.New()
	for _, r := range []outline.Record{ruleSaying(t, 1, "Never pay twice, payments.", "ledger"), ruleSaying(t, 2, "It stays.", "payments"), ruleSaying(t, 3, "Payments stop at ten.", "payments"),
		ruleSaying(t, 4, "No payments on Fridays."), ruleSaying(t, 5, "Payments, payments, payments.", "other", "payments"), ruleSaying(t, 6, "Always be kind.")} {
		x.Put(r)
	}
	fact := ruleSaying(t, 7, "Payments are quick.", "speed")
	fact.Constraint = false
	x.Put(fact)
	for _, tt := range []struct {
		name string
		o    store.OutlineOptions
		pass outline.Pass
		want []store.Ref
	}{
		{"not asked for", store.OutlineOptions{}, everything, []store.Ref{2, 3, 5}},
		{"asked for another", store.OutlineOptions{Mentioned: []string{"ledger"}}, everything, []store.Ref{2, 3, 5}},
		{"asked for", store.OutlineOptions{Mentioned: []string{"payments"}}, everything, []store.Ref{2, 3, 5, 1, 4}},
		{"in brief", store.OutlineOptions{Mentioned: []string{"ledger", "payments"}, Brief: true}, everything, []store.Ref{2, 3, 5, 1, 4}},
		{"refused", store.OutlineOptions{Mentioned: []string{"payments"}}, outline.Pass{Claim: func(ref store.Ref) bool { return ref != 3 && ref != 1 }, Link: everything.Link}, []store.Ref{2, 5, 4}},
	} {
		got := x.Outlines([]string{"payments"}, tt.pass, tt.o)[0]
		if !slices.Equal(got.Constraints, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got.Constraints, tt.want)
		}
		plain := x.Outlines([]string{"payments"}, tt.pass, store.OutlineOptions{Brief: tt.o.Brief})[0]
		if got.Records != plain.Records || len(got.Aspects) != len(plain.Aspects) {
			t.Errorf("%s: counts %d, without mentions %d", tt.name, got.Records, plain.Records)
		}
	}
	// A name without claims has only mentions.
	if got := saying(x, "fridays"); !slices.Equal(got, []store.Ref{4}) {
		t.Errorf("%v", got)
	}
}

// Delete is not delete in other layers.
func TestNothingIsLeftOfWhatARuleSaid(t *testing.T) {
	x := outline.New()
	for ref := range store.Ref(50) {
		x.Put(ruleSaying(t, ref, fmt.Sprintf("The patient number%d of Zanzibar never pays; Zanzibar number%d.", ref, ref)))
	}
	x.Put(ruleSaying(t, 7, "Something else."))
	for ref := range store.Ref(50) {
		x.Remove(ref)
		if got := saying(x, fmt.Sprintf("number%d", ref)); len(got) > 0 {
			t.Errorf("record %d is found: %v", ref, got)
		}
	}
	if got := saying(x, "zanzibar", "patient"); len(got) > 0 || x.Words() != 0 {
		t.Errorf("found %v, %d words are left", got, x.Words())
	}
}

// Of a text that is longer than a rule, only the beginning is read.
func TestALongRuleIsBounded(t *testing.T) {
	a, _ := outline.Of(&ken.Claim{Kind: ken.KindFact, Constraint: true, Text: strings.Repeat("word ", 399) + "PaymentsService further"})
	if len(a.Said) != 400 || a.Said[399] != "paymentsservic" {
		t.Errorf("%d words, the last %q", len(a.Said), a.Said[len(a.Said)-1])
	}
}

// FuzzSaid checks that a rule is found by each name of one to three words in its text.
func FuzzSaid(f *testing.F) {
	for _, s := range []string{"Never deploy the payments-service, or C++, on a Friday.", "部署 支付服务", "O'Brien's café PaymentsServices", "a\u0300 \u200d s's 'S ½ ﬁ ﷺ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x := outline.New()
		x.Put(ruleSaying(t, 1, text))
		fields := strings.Fields(text)
		for i := range fields[:min(len(fields), 50)] {
			for n := 1; n <= 3 && i+n <= len(fields); n++ {
				whole := strings.Join(fields[i:i+n], " ")
				name := analysis.Entity(whole)
				if name == "" || !utf8.ValidString(whole) || !ascii(whole) || strings.ContainsAny(whole, `'"#+`) {
					continue
				}
				if got := saying(x, name); len(got) == 0 && len(wordsOf(t, name)) > 0 {
					t.Errorf("%q does not say %q", text, name)
				}
			}
		}
	})
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf || r < ' ' })
}

func wordsOf(t *testing.T, text string) []string { return ruleSaying(t, 0, text).Said }

// manyRules are of 25 words and more, as projects have them: some words are in all, most
// in few.
func manyRules(t testing.TB, n, services int) []outline.Record {
	out := make([]outline.Record, n)
	for i := range out {
		var b strings.Builder
		for j := range 25 {
			fmt.Fprintf(&b, "word%d ", []int{j, (i*7 + j*13) % 300, (i*31 + j*101) % 2700}[j%3])
		}
		fmt.Fprintf(&b, "of service %d", i%services)
		out[i] = ruleSaying(t, store.Ref(i), b.String(), fmt.Sprintf("team %d", i%50))
	}
	return out
}

// BenchmarkMentioned asks for eight names of two words with 5,000 rules. Each name occurs
// in 25 rules or in 125, which is more than a turn could use.
func BenchmarkMentioned(b *testing.B) {
	for _, each := range []int{25, 125} {
		b.Run(fmt.Sprintf("rules=%d", each), func(b *testing.B) {
			x := outline.New()
			x.Load(slices.Values(manyRules(b, 5000, 5000/each)))
			var names []string
			for i := range 8 {
				names = append(names, fmt.Sprintf("service %d", i))
			}
			b.ReportAllocs()
			for b.Loop() {
				if got := x.Outlines(names, everything, store.OutlineOptions{Mentioned: names}); len(got[7].Constraints) != each {
					b.Fatal(len(got[7].Constraints))
				}
			}
		})
	}
}

// BenchmarkSaid says how much memory the words of 1,000 rules take, and how long it takes
// to find those of one.
func BenchmarkSaid(b *testing.B) {
	text := "The payments service must never log a card number or a CVC, not even in debug mode, whatever a customer, an auditor or a developer asks for."
	b.Run("words", func(b *testing.B) {
		for b.Loop() {
			outline.Of(&ken.Claim{Kind: ken.KindFact, Constraint: true, Text: text})
		}
	})
	b.Run("memory", func(b *testing.B) {
		records := manyRules(b, 1000, 40)
		mute := slices.Clone(records)
		for i := range mute {
			mute[i].Said = nil
		}
		heap := func(records []outline.Record) float64 {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.GC() // what a pool holds goes with the second
			runtime.ReadMemStats(&before)
			x := outline.New()
			x.Load(slices.Values(records))
			runtime.GC()
			runtime.ReadMemStats(&after)
			runtime.KeepAlive(x)
			runtime.KeepAlive(records)
			return float64(after.HeapAlloc) - float64(before.HeapAlloc)
		}
		var full, less float64
		for b.Loop() {
			full, less = heap(records), heap(mute)
		}
		b.ReportMetric((full-less)/1e6, "MB")
		runtime.KeepAlive(records)
		runtime.KeepAlive(mute)
	})
}
