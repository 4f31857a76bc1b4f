package console

import (
	"cmp"
	"fmt"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/breaker"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/console/ledger"
	"github.com/kenlayer/ken/internal/retriever/calibrate"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// Tones of what the pages of health say, as the style sheet has them.
const (
	toneSuccess = "success"
	toneWarning = "warning"
	toneDanger  = "danger"
)

// searching is how a search runs now, and what it would take to run better.
type searching struct {
	Mode  ken.Mode
	Cause string // why that is less than hybrid; "" when it isn't

	Model    string // of the vectors; "" where there are none
	State    string // the embedder's, in a word
	Tone     string // of the state: success, danger or ""
	Waits    string // what the circuit waits for; "" while calls pass
	Embedded int    // records with a vector
	Total    int

	Calibration *calibrate.Calibration // nil when nothing was measured
	Verdict     string                 // of it, in a sentence
}

// searchesNow looks at the store and at the embedder, and asks neither.
func (v *visit) searchesNow(s store.Engine) searching {
	l := v.con.l
	cfg := l.Config()
	out := searching{Calibration: l.Calibration(s.Owner())}
	out.Mode, out.Cause = l.Recaller(s, middleware.RecallQuery{}).Mode()
	out.Embedded, out.Total = s.Coverage()
	if out.Mode != ken.ModeHybrid {
		_, off := l.RetrievalOf(s.Owner())
		out.Cause = cmp.Or(out.Cause, off)
	}
	e := l.Embedder()
	switch state := e.State(); {
	case e.Model() == embed.None().Model():
		out.State, out.Waits = "none", "There is no embedder: search is by words alone."
	case state == breaker.Closed:
		out.State, out.Tone, out.Model = "answers", toneSuccess, e.Model()
	default:
		out.Model, out.Waits = e.Model(), waits(state, cfg.Breaker.Open)
		out.State, out.Tone = "does not answer", toneDanger
		if out.Mode == ken.ModeHybrid {
			out.Mode, out.Cause = ken.ModeKeyword, e.Cause()
		}
	}
	out.Verdict = verdict(&cfg, out.Calibration, out.Model != "", out.Total)
	return out
}

// waits says what has to happen for an open circuit to close.
func waits(state breaker.State, every time.Duration) string {
	if state == breaker.HalfOpen {
		return "One word is being tried now. If it is answered, searches go by meaning again at once."
	}
	return fmt.Sprintf("No turn waits for it. One word is tried every %s; the first answer brings it back.", orDefault(every))
}

func orDefault(every time.Duration) time.Duration {
	if every <= 0 {
		return breaker.DefaultOpenFor
	}
	return every
}

// verdict says what a calibration found, or why there is none.
func verdict(cfg *config.Config, c *calibrate.Calibration, embeds bool, records int) string {
	switch {
	case !embeds:
		return ""
	case !cfg.Retrieval.Calibrate:
		return "It is not measured whether likeness helps: retrieval.calibrate is false."
	case c == nil && records < calibrate.MinRecords:
		return fmt.Sprintf("Whether likeness helps is measured once there are %d records with a vector.", calibrate.MinRecords)
	case c == nil:
		return "Whether likeness helps was not measured yet; it is, behind the turns."
	case c.Questions == 0:
		return "No questions can be made of these records, so likeness counts in full."
	case c.Harms():
		return "Words alone find more here: turns leave likeness out."
	case c.Factor < 1:
		return fmt.Sprintf("The embedder is weak here: its likeness counts %g of the usual.", c.Factor)
	case c.Gain.Low > 0 && c.Keyword.MRR > 0:
		return fmt.Sprintf("Words and likeness together find %.0f %% better than words alone.", 100*c.Gain.Mean/c.Keyword.MRR)
	}
	return "Likeness counts in full: it does no harm here."
}

// concern is something that a person should know or do, in a sentence.
type concern struct {
	Tone      string
	Says, Try string
	Since     any // a time in words; nil where it is not known
	Path      string
	Name      string // of what is at Path
}

// concerns are what needs a person, the worst first.
func (v *visit) concerns(b *healthBody) (out []concern) {
	now := &b.Search
	if now.Tone == toneDanger {
		c := concern{Tone: toneDanger, Says: "The embedder does not answer: " + v.con.l.Embedder().Cause(), Try: "ken doctor"}
		if t, _ := v.con.turns.Turns(v.owner(), time.Time{}, 1, ledger.Match{Mode: ken.ModeHybrid}); len(t) > 0 {
			c.Since = ago(b.Now, t[0].At)
		}
		out = append(out, c)
	}
	if n := b.dead(); n > 0 && v.operates() {
		out = append(out, concern{Tone: toneDanger, Says: plural(n, "job was given up on: its work is", "jobs were given up on: their work is") + " not done.", Path: pathOf("jobs"), Name: "Look at them"})
	}
	if n := b.Work.Lost; n > 0 {
		out = append(out, concern{Tone: toneWarning, Says: plural(int(n), "record of a turn was", "records of turns were") + " left out, because turns came faster than they could be written.",
			Try: "a faster disk for the folder of the stores"})
	}
	switch c := now.Calibration; {
	case now.Model != "" && now.Embedded == 0 && now.Total > 0:
		out = append(out, concern{Tone: toneWarning, Says: "Nothing has a vector of " + now.Model + " yet: search is by words alone.", Try: "ken index"})
	case now.Model != "" && now.Embedded < now.Total:
		out = append(out, concern{Tone: toneWarning, Says: plural(now.Total-now.Embedded, "record has", "records have") + " no vector yet: only words find them.", Try: "ken index"})
	case c != nil && c.Questions > 0 && c.Harms():
		out = append(out, concern{Tone: toneWarning, Says: "The embedder finds less here than words alone do, and is left out.", Try: "ken embed adapt"})
	}
	const tooLate = 0.05
	if w := b.Lately; w != nil && w.Whole.Share(ken.ModeLate) > tooLate {
		out = append(out, concern{Tone: toneWarning, Says: percent(w.Whole.Share(ken.ModeLate)) + " of these turns were late: the embedder's answer came after the turn's deadline.",
			Try: "a local embedder, or a longer retrieval.deadline"})
	}
	return out
}
