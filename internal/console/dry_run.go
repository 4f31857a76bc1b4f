package console

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/console/diff"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// tryBody holds the data of a dry run: a message, and what a turn with it would receive.
type tryBody struct {
	Message, Earlier, System string
	Session, Project, Agent  string
	Form                     settingsForm
	View                     *receiptView
	Block                    string
	Insertion                string // position of the block
	Mode                     ken.Mode
	Tone                     string
	Cause                    string
	Long                     bool // the message is longer than a dry run allows
	MostMessage, MostEarlier int

	Model   string // the model that can be asked; "" for none
	Answers []triedAnswer

	turn       ken.Turn
	insertions []middleware.Insertion
}

// Limits of a dry run's inputs, in code points: the address must hold them.
const (
	maxMessage = 6000
	maxEarlier = 2000
)

// tryPage shows what a turn would receive, and stores nothing. Read is enough for it,
// because it shows nobody's conversation. For a session it may show the session's state, so
// that takes the right to see the session's messages.
func tryPage(v *visit) error {
	b, err := v.tryOf()
	if err != nil {
		return err
	}
	return v.tryForm(b)
}

func (v *visit) tryForm(b *tryBody) error {
	return v.page("try", page{Title: "Try a message", Section: secTurns, Tab: "Try a message", Body: b})
}

// tryOf runs the dry run that the address describes.
func (v *visit) tryOf() (*tryBody, error) {
	b := &tryBody{Message: strings.TrimSpace(v.param("message")), Earlier: strings.TrimSpace(v.param("earlier")), System: strings.TrimSpace(v.param("system")),
		Project: strings.TrimSpace(v.param("project")), Agent: strings.TrimSpace(v.param("agent")), MostMessage: maxMessage, MostEarlier: maxEarlier}
	if v.canOperate() {
		b.Session = strings.TrimSpace(v.param("session"))
	}
	if v.mayAsk() {
		b.Model = v.con.opts.Model.Name
	}
	var err error
	if b.Form, err = v.settings(nil); err != nil {
		return nil, err
	}
	b.Long = len([]rune(b.Message)) > maxMessage || len([]rune(b.Earlier)) > maxEarlier || len([]rune(b.System)) > maxEarlier
	if b.Message != "" && !b.Long && len(b.Form.Invalid) == 0 {
		err = v.tryMessage(b)
	}
	return b, err
}

func (v *visit) tryMessage(b *tryBody) error {
	t := ken.Turn{Owner: v.owner(), Session: b.Session, Project: b.Project, Agent: b.Agent}
	for _, m := range []ken.Message{{Role: "system", Text: b.System}, {Role: "user", Text: b.Earlier}, {Role: "user", Text: b.Message}} {
		if m.Text != "" {
			t.Messages = append(t.Messages, m)
		}
	}
	tried, err := v.con.layer.Operator().DryRun(v.ctx(), t, b.Form.Config)
	if err != nil {
		return err
	}
	b.turn, b.insertions = t, tried.Insertions
	r := &tried.Receipt
	b.Mode, b.Tone, b.Cause, b.Block = r.Mode, modeTone(r.Mode), r.Cause, r.Block
	for _, ins := range tried.Insertions {
		if b.Insertion = "as a message of its own, before the last one"; ins.Merge {
			b.Insertion = "at the head of the last message"
		}
	}
	return v.withStore(func(s store.Engine) error {
		p, err := v.dryRunView(s, r)
		b.View = &p
		return err
	})
}

// settingsForm holds the settings of a dry run, from the address.
type settingsForm struct {
	Fields  []settingField
	Config  config.Config // the current settings with the form's changes; valid only if Wrong is empty
	Given   bool          // the address sets at least one
	Invalid []string      // labels of the invalid fields
	Other   int           // number of fields that differ from the current settings
}

type settingField struct {
	Key, Label, Hint string
	Value, Now       string   // the form's value, and the current one
	Choices          []string // nil for a text field
	Number           bool
	Msg, Try         string // the error of the value; "" if it is valid
}

