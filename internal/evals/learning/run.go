package learning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// Answer is the rated block of one question.
type Answer struct {
	Question string   `json:"q"`
	Kind     string   `json:"kind"` // update, ask, later (asked again after four more sessions) or rule (a turn that mentions a rule's thing)
	Right    bool     `json:"right"`
	Why      string   `json:"why,omitempty"` // what is wrong
	Rule     string   `json:"rule,omitempty"`
	Items    []string `json:"items"`
}

// Report is the result of one case.
type Report struct {
	Case   string   `json:"case"`
	Lang   string   `json:"lang"`
	Keep   int      `json:"keep"`                    // sentences worth keeping
	Kept   int      `json:"kept"`                    // number of these that a claim states
	Missed []string `json:"missed"`                  // the others
	Lost   []string `json:"false_updates,omitempty"` // claims that were treated as replaced but are worth keeping
	// Foreign lists the claims that a session of another case marked as replaced.
	Foreign []string       `json:"foreign_updates,omitempty"`
	Claims  []Kept         `json:"claims"`
	Answers []Answer       `json:"answers"`
	Plain   int            `json:"plain"` // sentences that are not rules
	Dropped map[string]int `json:"dropped,omitempty"`
}

// turnDeadline is the deadline of a turn: response times are not measured here.
const turnDeadline = 30 * time.Second

// Options configures how cases are run.
type Options struct {
	Config config.Config // not changed
	// Background holds claims that each case's store has before its first session.
	Background []string
	// Between holds sessions that follow the case's own. The questions are asked again after them.
	Between []Session
}

// clock is a settable clock that only advances between messages.
type clock struct{ ns atomic.Int64 }

func (c *clock) now() time.Time       { return time.Unix(0, c.ns.Load()).UTC() }
func (c *clock) set(at time.Time)     { c.ns.Store(at.UnixNano()) }
func (c *clock) pass(d time.Duration) { c.ns.Add(int64(d)) }

// world is the store of one case.
type world struct {
	*middleware.Layer
	clock
}

