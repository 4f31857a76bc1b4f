package console

import (
	"slices"
	"strconv"

	"github.com/kenlayer/ken/internal/console/ledger"
	"github.com/kenlayer/ken/internal/run/session"
)

// timelineStep is something that happened in a session: a message, or what a turn was given.
type timelineStep struct {
	Entry *session.Entry
	Of    string // the tool whose result the message is
	Turn  *turnRow
}

// addTimeline adds what was said in a session, with the turns between: each stands behind the
// question that it was made for.
func (v *visit) addTimeline(b *sessionBody, turns []ledger.Turn) error {
	tr, err := v.con.layer.Operator().Transcript(v.ctx(), v.owner(), b.Info.ID)
	if err != nil {
		return sessionError(err)
	}
	from := v.intParam("from", 0, 0, len(tr.Entries))
	to := min(from+messagesPerPage, len(tr.Entries))
	b.Injected, b.Checkpoint = len(tr.Injected), tr.Checkpoint
	behind := turnsBehind(tr.Entries, turns)
	tools := map[string]string{} // by the id of a call
	for i := range tr.Entries[:to] {
		e := &tr.Entries[i]
		for _, c := range e.Message.ToolCalls {
			tools[c.ID] = c.Name
		}
		if i < from {
			continue
		}
		b.Steps = append(b.Steps, timelineStep{Entry: e, Of: tools[e.Message.ToolCallID]})
		for _, t := range behind[i] {
			row := turnRowOf(t, v.r.URL)
			b.Steps = append(b.Steps, timelineStep{Turn: &row})
		}
	}
	if to < len(tr.Entries) {
		b.Next = withParam(v.r.URL, "from", strconv.Itoa(to))
	}
	if from > 0 {
		b.Earlier = withParam(v.r.URL, "from", strconv.Itoa(max(0, from-messagesPerPage)))
	}
	return nil
}

// turnsBehind gives for the index of a user's message the turns that were made for it, the first
// one first. Turns whose message is gone are left out.
func turnsBehind(entries []session.Entry, turns []ledger.Turn) map[int][]ledger.Turn {
	out := map[int][]ledger.Turn{}
	for _, t := range slices.Backward(turns) { // newest first
		at, ok := slices.BinarySearchFunc(entries, t.Through, func(e session.Entry, seq uint64) int {
			return int(int64(e.Seq) - int64(seq))
		})
		if !ok {
			continue
		}
		for at > 0 && entries[at].Message.Role != "user" {
			at--
		}
		out[at] = append(out[at], t)
	}
	return out
}

// turnSum sums up the turns of a session.
type turnSum struct {
	Turns, Blocks, Chars, Tokens int
	Slowest                      float64 // in milliseconds
}

func sumTurns(turns []ledger.Turn) (s turnSum) {
	for i := range turns {
		t := &turns[i]
		s.Turns++
		if t.Chars > 0 {
			s.Blocks++
		}
		s.Chars, s.Tokens, s.Slowest = s.Chars+t.Chars, s.Tokens+t.Tokens, max(s.Slowest, t.TotalMS)
	}
	return s
}