// trialSettings lists the settings in the form, by their configuration keys. mode is not a
// key; it stands for two switches.
var trialSettings = []settingField{
	{Key: modeField, Label: "Search", Hint: "by words and meaning, or by one of them", Choices: []string{string(ken.ModeHybrid), string(ken.ModeKeyword), string(ken.ModeVector)}},
	{Key: "retrieval.weight", Label: "Weight", Hint: "how deep to go", Choices: []string{"none", "low", "default", "high"}},
	{Key: "retrieval.min_trust", Label: "Least trust", Hint: "the lowest trust that is used", Choices: []string{"external", "agent", "operator"}},
	{Key: "retrieval.rank", Label: "Order", Hint: "what orders the pool", Choices: []string{"evidence", "rrf", "weighted"}},
	{Key: "retrieval.floor", Label: "Floor", Hint: "least evidence, 0 to 1", Number: true},
	{Key: "knowledge.top_k", Label: "Most items", Hint: "of the search results", Number: true},
	{Key: "budget.chars", Label: "Characters", Hint: "of the block", Number: true},
	{Key: "budget.memory_chars", Label: "Memory", Hint: "characters, in addition to the block’s", Number: true},
	{Key: "retrieval.scopes", Label: "Scopes", Hint: "such as repo:github.com/acme/payments; none is all"},
	{Key: "structure.enabled", Label: "Entities and rules", Choices: []string{"true", "false"}},
	{Key: "middleware.graph", Label: "Code", Choices: []string{"true", "false"}},
}

const modeField = "mode"

// settings reads the form from the address. Fields that the address leaves out have the
// current values. scopes are the turn's scopes, nil for the configured ones. An invalid
// value stays in its field.
func (v *visit) settings(scopes []ken.Scope) (settingsForm, error) {
	f := settingsForm{Config: v.con.layer.Config()}
	if scopes != nil {
		f.Config.Retrieval.Scopes = scopes
	}
	q := v.r.URL.Query()
	for _, field := range trialSettings {
		now, err := settingOf(&f.Config, field.Key)
		if err != nil {
			return f, err
		}
		field.Now, field.Value = now, now
		if q.Has(field.Key) {
			f.Given = true
			field.Value = strings.TrimSpace(q.Get(field.Key))
		}
		f.Fields = append(f.Fields, field)
	}
	for i := range f.Fields {
		field := &f.Fields[i]
		if field.Value == field.Now {
			continue
		}
		f.Other++
		f.markInvalid(field.Key, setSetting(&f.Config, field.Key, field.Value))
	}
	if len(f.Invalid) == 0 {
		if err := f.Config.Validate(); err != nil && !f.markInvalid("", err) {
			return f, err
		}
	}
	return f, nil
}

// markInvalid records an invalid value at the field that the error names, or else at the
// field of key. It returns false if there is no such field.
func (f *settingsForm) markInvalid(key string, err error) bool {
	e, ok := errors.AsType[*ken.Error](err)
	if !ok {
		return err == nil
	}
	for i := range f.Fields {
		if field := &f.Fields[i]; field.Key == key || field.Key == e.Field {
			field.Msg, field.Try = e.Msg, e.Try
			f.Invalid = append(f.Invalid, field.Label)
			return true
		}
	}
	return false
}

// settingOf returns a setting as text.
func settingOf(c *config.Config, key string) (string, error) {
	if key != modeField {
		return c.Get(key)
	}
	switch m := &c.Middleware; {
	case m.Keyword && m.Vector:
		return string(ken.ModeHybrid), nil
	case m.Vector:
		return string(ken.ModeVector), nil
	}
	return string(ken.ModeKeyword), nil
}

func setSetting(c *config.Config, key, value string) error {
	if key != modeField {
		return c.Set(key, value)
	}
	mode, err := ken.ParseMode(value)
	if err != nil {
		return err
	}
	c.Middleware.Keyword, c.Middleware.Vector = mode != ken.ModeVector, mode != ken.ModeKeyword
	return nil
}

// whatifBody holds the data of a turn tried twice: with the current settings, and with
// others.
type whatifBody struct {
	Now     time.Time
	ID      string
	Turn    receipt.Record
	Views   []choice
	Form    settingsForm
	Problem *errorPage
	Rows    []measure
	Change  *blockComparison
	Tried   *receiptView
	Block   string
}

// measure is a figure of both dry runs.
type measure struct{ Name, Now, Then string }

// whatifPage tries a turn with other settings. All of them are in the address, so that the
// result can be bookmarked and shared.
func whatifPage(v *visit) error {
	id := v.r.PathValue("id")
	b := whatifBody{Now: v.now(), ID: id, Views: v.turnViews(id, "whatif")}
	var err error
	if b.Turn, err = v.con.layer.Operator().Receipts(v.owner()).Get(v.ctx(), id); err != nil {
		return turnError(err)
	}
	asked, problem, err := v.askedTurn(id)
	if err != nil {
		return err
	}
	if b.Problem = problem; problem == nil {
		if b.Form, err = v.settings(asked.Scopes); err != nil {
			return err
		}
		if b.Form.Given && len(b.Form.Invalid) == 0 {
			if err := v.runBoth(&b, asked); err != nil {
				return err
			}
		}
	}
	return v.page("whatif", page{Title: "What if", Section: secTurns, Tab: "Live", Body: &b})
}