// Run replays the sessions of a case, harvests each, rates the claims and asks the questions.
func Run(ctx context.Context, c *Case, o *Options) (r Report, err error) {
	r = Report{Case: c.Name, Lang: c.Lang, Missed: []string{}, Claims: []Kept{}, Answers: []Answer{}, Dropped: map[string]int{}}
	root, err := os.MkdirTemp("", "ken-learn-")
	if err != nil {
		return r, fmt.Errorf("make a folder for the store: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	cfg := o.Config
	cfg.Knowledge.DBPath, cfg.Retrieval.Deadline = root, turnDeadline
	cfg.Repository.Index, cfg.Middleware.Events = false, false
	w := &world{}
	w.set(c.Sessions[0].At.Add(-time.Hour))
	w.Layer, err = middleware.Open(ctx, middleware.Options{Root: root, Config: &cfg, Strict: true, Foreground: true, Now: w.now})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	s, release, err := w.Store(ctx, ken.DefaultOwner)
	if err != nil {
		return r, err
	}
	defer release()
	background := map[string]bool{}
	for i, text := range o.Background {
		claim, err := ken.NewClaim(text, ken.FromMessage("background", strconv.Itoa(i), ""))
		if err != nil {
			return r, err
		}
		written, err := s.WriteClaim(ctx, claim)
		if err != nil {
			return r, err
		}
		background[written] = true
	}
	for i := range c.Sessions {
		out, err := w.replay(ctx, c.Name+"-"+strconv.Itoa(i), &c.Sessions[i])
		if err != nil {
			return r, err
		}
		for reason, n := range out.Dropped {
			r.Dropped[reason] += n
		}
	}
	if err := r.judge(ctx, c, s, background); err != nil {
		return r, err
	}
	w.pass(20 * time.Hour)
	if err := r.ask(ctx, w, c); err != nil {
		return r, err
	}
	before, err := valid(ctx, s)
	if err != nil {
		return r, err
	}
	for i := range o.Between {
		between := o.Between[i]
		between.At = w.now().Add(time.Hour)
		if _, err := w.replay(ctx, "between-"+strconv.Itoa(i), &between); err != nil {
			return r, err
		}
	}
	after, err := valid(ctx, s)
	if err != nil {
		return r, err
	}
	for id, text := range before {
		if after[id] != text {
			r.Foreign = append(r.Foreign, cmp.Or(after[id], text))
		}
	}
	slices.Sort(r.Foreign)
	if len(o.Between) > 0 {
		w.pass(20 * time.Hour)
		for i, a := range c.Ask {
			if err := r.askOne(ctx, w, Answer{Question: a.Question, Kind: "later"}, "later-"+strconv.Itoa(i), a.All, nil); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

// valid returns the texts of the facts that no other claim supersedes, by id.
func valid(ctx context.Context, s store.Engine) (map[string]string, error) {
	out := map[string]string{}
	for c, err := range s.Claims(ctx) {
		if err != nil {
			return nil, err
		}
		if c.Kind == ken.KindFact && c.SupersededBy == "" {
			out[c.ID] = c.Text
		}
	}
	return out, nil
}

// replay sends the turns of a session through the layer, ends it and harvests it.
func (w *world) replay(ctx context.Context, id string, s *Session) (session.Outcome, error) {
	w.set(s.At)
	t := ken.Turn{Owner: ken.DefaultOwner, Session: id}
	var calls []string // calls whose results follow
	for i, m := range s.Messages {
		out := ken.Message{Role: m.Role, Name: m.Name, Text: m.text()}
		for j, c := range m.Calls {
			call := ken.ToolCall{ID: fmt.Sprintf("call-%d-%d", i, j), Name: c.Name, Arguments: string(c.Arguments)}
			out.ToolCalls, calls = append(out.ToolCalls, call), append(calls, call.ID)
		}
		if m.Role == "tool" && len(calls) > 0 {
			out.ToolCallID, calls = calls[0], calls[1:]
		}
		t.Messages = append(t.Messages, out)
		if m.Role == "user" || i == len(s.Messages)-1 {
			w.Assemble(ctx, t)
			w.pass(time.Minute)
		}
	}
	if err := w.End(ctx, ken.DefaultOwner, id); err != nil {
		return session.Outcome{}, err
	}
	if report, err := w.Harvest(ctx, ken.DefaultOwner); err != nil || report.Done < 1 {
		return session.Outcome{}, fmt.Errorf("harvest session %s: %d done: %w", id, report.Done, errors.Join(err, ctx.Err()))
	}
	info, err := w.Operator().Journal(ken.DefaultOwner).Info(ctx, id)
	if err != nil {
		return session.Outcome{}, err
	}
	return *info.Outcome, nil
}

// judge rates the active claims, and counts the sentences that they state.
func (r *Report) judge(ctx context.Context, c *Case, s store.Engine, background map[string]bool) error {
	said := c.sentences()
	var texts, replaced []string
	for claim, err := range s.Claims(ctx) {
		if err != nil {
			return err
		}
		if background[claim.ID] { // it belongs to another case
			if claim.Kind == ken.KindFact && claim.SupersededBy != "" {
				r.Lost = append(r.Lost, claim.Text)
			}
			continue
		}
		if claim.Kind == ken.KindFact {
			if claim.SupersededBy != "" {
				replaced = append(replaced, analysis.WithoutPastNotes(claim.Text))
			}
			gone := consolidate.NoLonger(claim.Text)
			replaced = append(replaced, gone...)
			if strings.TrimRight(strings.Join(gone, ""), ".!。") == strings.TrimRight(strings.TrimPrefix(analysis.WithoutPastNotes(claim.Text), "User: "), ".!。 ") {
				continue // all of it is presented as past
			}
		}
		if !statesNow(&claim) {
			continue
		}
		texts = append(texts, claim.Text)
		if claim.Kind != ken.KindFinding { // findings come from tool calls, which have no labels
			r.Claims = append(r.Claims, judge(&claim, said))
		}
	}
	parts := r.joinParts(said)
	for _, one := range said {
		if one.Rule == "" {
			r.Plain++
		}
		if one.Is != Keep {
			continue
		}
		r.Keep++
		if slices.ContainsFunc(texts, func(t string) bool { return hasAll(t, one.Must) }) || hasAll(parts[one.Text], one.Must) {
			r.Kept++
		} else {
			r.Missed = append(r.Missed, one.Text)
		}
	}
	r.addLost(c, said, texts, replaced)
	return nil
}

// statesNow reports whether a claim is an active one that states something by itself.
func statesNow(c *ken.Claim) bool {
	return !c.Kind.Structural() && c.Kind != ken.KindPattern && c.Kind != ken.KindEpisode &&
		c.SupersededBy == "" && c.ArchivedAt.IsZero() && slices.Contains(ken.RecallStatuses(), c.Status)
}

// addLost adds the sentences whose values did not change and that only replaced texts state.
func (r *Report) addLost(c *Case, said []*Sentence, texts, replaced []string) {
	for _, text := range replaced {
		for _, one := range said {
			told := func(t string) bool { return hasAll(analysis.WithoutPastNotes(t), one.Must) }
			if one.Is == Keep && !c.changes(one) && told(text) && !slices.ContainsFunc(texts, told) && !slices.Contains(r.Lost, one.Text) {
				r.Lost = append(r.Lost, one.Text)
			}
		}
	}
}

// joinParts returns what the claims that came from a sentence say together, by the sentence. Claims
// that lack a part which another claim of the same sentence has are fine: a model may make two
// claims of a sentence that says two things.
func (r *Report) joinParts(said []*Sentence) map[string]string {
	parts := map[string]string{}
	for i := range r.Claims {
		parts[r.Claims[i].Sentence] += r.Claims[i].Text + "\n"
	}
	for _, one := range said {
		if one.Is != Keep || !hasAll(parts[one.Text], one.Must) {
			continue
		}
		for i := range r.Claims {
			if k := &r.Claims[i]; k.Sentence == one.Text && k.Verdict == Half {
				k.Verdict, k.Why = Spare, ""
			}
		}
	}
	return parts
}

// changes reports whether a sentence has a value that changed later.
func (c *Case) changes(s *Sentence) bool {
	return slices.ContainsFunc(c.Updates, func(u Update) bool {
		return slices.ContainsFunc(u.Old, func(o string) bool { return hasAll(s.Text, []string{o}) })
	})
}

// sentences returns the labelled sentences of a case.
func (c *Case) sentences() (out []*Sentence) {
	for i := range c.Sessions {
		for j := range c.Sessions[i].Messages {
			m := &c.Sessions[i].Messages[j]
			for k := range m.Say {
				out = append(out, &m.Say[k])
			}
		}
	}
	return out
}

// past matches words that mark an item as no longer true.
var past = lazyregexp.New(`(?i)\b(was|until|formerly|previously|superseded|no longer)\b`)

// ask asks a case's questions, each in a separate session.
func (r *Report) ask(ctx context.Context, w *world, c *Case) error {
	for i, u := range c.Updates {
		if err := r.askOne(ctx, w, Answer{Question: u.Question, Kind: "update"}, "update-"+strconv.Itoa(i), u.New, u.Old); err != nil {
			return err
		}
	}
	for i, a := range c.Ask {
		if err := r.askOne(ctx, w, Answer{Question: a.Question, Kind: "ask"}, "ask-"+strconv.Itoa(i), a.All, nil); err != nil {
			return err
		}
	}
	for i, s := range c.sentences() {
		if s.Is == Keep && s.Rule != "" && len(s.About) > 0 {
			a := Answer{Question: "I'm going to change " + s.About[0] + ".", Kind: "rule", Rule: s.Rule}
			if err := r.askOne(ctx, w, a, "rule-"+strconv.Itoa(i), s.Must, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// askOne asks one question. The answer is right if the block contains all the required strings,
// and no item contains an old one without also containing a new one or a word that marks it as
// past.
func (r *Report) askOne(ctx context.Context, w *world, a Answer, id string, all, old []string) error {
	in := w.Assemble(ctx, ken.Turn{Owner: ken.DefaultOwner, Session: id, Messages: []ken.Message{{Role: "user", Text: a.Question}}})
	if err := ctx.Err(); err != nil {
		return err
	}
	var block strings.Builder
	for i := range in.Receipt.Items {
		it := &in.Receipt.Items[i]
		block.WriteString(it.Text + "\n")
		a.Items = append(a.Items, it.Text)
		for _, o := range old {
			if hasAll(it.Text, []string{o}) && !hasAll(it.Text, all) && !past.MatchString(it.Text) && it.NewStatus == "" {
				a.Why = "says " + o + " as if it were so"
			}
		}
	}
	if l := lacks(block.String(), all); len(l) > 0 {
		a.Why = "lacks " + strings.Join(l, ", ")
	}
	a.Right = a.Why == ""
	r.Answers = append(r.Answers, a)
	return nil
}

// rightThing reports whether a claim's primary entity is one of the names in its sentence's About.
func (k *Kept) rightThing() bool {
	return slices.ContainsFunc(k.About, func(name string) bool { return analysis.Entity(name) == analysis.Entity(k.Thing) })
}

// Among returns the options for the i-th case: the first sessions of the next four cases follow
// it. With crowd, its store also has what is worth keeping of all other cases.
func Among(cases []Case, i int, crowd bool, cfg config.Config) *Options {
	o := &Options{Config: cfg}
	for k := 1; k <= min(4, len(cases)-1); k++ {
		o.Between = append(o.Between, cases[(i+k)%len(cases)].Sessions[0])
	}
	for j := range cases {
		if !crowd || i == j {
			continue
		}
		for _, s := range cases[j].sentences() {
			if s.Is == Keep {
				o.Background = append(o.Background, s.Text)
			}
		}
	}
	return o
}
