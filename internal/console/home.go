package console

import (
	"context"
	"errors"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/console/chart"
	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/internal/console/ledger"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// homeBody holds the data of the overview: what waits for the visitor, recent turns, new claims,
// and problems.
type homeBody struct {
	Now       time.Time
	Claims    int
	Documents int
	Statuses  template.HTML // claims by status
	Counting  *facet.Progress
	Uncounted bool // a claim can't be read: it is among Faults
	Faults    []concern

	Waiting []attention.Item
	Review  int
	Waits   int // candidates and attention items, those that are both once

	Mode      ken.Mode
	Cause     string
	Turns     []turnRow // nil if the visitor may not see turns
	SeesTurns bool      // the visitor sees turns: all, or their own
	First     *welcome  // how to make the first turn; nil if there is one
	Others    bool      // there are turns, and none that the visitor sees
	New       bool      // there are neither turns nor claims
	Day       int       // turns of the last 24 hours
	Hybrid    float64   // share of them with hybrid search
	P50       float64
	Modes     template.HTML

	Learned []row
}

const (
	homeWaiting = 5
	homeTurns   = 6
	homeClaims  = 6
)

func home(v *visit) error {
	n := v.con.pendingFor(v)
	b := homeBody{Now: v.now(), Review: n.Review, Waits: n.Review + n.Attention - n.Both}
	err := v.withStore(func(s store.Engine) error {
		b.Mode, b.Cause = v.con.layer.Operator().Recaller(s, middleware.RecallQuery{}).Mode()
		err := v.homeClaims(s, &b)
		if b.Uncounted = errors.Is(err, ken.ErrCorrupt); err != nil && !b.Uncounted {
			return err
		}
		faults, err := s.Faults(v.ctx())
		if err != nil {
			return err
		}
		for _, f := range faults {
			b.Faults = append(b.Faults, faultConcerns[f.Name])
		}
		b.Waiting = notDismissed(n.queue)
		b.Waiting = b.Waiting[:min(len(b.Waiting), homeWaiting)]
		return v.homeTurns(&b)
	})
	if err != nil {
		return err
	}
	return v.page("home", page{Title: "Overview", Section: secHome, Live: []string{liveClaims, liveTurns, liveAttention}, Body: b})
}

// homeClaims counts the claims, and lists the latest ones.
func (v *visit) homeClaims(s store.Engine, b *homeBody) error {
	progress, err := v.con.claims.Catch(v.ctx(), s)
	if err != nil {
		return err
	}
	if !progress.Ready {
		b.Counting, v.refresh = &progress, true
		return nil
	}
	p, err := v.con.claims.Select(s.Owner(), facet.Selection{Limit: homeClaims})
	if err != nil {
		return err
	}
	b.Claims, b.Documents = p.Total, max(s.Len()-p.Total, 0)
	b.Statuses = chart.Stack(statusParts(valuesOf(p.Facets, facet.Status)))
	b.Learned, err = v.readRows(s, p.IDs)
	return err
}

// homeTurns sums the turns of the last day.
func (v *visit) homeTurns(b *homeBody) error {
	if _, err := v.catchUpTurns(); err != nil {
		return err
	}
	if b.SeesTurns = v.canOperate() || v.hasOwnTurns(); b.SeesTurns {
		if err := v.lastTurns(b); err != nil {
			return err
		}
	}
	const hours = 24
	series := v.con.turns.Series(v.owner(), b.Now.Add(-hours*time.Hour), b.Now, hours)
	for _, x := range v.con.turns.Series(v.owner(), b.Now.Add(-hours*time.Hour), b.Now, 1) {
		b.Day, b.Hybrid, b.P50 = x.Turns, x.Share(ken.ModeHybrid), x.P50
	}
	if b.Day > 0 {
		b.Modes = chart.Shares(modeShares("How retrieval ran in the last 24 hours", series))
	}
	return nil
}

// lastTurns lists the newest turns that the visitor may see, or shows how to make the first one.
func (v *visit) lastTurns(b *homeBody) error {
	m := ledger.Match{}
	if !v.canOperate() {
		m.Key = v.principal.Name
	}
	turns, _ := v.con.turns.Turns(v.owner(), time.Time{}, homeTurns, m)
	texts, err := v.exchanges(turns)
	if _, err = splitCorrupt(err); err != nil {
		return err
	}
	for i := range turns {
		b.Turns = append(b.Turns, turnRowOf(turns[i], texts[i].Question, v.r.URL))
	}
	if len(turns) == 0 {
		all, _ := v.con.turns.Turns(v.owner(), time.Time{}, 1, ledger.Match{})
		b.First, b.Others = v.welcome(), len(all) > 0
		b.New = b.Claims == 0 && b.Counting == nil && !b.Uncounted && !b.Others
	}
	return nil
}

// retrievalModes lists the modes of retrieval, the best first, with their tones.
var retrievalModes = []struct {
	mode ken.Mode
	tone chart.Tone
}{{ken.ModeHybrid, chart.OK}, {ken.ModeVector, ""}, {ken.ModeKeyword, ""}, {ken.ModeLate, chart.Warn}, {ken.ModeNone, chart.Muted}}

// modeShares charts the modes of retrieval over time.
func modeShares(title string, series []ledger.Bucket) chart.SharesData {
	d := chart.SharesData{Title: title, Unit: "turns"}
	for _, m := range retrievalModes {
		d.Names, d.Tones = append(d.Names, string(m.mode)), append(d.Tones, m.tone)
	}
	for i := range series {
		x := &series[i]
		b := chart.Bucket{At: x.From, Counts: make([]float64, len(retrievalModes))}
		for j, m := range retrievalModes {
			b.Counts[j] = float64(x.Modes[m.mode])
		}
		d.Buckets, d.Width = append(d.Buckets, b), x.To.Sub(x.From)
	}
	return d
}

// statusTones gives the tones of statuses in charts.
var statusTones = map[string]chart.Tone{string(ken.StatusVerified): chart.OK, string(ken.StatusDisputed): chart.Warn,
	string(ken.StatusSuperseded): chart.Muted}

func statusParts(values []facet.Value) chart.StackData {
	return chart.StackData{Title: "Claims by status", Unit: "claims", Parts: mapped(values, func(v *facet.Value) chart.Part {
		return chart.Part{Label: v.Value, Value: float64(v.Count), Tone: statusTones[v.Value]}
	})}
}

// pendingCounts holds the numbers in the navigation, and the attention queue. Counting reads
// every valid claim, so pages don't wait for it.
type pendingCounts struct {
	Review, Attention, Dead int
	Both                    int // candidates that are in the attention queue, too

	queue  []attention.Item // the attention queue, including dismissed items; not modified
	unread error            // what could not be read and is missing
	failed error            // why counting failed
	seq    uint64           // the log's last event when it was counted
	took   time.Duration
}

// pendingMaxAge is the age at which counts are renewed even if the log did not grow, because
// refused writes and requests by agents are not in the log.
const pendingMaxAge = 5 * time.Second

// pendingCostShare limits counting while the log keeps growing to a tenth of the time: after a
// count that took t, the next one waits at least 9t.
const pendingCostShare = 10

// pendingFor returns the latest counts of the visitor's owner. Every page waits a moment for new
// ones. If they take longer, or if it is too early to count again, the page updates itself later.
func (c *Console) pendingFor(v *visit) pendingCounts {
	if v.pending == nil {
		t := pendingCounts{}
		if last := v.cachedPending(v.con.opts.Patience / 4); last != nil {
			t = *last
			v.refresh = v.refresh || t.failed == nil && t.seq < v.logSeq
		}
		if !v.principal.Can(access.Operate) {
			t.Dead = 0
		}
		v.pending = &t
	}
	return *v.pending
}

// cachedPending returns the cached counts, or new ones if these are ready within wait; nil if
// there are none.
func (v *visit) cachedPending(wait time.Duration) *pendingCounts {
	owner := v.owner()
	seq := v.seq()
	return v.con.pending.getWithin(v, owner, func(t *pendingCounts, at time.Time) bool {
		age := v.now().Sub(at)
		return t.seq == seq && age <= pendingMaxAge || age < pendingCostShare*t.took
	}, func(ctx context.Context, _ *pendingCounts) *pendingCounts { return v.con.countPending(ctx, owner) }, wait)
}

// seq returns the last event of the visitor's log.
func (v *visit) seq() (seq uint64) {
	if v.principal.Owner == "" {
		return 0
	}
	_ = v.withStore(func(s store.Engine) error { // the page reports an error of the store
		seq = s.Seq()
		return nil
	})
	return seq
}

func (c *Console) countPending(ctx context.Context, owner string) *pendingCounts {
	s, release, err := c.layer.Store(ctx, owner)
	if err != nil {
		return &pendingCounts{failed: err}
	}
	defer release()
	begun := c.opts.Now()
	t := &pendingCounts{seq: s.Seq()}
	desk := operator.New(c.layer, s, operator.Options{Now: c.opts.Now})
	var candidates []ken.Claim
	if waiting, err := desk.Candidates(ctx); err == nil {
		candidates = slices.Concat(waiting.Memory, waiting.Others)
		t.Review = len(candidates)
	}
	t.queue, t.unread, t.failed = desk.Attention(ctx, true)
	open := notDismissed(t.queue)
	t.Attention = len(open)
	for i := range candidates {
		if slices.ContainsFunc(open, func(it attention.Item) bool { return len(it.Claims) == 1 && it.Claims[0] == candidates[i].ID }) {
			t.Both++
		}
	}
	if dead, err := c.layer.Operator().Jobs(owner).List(ctx, jobs.Dead); err == nil {
		t.Dead = len(dead)
	}
	t.took = c.opts.Now().Sub(begun)
	return t
}

// notDismissed returns the items of a queue that were not dismissed.
func notDismissed(queue []attention.Item) []attention.Item {
	return slices.DeleteFunc(slices.Clone(queue), func(i attention.Item) bool { return i.Dismissed })
}

// decisionWait is how long a page waits for the updated queue after a decision.
const decisionWait = 5 * time.Second

// attentionQueue returns the attention queue; if all is true, with the dismissed items. unread
// says what is missing. made is false while the queue is computed for the first time.
func (v *visit) attentionQueue(all bool, wait time.Duration) (items []attention.Item, made bool, unread, err error) {
	switch t := v.cachedPending(wait); {
	case t == nil:
		return nil, false, nil, nil
	case t.failed != nil || all:
		return slices.Clone(t.queue), true, t.unread, t.failed
	default:
		return notDismissed(t.queue), true, t.unread, nil
	}
}

// welcome is shown while there is no turn: it explains how to connect clients.
type welcome struct {
	Clients  []clientLines
	Upstream string
	Keyed    bool // requests need a key
}

// clientLines holds the lines that connect one client, for copying.
type clientLines struct{ ID, Title, Lines, Note string }

// hostForm matches a host that is safe in a shell command: a name or an address, with or without
// a port.
var hostForm = lazyregexp.New(`^([A-Za-z0-9.-]+|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?$`)

// ownAddress returns the gateway's address as the visitor's browser uses it.
func (v *visit) ownAddress() string {
	host := v.r.Host
	if !hostForm.MatchString(host) {
		host = "127.0.0.1:8484"
	}
	if v.con.opts.Secure || v.r.TLS != nil {
		return "https://" + host
	}
	return "http://" + host
}

// welcome returns the lines for the visitor's address.
func (v *visit) welcome() *welcome {
	w := &welcome{Upstream: v.con.opts.Upstream, Keyed: v.con.ring.Load() != nil}
	cfg := v.con.layer.Config()
	url, model := v.ownAddress(), cfg.Upstream.ChatModel()
	python, script, shell, mcp := "", "", "", ""
	if w.Keyed {
		python = ", default_headers={\"X-Ken-Key\": \"ken_…\"}"
		script = ", defaultHeaders: { \"X-Ken-Key\": \"ken_…\" }"
		shell = "  -H 'X-Ken-Key: ken_…' \\\n"
		mcp = ", \"headers\": {\"X-Ken-Key\": \"ken_…\"}"
	}
	const ask = "What do you know about this project?"
	w.Clients = []clientLines{
		{"agent", "Claude Code and other agents", "ken connect claude-code", "On the machine of the project. ken connect alone lists the agents that are installed there."},
		{"python", "Python", strings.Join([]string{
			"from openai import OpenAI",
			"",
			"client = OpenAI(base_url=\"" + url + "/v1\"" + python + ")",
			"answer = client.chat.completions.create(",
			"    model=\"" + model + "\",",
			"    messages=[{\"role\": \"user\", \"content\": \"" + ask + "\"}],",
			")",
			"print(answer.choices[0].message.content)",
		}, "\n"), "pip install openai. Your key of the API stays where it is, in OPENAI_API_KEY."},
		{"typescript", "TypeScript", strings.Join([]string{
			"import OpenAI from \"openai\";",
			"",
			"const client = new OpenAI({ baseURL: \"" + url + "/v1\"" + script + " });",
			"const answer = await client.chat.completions.create({",
			"  model: \"" + model + "\",",
			"  messages: [{ role: \"user\", content: \"" + ask + "\" }],",
			"});",
			"console.log(answer.choices[0].message.content);",
		}, "\n"), "npm install openai"},
		{"curl", "curl", "curl " + url + "/v1/chat/completions \\\n  -H \"Authorization: Bearer $OPENAI_API_KEY\" \\\n" + shell +
			"  -H 'Content-Type: application/json' \\\n  -d '{\"model\": \"" + model + "\", \"messages\": [{\"role\": \"user\", \"content\": \"" + ask + "\"}]}'", ""},
		{"mcp", "MCP", "{\"mcpServers\": {\"ken\": {\"type\": \"http\", \"url\": \"" + url + "/mcp\"" + mcp + "}}}",
			"The agent then asks Ken when it decides to. What it asks is no turn and does not end this wait."},
	}
	return w
}