// runBoth tries the turn with the current settings and with the form's.
func (v *visit) runBoth(b *whatifBody, asked ken.Turn) error {
	is, err := v.con.layer.Operator().DryRun(v.ctx(), asked, v.con.layer.Config())
	if err != nil {
		return err
	}
	other := asked
	other.Scopes = nil // use those of the form
	would, err := v.con.layer.Operator().DryRun(v.ctx(), other, b.Form.Config)
	if err != nil {
		return err
	}
	b.Rows, b.Block = measures(&is.Receipt, &would.Receipt), would.Receipt.Block
	return v.withStore(func(s store.Engine) error {
		before, err := v.dryRunView(s, &is.Receipt)
		if err != nil {
			return err
		}
		after, err := v.dryRunView(s, &would.Receipt)
		if err != nil {
			return err
		}
		c := compareBlocks(sideOf(&before, is.Receipt.Block, nil), sideOf(&after, would.Receipt.Block, nil), func(*itemView) string { return "" })
		b.Change, b.Tried = &c, &after
		return nil
	})
}

// measures returns the figures of two receipts side by side.
func measures(a, b *ken.Receipt) []measure {
	of := func(name string, of func(*ken.Receipt) string) measure { return measure{name, of(a), of(b)} }
	return []measure{
		of("mode", func(r *ken.Receipt) string {
			if r.Cause != "" {
				return string(r.Mode) + ", " + r.Cause
			}
			return string(r.Mode)
		}),
		of("items", func(r *ken.Receipt) string { return count(len(r.Items)) }),
		of("left out", func(r *ken.Receipt) string { return count(len(r.Cut)) }),
		of("characters", func(r *ken.Receipt) string { return count(r.Chars) }),
		of("rules that did not fit", func(r *ken.Receipt) string { return strconv.Itoa(r.OverflowedConstraints) }),
		of("stages degraded", func(r *ken.Receipt) string { return strconv.Itoa(len(r.Degraded)) }),
		of("took", func(r *ken.Receipt) string { return millis(r.MS["total"]) }),
	}
}

// replayBody holds what a turn received, and what it would receive now.
type replayBody struct {
	Now     time.Time
	Turn    inspect.Turn
	Tone    string
	Views   []choice
	Then    inspect.Replay
	After   *ken.Receipt // nil if the turn can't be tried again
	Change  blockComparison
	Problem *errorPage // the reason why it can't
}

// replayPage shows the block as it was sent, and the block for the same question with the
// current settings and knowledge.
func replayPage(v *visit) error {
	id := v.r.PathValue("id")
	b := replayBody{Now: v.now(), Views: v.turnViews(id, "replay")}
	var err error
	if b.Then, err = v.con.layer.Operator().Replay(v.ctx(), v.owner(), id); err != nil {
		return turnError(err)
	}
	b.Turn, b.Tone = b.Then.Turn, modeTone(b.Then.Turn.Mode)
	asked, problem, err := v.askedTurn(id)
	if err != nil {
		return err
	}
	b.Problem = problem
	if problem == nil {
		tried, err := v.con.layer.Operator().DryRun(v.ctx(), asked, v.con.layer.Config())
		if err != nil {
			return err
		}
		b.After = &tried.Receipt
		if err := v.compareReplay(&b); err != nil {
			return err
		}
	}
	return v.page("replay", page{Title: "Turn, then and now", Section: secTurns, Tab: "Live", Body: &b})
}

// askedTurn returns a turn as it was asked, or the reason why that is unknown.
func (v *visit) askedTurn(id string) (ken.Turn, *errorPage, error) {
	t, err := v.con.layer.Operator().TurnAsked(v.ctx(), v.owner(), id)
	if errors.Is(err, ken.ErrNotFound) {
		p := errorPageOf(err)
		if e, ok := errors.AsType[*ken.Error](err); ok {
			p.Msg = e.Msg
		}
		return t, &p, nil
	}
	return t, nil, err
}

