package console

import (
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

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
