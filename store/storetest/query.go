package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

func testQuestion(k *kit) {
	sagas := k.write("The payments service uses the saga pattern for multi-step transactions.")
	retries := k.write("Checkout retries a failed card authorization three times.")
	k.write("The office coffee machine is on the second floor.")
	tagged := k.write("Orders are written ahead.", func(c *ken.Claim) {
		c.Heading, c.Tags, c.Entities = "Durability", []string{"outbox"}, []string{"OrderRelay"}
	})

	for _, tt := range []struct {
		name, question string
		want           []string
	}{
		{"a whole question, not a substring of the text", "What pattern do we use for our transactions?", []string{sagas}},
		{"any word is enough", "zebra authorization quagmire", []string{retries}},
		{"words of two claims find both", "saga authorization", []string{sagas, retries}},
		{"case does not matter", "SAGA Pattern", []string{sagas}},
		{"another form of the word", "retry authorizing", []string{retries}},
		{"the heading counts", "durability", []string{tagged}},
		{"a tag counts", "outbox", []string{tagged}},
		{"an entity counts, whole and in parts", "orderrelay relay", []string{tagged}},
		{"nothing bears on it", "photosynthesis", nil},
		{"stop words alone find nothing", "what is the of and", nil},
		{"operators are not syntax", `+saga -payments "exact phrase`, []string{sagas}},
		{"a field name is not syntax", "owner:default AND status:*", nil},
		{"a regular expression is not syntax", "/.*/ .* ? [a-z]+", nil},
		{"a very long question", strings.Repeat("unrelated verbiage ", 5000) + "saga", []string{sagas}},
		{"bytes that are not text", "\xff\x00saga\x00", []string{sagas}},
	} {
		if got := k.ask(tt.question); !sameSet(got, tt.want) {
			k.Errorf("%s: %.60q finds %v, want %v", tt.name, tt.question, got, tt.want)
		}
	}
}

func testLanguage(k *kit) {
	for _, tt := range []struct{ name, text, question, unrelated string }{
		{"Chinese", "数据库连接池的上限是二十个连接", "连接池", "天气预报"},
		{"Chinese inside a sentence", "我们的支付服务使用传奇模式处理事务", "支付服务用什么模式", "咖啡机"},
		{"Japanese", "本番環境のデータベースは東京リージョンにあります", "データベース", "天気"},
		{"Korean", "데이터베이스는 서울 리전에 있습니다", "데이터베이스", "날씨"},
		{"Arabic", "قاعدة البيانات موجودة في برلين", "البيانات", "طقس"},
		{"Hebrew", "מסד הנתונים נמצא בברלין", "הנתונים", "קפה"},
		{"Russian", "База данных находится в Берлине", "данных", "погода"},
		{"German", "Die Größe des Verbindungspools ist begrenzt", "größe", "wetter"},
		{"accents", "The café serves the naïve résumé parser", "cafe resume", "weather"},
		{"emoji beside words", "deploys 🚀 happen on Tuesdays", "🚀 tuesdays", "🐟"},
	} {
		k.sub(tt.name, func(k *kit) {
			id := k.write(tt.text)
			k.write("An entirely different statement.")
			k.finds(tt.question, id)
			k.finds(tt.unrelated)
		})
	}
}

func testOrder(k *kit) {
	k.sub("best first", func(k *kit) {
		k.write("The saga of the office plants is long.")
		both := k.write("The saga pattern compensates failed payments.")
		k.write("Payments are settled at night.")
		got := k.ask("saga payments")
		if len(got) != 3 || got[0] != both {
			k.Errorf("found %v, want all three and %s first", got, both)
		}
	})

	k.sub("a rare word weighs more than a common one", func(k *kit) {
		for i := range 8 {
			k.write(fmt.Sprintf("The service has a common trait, number %d.", i))
		}
		rare := k.write("The service has a peculiar trait.")
		if got := k.ask("service peculiar"); len(got) == 0 || got[0] != rare {
			k.Error("the claim with the rare word is not first")
		}
	})

	k.sub("repeated questions give one order", func(k *kit) {
		for range 12 {
			k.write("Twelve claims of one text.")
		}
		first := k.ask("twelve claims")
		for range 5 {
			if again := k.ask("twelve claims"); !slices.Equal(first, again) {
				k.Fatalf("order changed:\n%v\n%v", first, again)
			}
		}
	})

	k.sub("no question gives the newest first", func(k *kit) {
		var want []string
		for i := range 5 {
			want = append(want, k.write(fmt.Sprintf("claim %d", i)))
		}
		old := k.write("an old claim, written last", func(c *ken.Claim) { c.CreatedAt = epoch.AddDate(-1, 0, 0) })
		slices.Reverse(want)
		if got := k.ask(""); !slices.Equal(got, append(want, old)) {
			k.Errorf("got %v, want %v", got, append(want, old))
		}
	})

	k.sub("limit", func(k *kit) {
		for i := range 13 {
			k.write(fmt.Sprintf("sagas, part %d", i))
			k.write(fmt.Sprintf("sagas, disputed part %d", i), withStatus(ken.StatusDisputed))
		}
		for _, question := range []string{"", "sagas"} {
			for limit, want := range map[int]int{0: 10, -1: 10, 1: 1, 12: 12, 13: 13, 14: 13, many: 13} {
				if got := len(k.query(ken.Query{Question: question, Limit: limit})); got != want {
					k.Errorf("%q with limit %d gives %d claims, want %d", question, limit, got, want)
				}
			}
		}
	})
}

