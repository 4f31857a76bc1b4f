package consolidate

import (
	"github.com/kenlayer/ken/internal/analysis"
	"slices"
	"testing"
	"time"
)

// A note behind a statement tells what it replaces, and Plain takes every note off.
func TestPastNotes(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 3, n, 9, 0, 0, 0, time.UTC) }
	for _, tt := range []struct {
		was, is  string
		from, at time.Time
		want     string
	}{
		{"The deploy day is Tuesday", "The deploy day is Thursday now.", day(1), day(12), " (was Tuesday until 12 March 2026)"},
		{"The mail quota's 500 a day", "I was wrong, it's 300 a day.", day(1), day(1), " (previously: The mail quota's 500 a day)"},
		{"The port is 8080", "The port is 8081.", day(2), day(2), " (previously 8080)"},
		{"My address is Strandgaten 12, Bergen", "My address is now Kong Oscars gate 4, Bergen.", day(1), day(1), " (previously Strandgaten 12)"},
		{"He caps me at 50 km a week", "The physio lifted it to 60 k", day(1), day(22), " (until 22 March 2026: He caps me at 50 km a week)"},
	} {
		note := changedFrom(tt.was, "", tt.is, tt.from, tt.at)
		if note != tt.want || analysis.WithoutPastNotes(tt.is+note) != tt.is {
			t.Errorf("%q behind %q, which is plain %q", note, tt.is, analysis.WithoutPastNotes(tt.is+note))
		}
	}
	if maybe := "We deploy on Tuesdays" + changedTo("Thursdays", day(1), day(12), true); maybe != "We deploy on Tuesdays (perhaps until 12 March 2026, now Thursdays)" ||
		analysis.WithoutPastNotes(maybe) != "We deploy on Tuesdays" || len(NoLonger(maybe)) > 0 {
		t.Errorf("%q", maybe)
	}
	for is, want := range map[string]string{
		"GitLab now": "GitLab", "Emil is 6 now.": "Emil is 6", "Ahora mi proveedor es Ruiz.": "mi proveedor es Ruiz", "Now, we use Linear": "we use Linear",
		"Frau Lind jetzt": "Frau Lind", "agora": "agora", "now": "now", "Now that Ana left, Ben does it": "Now that Ana left, Ben does it",
		"Ahora que vivo en Lugo, nado": "Ahora que vivo en Lugo, nado", "Snow": "Snow", "Nowak does it": "Nowak does it", "we do it now and then": "we do it now and then",
	} {
		if got := changedTo(is, day(1), day(1), false); got != " (no longer, now "+want+")" {
			t.Errorf("%q becomes %q", is, got)
		}
	}
	text := "We deploy on Tuesdays" + changedTo("Thursdays", day(1), day(12), false) + ", and the freeze is in May (2026)."
	if want := "We deploy on Tuesdays (until 12 March 2026, now Thursdays), and the freeze is in May (2026)."; text != want {
		t.Errorf("%q", text)
	}
	if got := NoLonger(text); !slices.Equal(got, []string{"We deploy on Tuesdays"}) || analysis.WithoutPastNotes(text) != "We deploy on Tuesdays, and the freeze is in May (2026)." {
		t.Errorf("%q of %q", got, analysis.WithoutPastNotes(text))
	}
}

// The values of a text, whatever it is, lie within it and in order.
func FuzzMentions(f *testing.F) {
	f.Add("On-call changes hands on Mondays at 9, we're 5, 240 € a week.", "It moves to Wednesday 11:00 now.")
	f.Add("预算四万五, 二月二十三号进场", "预算加到五万二了")
	f.Add("Termin ist der 13. März (until 6 February 2026, now 20. März), 19 Uhr", "am 13. ist Judo, jetzt 20. März")
	f.Fuzz(func(t *testing.T, text, later string) {
		end := 0
		for _, m := range mentions(text) {
			if m.from < end || m.to <= m.from || m.to > len(text) {
				t.Fatalf("%+v in %q", m, text)
			}
			end = m.to
		}
		if c, ok := replacedValue(text, later); ok && (c.was.from < c.clause.from || c.was.to > c.clause.to) {
			t.Fatalf("%+v in %q", c, text)
		}
		if out, ok := AmendAccount(text, time.Time{}, later, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)); !ok && out != text {
			t.Fatalf("%q became %q", text, out)
		}
		Corrects(text, later)
	})
}

