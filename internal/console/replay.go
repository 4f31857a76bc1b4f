package console

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// replayBody is what a turn was given, and what it would be given now.
type replayBody struct {
	Now    time.Time
	Turn   middleware.KeptTurn
	Tone   string
	Views  []choice
	Then   middleware.Replay
	After  *ken.Receipt // nil where the turn can't be asked again
	Change blockComparison
	Unable *problemPage // why it can't
}

// replayPage shows the bytes as they were, and asks the same again with the settings and
// the knowledge of now.
func replayPage(v *visit) error {
	id := v.r.PathValue("id")
	b := replayBody{Now: v.now(), Views: v.turnViews(id, "replay")}
	var err error
	if b.Then, err = v.con.l.Replay(v.ctx(), v.owner(), id); err != nil {
		return noTurn(err)
	}
	b.Turn, b.Tone = b.Then.Turn, modeTone(b.Then.Turn.Mode)
	asked, unable, err := v.asked(id)
	if err != nil {
		return err
	}
	b.Unable = unable
	if unable == nil {
		tried, err := v.con.l.Trial(v.ctx(), asked, v.con.l.Config())
		if err != nil {
			return err
		}
		b.After = &tried.Receipt
		if err := v.thenAndNow(&b); err != nil {
			return err
		}
	}
	return v.page("replay", page{Title: "Turn, then and now", Section: secTurns, Tab: "Live", Body: &b})
}

// asked is a turn as it was asked, or why nobody knows that any more.
func (v *visit) asked(id string) (ken.Turn, *problemPage, error) {
	t, err := v.con.l.TurnAsked(v.ctx(), v.owner(), id)
	if errors.Is(err, ken.ErrNotFound) {
		p := problemOf(err)
		var e *ken.Error
		if errors.As(err, &e) {
			p.Msg = e.Msg
		}
		return t, &p, nil
	}
	return t, nil, err
}

// thenAndNow compares the block that was given with the one that was tried.
func (v *visit) thenAndNow(b *replayBody) error {
	return v.withStore(func(s store.Engine) error {
		before, err := v.picture(s, &b.Turn.Receipt, b.Turn.Items, nil)
		if err != nil {
			return err
		}
		after, err := v.pictureOf(s, b.After)
		if err != nil {
			return err
		}
		b.Change = compareBlocks(sideOf(&before, b.Then.Block, b.Then.Missing), sideOf(&after, b.After.Block, nil), func(it *shownItem) string {
			if it.State == middleware.ItemForgotten {
				return "forgotten since"
			}
			return ""
		})
		return nil
	})
}

// tryBody is a message that nobody sent, and what a turn with it would be given.
type tryBody struct {
	Message, Earlier, System string
	Session, Project, Agent  string
	Form                     settingsForm
	Picture                  *picture
	Block                    string
	Insertion                string // where the block would go
	Mode                     ken.Mode
	Tone                     string
	Cause                    string
	Long                     bool // it is longer than what is tried
	MostMessage, MostEarlier int
}

// Most code points of what may be tried: an address has to hold it.
const (
	mostMessage = 6000
	mostEarlier = 2000
)

// tryPage shows what a turn would be given, and leaves no trace. It tells of nobody's
// conversation, so who may read may try; but in a session it may tell where that stands,
// and takes the right to see what was said there.
func tryPage(v *visit) error {
	b := tryBody{Message: strings.TrimSpace(v.text("message")), Earlier: strings.TrimSpace(v.text("earlier")), System: strings.TrimSpace(v.text("system")),
		Project: strings.TrimSpace(v.text("project")), Agent: strings.TrimSpace(v.text("agent")), MostMessage: mostMessage, MostEarlier: mostEarlier}
	if v.operates() {
		b.Session = strings.TrimSpace(v.text("session"))
	}
	var err error
	if b.Form, err = v.settings(nil); err != nil {
		return err
	}
	b.Long = len([]rune(b.Message)) > mostMessage || len([]rune(b.Earlier)) > mostEarlier || len([]rune(b.System)) > mostEarlier
	if b.Message != "" && !b.Long && len(b.Form.Wrong) == 0 {
		if err := v.tryMessage(&b); err != nil {
			return err
		}
	}
	return v.page("try", page{Title: "Try a message", Section: secTurns, Tab: "Try a message", Body: &b})
}

func (v *visit) tryMessage(b *tryBody) error {
	t := ken.Turn{Owner: v.owner(), Session: b.Session, Project: b.Project, Agent: b.Agent}
	for _, m := range []ken.Message{{Role: "system", Text: b.System}, {Role: "user", Text: b.Earlier}, {Role: "user", Text: b.Message}} {
		if m.Text != "" {
			t.Messages = append(t.Messages, m)
		}
	}
	tried, err := v.con.l.Trial(v.ctx(), t, b.Form.Config)
	if err != nil {
		return err
	}
	r := &tried.Receipt
	b.Mode, b.Tone, b.Cause, b.Block = r.Mode, modeTone(r.Mode), r.Cause, r.Block
	for _, ins := range tried.Insertions {
		if b.Insertion = "as a message of its own, before the last one"; ins.Merge {
			b.Insertion = "at the head of the last message"
		}
	}
	return v.withStore(func(s store.Engine) error {
		p, err := v.pictureOf(s, r)
		b.Picture = &p
		return err
	})
}

// settingsForm is what a turn may be tried with, as the address has it.
type settingsForm struct {
	Fields []settingField
	Config config.Config // the settings in force with those of the form; of use while nothing is wrong
	Given  bool          // the address says at least one of them
	Wrong  []string      // labels of the fields that can't be used
	Other  int           // fields that differ from what is in force
}

