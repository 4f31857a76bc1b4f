package decision

import (
	"time"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

var (
	isoDate   = lazyregexp.New(`\b(?:19|20)\d{2}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])`)
	dateLike  = []string{"2006/01/02", "2006/1/2", "2006.01.02", "02.01.2006", "2.1.2006", "January 2, 2006", "January 2 2006", "2 January 2006", "Jan 2, 2006", "2 Jan 2006", "02 Jan 2006"}
	slashDate = lazyregexp.New(`^(\d{1,2})/(\d{1,2})/(\d{4})$`)
)

// setDate reads a date; a text that has none is kept.
func (d *document) setDate(v Value) {
	said := d.Date // in brackets behind the status
	d.DateText, d.Date = v, time.Time{}
	text := plain(v.Text)
	if m := isoDate.FindString(text); m != "" {
		d.Date, _ = time.Parse(time.DateOnly, m)
		return
	}
	if m := slashDate.FindStringSubmatch(text); m != nil {
		d.slashed(m)
		return
	}
	for _, form := range dateLike {
		if t, err := time.Parse(form, text); err == nil {
			d.Date = t
			return
		}
	}
	d.Date = said
}

// slashed reads 25/12/2024 and 12/25/2024. Of 07/11/2024 nobody knows which it is.
func (d *document) slashed(m []string) {
	for _, form := range []string{"2/1/2006", "1/2/2006"} {
		t, err := time.Parse(form, m[0])
		if err != nil {
			continue
		}
		if !d.Date.IsZero() && !d.Date.Equal(t) {
			d.Date = time.Time{}
			d.problem(d.DateText.Line, "the date "+m[0]+" has two readings", "Write it as 2026-11-22.")
			return
		}
		d.Date = t
	}
}