// A statement that says what is no longer so replaces the clause that says it, and only where there is one.
func TestDenied(t *testing.T) {
	for _, tt := range []struct{ known, fresh, want string }{
		{"My order number is FK-77120, it goes to Oslo.", "Actually the order goes to Trondheim, not to Oslo.", "it goes to Oslo"},
		{"The build runs on Jenkins, and the tests take nine minutes.", "The build runs on Buildkite, not on Jenkins.", "The build runs on Jenkins"},
		{"We bake on Fridays, and the flour comes from Lund.", "The flour comes from Malmö now instead of Lund.", "and the flour comes from Lund"},
		{"Ida teaches the flute, and Per teaches the cello.", "Per plays the viola, no longer the cello.", "and Per teaches the cello"},
		{"The choir meets in the barn, and we sing at seven.", "We meet in the church rather than the barn.", "The choir meets in the barn"},
		{"Der Kurs ist am Montag, und der Raum ist im Keller.", "Der Kurs ist am Dienstag, nicht am Montag.", "Der Kurs ist am Montag"},
		{"Le train part à huit heures, et le bus part de Lyon.", "Le bus part de Dijon au lieu de Lyon.", "et le bus part de Lyon"},
		{"Los martes hay yoga, y la sala está en Sevilla.", "La sala está en Cádiz, no en Sevilla.", "y la sala está en Sevilla"},
		{"The boat is blue, and the sails are red.", "The sails are green now.", ""},                                     // nothing is denied
		{"The boat is blue, and the sails are red.", "The sails are green, not yellow.", ""},                             // nobody said so
		{"Oslo is cold, and the parcel goes to Oslo.", "The parcel goes to Bergen, not to Oslo.", ""},                    // two clauses say so
		{"The shop opens at nine, and the bakery is closed.", "The bakery opens again, not that it matters.", ""},        // a way of speaking
		{"The garden has roses, and the pond has carps.", "I do not like the roses, and the pond is deep.", ""},          // no denial at the end
		{"The cat is called Mia, and the dog sleeps outside.", "The dog sleeps inside, not only in the winter.", ""},     // both are right
		{"The tea is from Assam, and the cups are from Delft.", "We bought new cups, no problem with the old ones.", ""}, // no denial at all
	} {
		got := ""
		if c, ok := denied(tt.known, valuesOf(tt.known).parts(), tt.fresh); ok {
			got = tt.known[c.from:c.to]
		}
		if got != tt.want {
			t.Errorf("%q and then %q: %q, want %q", tt.known, tt.fresh, got, tt.want)
		}
	}
}

// TestAmendClauseOfASummary checks that a value gets its note also in a summary that says it in other
// words than the claim, and only there.
func TestAmendClauseOfASummary(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 3, n, 9, 0, 0, 0, time.UTC) }
	const clause = "Saves in Mosswick are written as JSON under user://slots"
	c := ValueChange{Clause: clause, Was: clause, Is: "Saves are binary", From: day(1)}
	for text, want := range map[string]string{
		"The user said that all art is by Ximena, that Mosswick's saves are JSON under user://slots, and asked for a fence.": "The user said that all art is by Ximena, that Mosswick's saves are JSON under user://slots (until 12 March 2026, now Saves are binary), and asked for a fence.",
		"The user asked for a fence. Nothing was said about saves.":                                                          "",
		"Saves in Mosswick 4.5 are JSON under user://slots. The fence stays.":                                                "Saves in Mosswick 4.5 are JSON under user://slots (until 12 March 2026, now Saves are binary). The fence stays.",
		"The format is new (until 10 March 2026, now saves in Mosswick are written as JSON, under user://slots).":            "",
		"": "",
	} {
		got, ok := c.AmendClause(text, day(12))
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q", got)
		}
		if again, ok := c.AmendClause(got, day(12)); ok || again != got {
			t.Errorf("the second time: %q", again)
		}
	}
}

// TestAmendClauseOfTheUser checks that a value which a claim quotes with its speaker gets its note in a
// summary, which names none.
func TestAmendClauseOfTheUser(t *testing.T) {
	from := time.Date(2026, 4, 2, 9, 0, 0, 0, time.UTC)
	const clause = "User: Our prod cluster runs Kubernetes 1.27"
	c := ValueChange{Clause: clause, Was: clause, Is: "Prod is at 1.29", From: from}
	got, ok := c.AmendClause("Goal: our prod cluster runs Kubernetes 1.27. Start it.", from.AddDate(0, 0, 39))
	if want := "Goal: our prod cluster runs Kubernetes 1.27 (until 11 May 2026, now Prod is at 1.29). Start it."; !ok || got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