// A caller may change what it passed and what it received.
func testCopies(k *kit) {
	code := 1
	given := claim("payments uses sagas", func(c *ken.Claim) {
		c.Tags, c.Entities, c.Body = []string{"saga"}, []string{"payments"}, json.RawMessage(`{"a":"b"}`)
		c.Evidence = []ken.Evidence{{Kind: ken.EvidenceExitCode, ID: "make", ExitCode: &code}}
	})
	id, err := k.s.WriteClaim(k.ctx, given)
	k.must(err)
	before, err := json.Marshal(k.get(id))
	k.must(err)
	spoil := func(c ken.Claim) {
		c.Tags[0], c.Entities[0] = "spoilt", "spoilt"
		copy(c.Body, `{"x":"y"}`)
		c.Evidence[0].Detail, *c.Evidence[0].ExitCode = "spoilt", 99
	}
	check := func(after string) {
		k.Helper()
		now, err := json.Marshal(k.get(id))
		k.must(err)
		if diff := cmp.Diff(string(before), string(now)); diff != "" {
			k.Errorf("after changing %s (-before +now):\n%s", after, diff)
		}
	}
	spoil(given)
	check("the claim that was written")
	for _, question := range []string{"sagas", ""} {
		spoil(k.query(ken.Query{Question: question})[0])
		check(fmt.Sprintf("what %q found", question))
	}
	k.history(id)[0].Evidence[0].Detail = "spoilt"
	*k.history(id)[0].Evidence[0].ExitCode = 99
	if e := k.history(id)[0].Evidence[0]; e.Detail != "" || *e.ExitCode != 1 {
		k.Errorf("after changing the history: %+v", e)
	}
}

var (
	repoA = ken.Scope{Type: ken.ScopeRepo, ID: "a"}
	repoB = ken.Scope{Type: ken.ScopeRepo, ID: "b"}
	runA  = ken.Scope{Type: ken.ScopeRun, ID: "a"}
)

// filterTime is the time of the filters below: after the expired claim's end and before
// the expiring one's.
var filterTime = epoch.Add(24 * time.Hour)

// population has one claim for each property that a filter tests. Apart from that
// property, all claims are the same.
var population = []struct {
	name   string
	change func(*ken.Claim)
}{
	{"plain", func(*ken.Claim) {}},
	{"in repo a", func(c *ken.Claim) { c.Scope = repoA }},
	{"in repo b", func(c *ken.Claim) { c.Scope = repoB }},
	{"in run a", func(c *ken.Claim) { c.Scope = runA }},
	{"inferred", withStatus(ken.StatusInferred)},
	{"verified", withStatus(ken.StatusVerified)},
	{"hypothesis", withStatus(ken.StatusHypothesis)},
	{"disputed", withStatus(ken.StatusDisputed)},
	{"superseded", withStatus(ken.StatusSuperseded)},
	{"playbook", func(c *ken.Claim) { c.Kind = ken.KindPlaybook }},
	{"objective", func(c *ken.Claim) { c.Kind = ken.KindObjective }},
	{"document", func(c *ken.Claim) { c.Kind = ken.KindDocument }},
	{"external", func(c *ken.Claim) { c.Evidence = []ken.Evidence{ken.FromToolResult("tc", "")} }},
	{"operator", func(c *ken.Claim) { c.Evidence = []ken.Evidence{ken.FromFile("a.go", "", "")} }},
	{"expired", func(c *ken.Claim) { c.ExpiresAt = epoch.Add(time.Hour) }},
	{"expiring", func(c *ken.Claim) { c.ExpiresAt = filterTime.Add(time.Second) }},
}

// current is what default recall returns, with any scope, kind and trust.
var current = []string{"plain", "in repo a", "in repo b", "in run a", "inferred", "verified", "playbook", "objective",
	"document", "external", "operator", "expiring"}

