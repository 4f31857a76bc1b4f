package harvest

import (
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/run/session"
)

// injectedText is what the layer put before the model in a session.
type injectedText struct {
	echo  *consolidate.Echo
	first map[string]*session.Injection // by id: when a claim was injected first
}

func newInjectedText(injected []session.Injection) *injectedText {
	t := &injectedText{echo: consolidate.NewEcho(injected), first: map[string]*session.Injection{}}
	for i := range injected {
		in := &injected[i]
		if have := t.first[in.ID]; have == nil || in.At.Before(have.At) {
			t.first[in.ID] = in
		}
	}
	return t
}

// judge says what a statement is to what was injected, and which injection it
// repeats. A retelling may hide in the words that it was extracted from, so both
// are looked at.
//
// What a user said before the layer said it is the user's own. The model gets no
// such benefit: clocks jump, and one answer taken for its own is how a wrong claim
// begins to feed itself.
func (t *injectedText) judge(s *draft.Statement, e *session.Entry) (*session.Injection, consolidate.Heard) {
	user := e.Message.Role == "user"
	for _, text := range []string{s.Text, s.Quote} {
		id, heard := t.echo.Judge(text, user)
		if heard == consolidate.Novel {
			continue
		}
		if in := t.first[id]; !user || !in.At.After(e.At) {
			return in, heard
		}
	}
	return nil, consolidate.Novel
}