// compareReplay compares the block that was sent with the one that was tried.
func (v *visit) compareReplay(b *replayBody) error {
	return v.withStore(func(s store.Engine) error {
		before, err := v.receiptView(s, &b.Turn.Receipt, b.Turn.Items, nil)
		if err != nil {
			return err
		}
		after, err := v.dryRunView(s, b.After)
		if err != nil {
			return err
		}
		b.Change = compareBlocks(sideOf(&before, b.Then.Block, b.Then.Missing), sideOf(&after, b.After.Block, nil), func(it *itemView) string {
			if it.State == inspect.Forgotten {
				return "forgotten since"
			}
			return ""
		})
		return nil
	})
}

type blockSide struct {
	Receipt *ken.Receipt
	Items   []itemView
	Parts   map[string]string // the text of each item, by its id
}

// sideOf splits a block into items. missing lists the ids of items whose text is unknown.
func sideOf(p *receiptView, block string, missing []string) blockSide {
	ids := mapped(p.Items, func(it *itemView) string { return it.ID })
	ids = slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(missing, id) })
	return blockSide{p.Receipt, p.Items, partsOf(block, ids)}
}

// partsOf splits a block into the texts of its items, without their short ids. It returns
// nil if the block does not have exactly these items.
func partsOf(block string, ids []string) map[string]string {
	block = strings.TrimSuffix(block, guardrail.FrameClose)
	parts := strings.Split(block, "\n"+guardrail.ItemMark)[1:] // no other line of an item begins like this
	if len(parts) != len(ids) {
		return nil
	}
	out := make(map[string]string, len(ids))
	for i, part := range parts {
		_, says, _ := strings.Cut(part, "] ")
		out[ids[i]] = strings.TrimRight(says, "\n")
	}
	return out
}

// The differences between two blocks.
const (
	itemSame    = "unchanged"
	itemChanged = "other words"
	itemGone    = "gone"
	itemNew     = "new"
	itemBoth    = "in both" // its earlier text is unknown
)

type comparedItem struct {
	Op, Tone, ID, Label, Path string
	Was, Is                   int // positions from 1; 0 if absent
	Pieces                    []diff.Piece
	Text                      string // set for an item of only one block
	Why                       string // why it is absent from the other
}

// blockComparison compares two blocks, item by item.
type blockComparison struct {
	Different                []comparedItem // items that differ: those of the first block in its order, then the new ones
	Alike                    []comparedItem // items without a known difference
	Same, Changed, Gone, New int
}

// compareBlocks compares the items of two blocks. lost returns what happened to an item that
// is gone, or "" to use the second receipt's reason.
func compareBlocks(before, after blockSide, lost func(*itemView) string) blockComparison {
	var out blockComparison
	was := map[string]bool{}
	is := map[string]*itemView{}
	for i := range after.Items {
		is[after.Items[i].ID] = &after.Items[i]
	}
	for i := range before.Items {
		it := &before.Items[i]
		was[it.ID] = true
		c := comparedItem{ID: it.ID, Label: it.Label, Path: it.Path, Was: it.Place}
		now := is[it.ID]
		then, known := before.Parts[it.ID]
		switch {
		case now == nil:
			c.Op, c.Tone, c.Text = itemGone, "danger", then
			if c.Why = lost(it); c.Why == "" {
				c.Why = whyAbsent(after.Receipt, it.ID)
			}
			out.Gone++
		case !known:
			c.Op, c.Label, c.Is = itemBoth, now.Label, now.Place
		case then == after.Parts[it.ID]:
			c.Op, c.Is = itemSame, now.Place
			out.Same++
		default:
			c.Op, c.Tone, c.Is = itemChanged, "warning", now.Place
			c.Pieces = diff.Words(then, after.Parts[it.ID])
			out.Changed++
		}
		if c.Op == itemSame || c.Op == itemBoth {
			out.Alike = append(out.Alike, c)
		} else {
			out.Different = append(out.Different, c)
		}
	}
	for i := range after.Items {
		if it := &after.Items[i]; !was[it.ID] {
			out.New++
			out.Different = append(out.Different, comparedItem{Op: itemNew, Tone: "success", ID: it.ID, Label: it.Label, Path: it.Path, Is: it.Place,
				Text: after.Parts[it.ID], Why: whyAbsent(before.Receipt, it.ID)})
		}
	}
	return out
}

// whyAbsent returns why a turn did not have an item, as far as its receipt shows.
func whyAbsent(r *ken.Receipt, id string) string {
	for _, c := range r.Cut {
		if c.ID != id {
			continue
		}
		for _, w := range cutLabels {
			if w.reason == c.Reason {
				return w.says + " (" + string(c.Reason) + ")"
			}
		}
		return string(c.Reason)
	}
	if r.Mode == ken.ModeNone {
		return "nothing was looked for"
	}
	return "not among what was found"
}