var filters = []struct {
	name   string
	filter ken.Filter
	want   []string
}{
	{"default", ken.Filter{}, current},
	{"one scope", ken.Filter{Scopes: []ken.Scope{repoA}}, []string{"in repo a"}},
	{"two scopes", ken.Filter{Scopes: []ken.Scope{repoA, runA}}, []string{"in repo a", "in run a"}},
	{"a scope and what is unscoped", ken.Filter{Scopes: []ken.Scope{repoA}, Unscoped: true}, without(current, "in repo b", "in run a")},
	{"a scope that nobody has", ken.Filter{Scopes: []ken.Scope{{Type: ken.ScopeAgent, ID: "a"}}}, nil},
	{"disputed", ken.Filter{Statuses: []ken.Status{ken.StatusDisputed}}, []string{"disputed"}},
	{"superseded and hypotheses", ken.Filter{Statuses: []ken.Status{ken.StatusSuperseded, ken.StatusHypothesis}}, []string{"superseded", "hypothesis"}},
	{"no status", ken.Filter{Statuses: []ken.Status{}}, nil},
	{"one kind", ken.Filter{Kinds: []ken.Kind{ken.KindPlaybook}}, []string{"playbook"}},
	{"two kinds", ken.Filter{Kinds: []ken.Kind{ken.KindPlaybook, ken.KindObjective}}, []string{"playbook", "objective"}},
	{"claims only", ken.Filter{ClaimsOnly: true}, without(current, "document")},
	{"documents and claims only", ken.Filter{Kinds: []ken.Kind{ken.KindDocument}, ClaimsOnly: true}, nil},
	{"trusted as agent", ken.Filter{MinTrust: ken.TrustAgent}, without(current, "external")},
	{"trusted as operator", ken.Filter{MinTrust: ken.TrustOperator}, []string{"operator"}},
	{"scope and kind", ken.Filter{Scopes: []ken.Scope{repoA}, Kinds: []ken.Kind{ken.KindPlaybook}}, nil},
	{"unscoped and disputed", ken.Filter{Scopes: []ken.Scope{repoA}, Unscoped: true, Statuses: []ken.Status{ken.StatusDisputed}}, []string{"disputed"}},
}

func without(names []string, out ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(out, n) })
}

// populate writes the population and returns the names of the claims by id.
func populate(k *kit, s ken.Store, further ...func(*ken.Claim)) map[string]string {
	k.Helper()
	names := map[string]string{}
	for _, p := range population {
		id, err := s.WriteClaim(k.ctx, claim("ledger", slices.Concat(further, []func(*ken.Claim){p.change})...))
		if err != nil {
			k.Fatalf("write %s: %v", p.name, err)
		}
		names[id] = p.name
	}
	return names
}

func testFilter(k *kit) {
	names := populate(k, k.s)
	for _, question := range []string{"ledger", ""} {
		for _, tt := range filters {
			f := tt.filter
			f.Now = filterTime
			var got []string
			for _, c := range k.query(ken.Query{Question: question, Filter: f, Limit: many}) {
				got = append(got, names[c.ID])
			}
			if !sameSet(got, tt.want) {
				k.Errorf("%s, question %q: got %q, want %q", tt.name, question, got, tt.want)
			}
		}
	}

	k.sub("the zero filter keeps expired claims out", func(k *kit) {
		k.write("ledger, expired", func(c *ken.Claim) { c.ExpiresAt = epoch })
		good := k.write("ledger, still good", func(c *ken.Claim) { c.ExpiresAt = epoch.AddDate(1, 0, 0) })
		for _, question := range []string{"ledger", ""} {
			k.finds(question, good)
		}
	})

	k.sub("structural kinds", func(k *kit) {
		fact := k.write("ledger")
		link := k.write("ledger, a link", about("ledger", "other"), link(ken.KindDependency, "uses", 1))
		for _, question := range []string{"ledger", ""} {
			for _, tt := range []struct {
				f    ken.Filter
				want []string
			}{
				{ken.Filter{}, []string{fact}},
				{ken.Filter{Structural: true}, []string{fact, link}},
				{ken.Filter{Structural: true, Kinds: []ken.Kind{ken.KindFact}}, []string{fact}},
				{ken.Filter{Structural: true, Kinds: []ken.Kind{ken.KindDependency}}, []string{link}},
			} {
				if got := ids(k.query(ken.Query{Question: question, Filter: tt.f, Limit: many})); !sameSet(got, tt.want) {
					k.Errorf("question %q, %+v: %v, want %v", question, tt.f, got, tt.want)
				}
			}
		}
		if p, ok := k.s.(store.Projections); ok {
			if res, err := p.Newest(k.ctx, &ken.Filter{Structural: true}, many); err != nil || len(res.Hits) != 2 {
				k.Errorf("the newest: %+v, %v", res.Hits, err)
			}
		}
		if s, ok := k.s.(scanner); ok {
			scanned := 0
			for _, err := range s.Scan(k.ctx, &ken.Filter{Structural: true}, nil) {
				if scanned++; err != nil {
					k.Error(err)
				}
			}
			if scanned != 2 {
				k.Errorf("a scan has %d claims, want both", scanned)
			}
		}
	})

	k.sub("the caller's filter is not changed", func(k *kit) {
		k.write("ledger")
		q := ken.Query{Question: "ledger", Filter: ken.Filter{Scopes: []ken.Scope{runA, repoA}, Unscoped: true,
			Statuses: []ken.Status{ken.StatusVerified, ken.StatusObserved}, Kinds: []ken.Kind{ken.KindHot, ken.KindFact}}}
		scopes, statuses, kinds := slices.Clone(q.Filter.Scopes), slices.Clone(q.Filter.Statuses), slices.Clone(q.Filter.Kinds)
		k.query(q)
		if !slices.Equal(q.Filter.Scopes, scopes) || !slices.Equal(q.Filter.Statuses, statuses) || !slices.Equal(q.Filter.Kinds, kinds) {
			k.Errorf("it is now %+v", q.Filter)
		}
	})
}