// settingField is one setting.
type settingField struct {
	Key, Label, Hint string
	Value, Now       string   // as the form has it, and as it is in force
	Choices          []string // nil for one that is written
	Number           bool
	Msg, Try         string // what is wrong with the value; "" when nothing is
}

// tryable are the settings that the form has, by their keys in the configuration. mode is
// none of those: it is two switches.
var tryable = []settingField{
	{Key: modeField, Label: "Search", Hint: "by words and meaning, or by one of them", Choices: []string{string(ken.ModeHybrid), string(ken.ModeKeyword), string(ken.ModeVector)}},
	{Key: "retrieval.weight", Label: "Weight", Hint: "how deep to go", Choices: []string{"none", "low", "default", "high"}},
	{Key: "retrieval.min_trust", Label: "Least trust", Hint: "who may speak at all", Choices: []string{"external", "agent", "operator"}},
	{Key: "retrieval.rank", Label: "Order", Hint: "what orders the pool", Choices: []string{"evidence", "rrf", "weighted"}},
	{Key: "retrieval.floor", Label: "Floor", Hint: "least evidence, 0 to 1", Number: true},
	{Key: "knowledge.top_k", Label: "Most items", Hint: "of what was searched for", Number: true},
	{Key: "budget.chars", Label: "Characters", Hint: "of the block", Number: true},
	{Key: "budget.memory_chars", Label: "Memory", Hint: "characters, beside the block’s", Number: true},
	{Key: "retrieval.scopes", Label: "Scopes", Hint: "such as repo:github.com/acme/payments; none is all"},
	{Key: "structure.enabled", Label: "Entities and rules", Choices: []string{"true", "false"}},
	{Key: "middleware.graph", Label: "Code", Choices: []string{"true", "false"}},
}

const modeField = "mode"

// settings reads the form from the address. What the address does not say is as it is in
// force; scopes are those that a turn had, nil for the configured ones. A value that can't
// be used stays in its field.
func (v *visit) settings(scopes []ken.Scope) (settingsForm, error) {
	f := settingsForm{Config: v.con.l.Config()}
	if scopes != nil {
		f.Config.Retrieval.Scopes = scopes
	}
	q := v.r.URL.Query()
	for _, field := range tryable {
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
		f.refuse(field.Key, setSetting(&f.Config, field.Key, field.Value))
	}
	if len(f.Wrong) == 0 {
		if err := f.Config.Validate(); err != nil && !f.refuse("", err) {
			return f, err
		}
	}
	return f, nil
}

// refuse notes that a value can't be used, at the field that the error names or else at
// the one with the key. It reports whether there is such a field.
func (f *settingsForm) refuse(key string, err error) bool {
	var e *ken.Error
	if !errors.As(err, &e) {
		return err == nil
	}
	for i := range f.Fields {
		if field := &f.Fields[i]; field.Key == key || field.Key == e.Field {
			field.Msg, field.Try = e.Msg, e.Try
			f.Wrong = append(f.Wrong, field.Label)
			return true
		}
	}
	return false
}

// settingOf is a setting as text.
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

// whatifBody is a turn tried twice: with the settings as they are, and with others.
type whatifBody struct {
	Now    time.Time
	ID     string
	Turn   receipt.Record
	Views  []choice
	Form   settingsForm
	Unable *problemPage
	Rows   []measure
	Change *blockComparison
	Tried  *picture
	Block  string
}

// measure is one figure of both trials.
type measure struct{ Name, Now, Then string }

// whatifPage tries a turn again with other settings than those in force. All of them are
// in the address, so that a finding can be kept and sent.
func whatifPage(v *visit) error {
	id := v.r.PathValue("id")
	b := whatifBody{Now: v.now(), ID: id, Views: v.turnViews(id, "whatif")}
	var err error
	if b.Turn, err = v.con.l.Receipts(v.owner()).Get(v.ctx(), id); err != nil {
		return noTurn(err)
	}
	asked, unable, err := v.asked(id)
	if err != nil {
		return err
	}
	if b.Unable = unable; unable == nil {
		if b.Form, err = v.settings(asked.Scopes); err != nil {
			return err
		}
		if b.Form.Given && len(b.Form.Wrong) == 0 {
			if err := v.tryBoth(&b, asked); err != nil {
				return err
			}
		}
	}
	return v.page("whatif", page{Title: "What if", Section: secTurns, Tab: "Live", Body: &b})
}

// tryBoth tries the turn with the settings in force and with those of the form.
func (v *visit) tryBoth(b *whatifBody, asked ken.Turn) error {
	is, err := v.con.l.Trial(v.ctx(), asked, v.con.l.Config())
	if err != nil {
		return err
	}
	other := asked
	other.Scopes = nil // those of the form
	would, err := v.con.l.Trial(v.ctx(), other, b.Form.Config)
	if err != nil {
		return err
	}
	b.Rows, b.Block = measures(&is.Receipt, &would.Receipt), would.Receipt.Block
	return v.withStore(func(s store.Engine) error {
		before, err := v.pictureOf(s, &is.Receipt)
		if err != nil {
			return err
		}
		after, err := v.pictureOf(s, &would.Receipt)
		if err != nil {
			return err
		}
		c := compareBlocks(sideOf(&before, is.Receipt.Block, nil), sideOf(&after, would.Receipt.Block, nil), func(*shownItem) string { return "" })
		b.Change, b.Tried = &c, &after
		return nil
	})
}

// measures are the figures of two receipts side by side.
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