// refNames translates hits into the names of the population.
func refNames(p store.Projections, names map[string]string, hits []store.Hit) []string {
	out := make([]string, 0, len(hits))
	for _, h := range hits {
		row, _ := p.Row(h.Ref)
		out = append(out, names[row.ID])
	}
	return out
}

type scanner interface {
	Scan(ctx context.Context, f *ken.Filter, want func(store.Glance) bool) iter.Seq2[ken.Claim, error]
}

func testScan(k *kit) {
	has[scanner](k, "the store has no Scan")
	scan := func(f ken.Filter, want func(store.Glance) bool) (found []string) {
		k.Helper()
		for c, err := range k.s.(scanner).Scan(k.ctx, &f, want) {
			k.must(err)
			found = append(found, c.ID)
		}
		return found
	}
	every := func(store.Glance) bool { return true }
	// A body with the same field names must not be mistaken for the claim's fields.
	sure := k.write("sure", func(c *ken.Claim) {
		c.Confidence, c.Body = 0.9, json.RawMessage(`{"confidence":0.1,"superseded_by":"x","archived_at":"y","expires_at":"z"}`)
	})
	unsure := k.write(`unsure "confidence":0.9`, func(c *ken.Claim) { c.Confidence = 0.2 })
	scoped := k.write("scoped", func(c *ken.Claim) { c.Confidence, c.Scope = 0.2, ken.Scope{Type: ken.ScopeRun, ID: "1"} })
	expired := k.write("expired", func(c *ken.Claim) { c.ExpiresAt = epoch })
	k.supersede(sure, unsure)

	all := ken.Filter{Statuses: ken.Statuses()}
	below := func(g store.Glance) bool { return g.Confidence < 0.5 }
	for _, tt := range []struct {
		what string
		f    ken.Filter
		want func(store.Glance) bool
		ids  []string
	}{
		{"all", all, every, []string{sure, unsure, scoped, expired}},
		{"all, without a wish", all, nil, []string{sure, unsure, scoped, expired}},
		{"the valid claims", ken.Filter{Now: epoch.Add(time.Hour)}, every, []string{unsure, scoped}},
		{"of little confidence", all, below, []string{unsure, scoped}},
		{"of one scope", ken.Filter{Scopes: []ken.Scope{{Type: ken.ScopeRun, ID: "1"}}}, below, []string{scoped}},
		{"superseded", all, func(g store.Glance) bool { return g.SupersededBy == unsure }, []string{sure}},
		{"with an end", all, func(g store.Glance) bool { return g.Expires }, []string{expired}},
		{"archived", all, func(g store.Glance) bool { return g.Archived }, nil},
	} {
		if found := scan(tt.f, tt.want); !sameSet(found, tt.ids) {
			k.Errorf("%s: %v, want %v", tt.what, found, tt.ids)
		}
	}
	if found := scan(all, every); found[0] != sure {
		k.Errorf("the oldest is %s", found[0])
	}
	if a, ok := k.s.(archiver); ok {
		k.must(a.Archive(k.ctx, expired, "", ken.Actor{}))
		if found := scan(all, func(g store.Glance) bool { return g.Archived }); !slices.Equal(found, []string{expired}) {
			k.Errorf("archived are %v", found)
		}
	}
	over := ended(k.ctx)
	for _, err := range k.s.(scanner).Scan(over, &all, every) {
		if !errors.Is(err, context.Canceled) {
			k.Errorf("after the end of its context: %v", err)
		}
	}
	for _, err := range k.s.(scanner).Scan(k.ctx, &all, every) {
		if err != nil {
			k.Error(err)
		}
		break
	}
}
