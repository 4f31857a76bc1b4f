package middleware

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/guardrail/taint"
	"github.com/kenlayer/ken/internal/lru"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/telemetry"
	"github.com/kenlayer/ken/store"
)

// TaintHeader is the response header that reports tool calls which repeat the text of an external
// claim: "flagged; tool=NAME" or "refused; tool=NAME". A streamed answer has it as a trailer. In
// addition, the session's next response has it as a header, with "; turn=ID" of the streamed
// answer. "unchecked" means that the answer could not be read.
const TaintHeader = "X-Ken-Taint"

// maxTaints is the maximum number of taints of one answer: the longest spans of each call.
const maxTaints = 16

// Tainted returns the tool calls of an answer that repeat an external claim which the layer
// injected into the turn's session. It leaves out text that a trusted source also said: a message
// of role user, system or developer, or a claim that a person confirmed. Programs that run tools
// themselves call it before they run them. t is the turn as it was passed to Assemble. Without a
// session the result is empty. Nothing is recorded.
func (l operator) Tainted(t ken.Turn, answer ken.Message) []ken.Taint {
	t.Owner = l.ownerOrDefault(t.Owner)
	if t.Session == "" || len(answer.ToolCalls) == 0 {
		return nil
	}
	return l.taintMemory.get(t.Owner, t.Session).check(answer.ToolCalls, l.trustedTexts(&t, nil))
}

// taintAction returns what a Transport does with tainted calls.
func (l *Layer) taintAction() config.TaintAction { return cmp.Or(l.o.Taint, l.cfg.Gateway.Taint) }

// check compares tool calls with the session's external claims. The receiver may be nil.
func (external *sessionTaints) check(calls []ken.ToolCall, trusted iter.Seq[string]) (out []ken.Taint) {
	if external == nil {
		return nil
	}
	external.mu.Lock()
	defer external.mu.Unlock()
	for _, c := range calls {
		matches := external.newer.Check(c.Arguments, trusted)
		if external.older != nil {
			for _, m := range external.older.Check(c.Arguments, trusted) {
				if !slices.ContainsFunc(matches, func(have taint.Match) bool { return have.ID == m.ID }) {
					matches = append(matches, m)
				}
			}
		}
		for _, m := range matches {
			if len(out) == maxTaints {
				return out
			}
			out = append(out, ken.Taint{Tool: c.Name, Call: c.ID, Claim: m.ID, Chars: m.Chars})
		}
	}
	return out
}

// trustedTexts yields the texts of those who may decide what an agent does: messages of the user
// and of the program, claims in the blocks that a person confirmed, and the project's path. Results
// of tools and earlier answers are not trusted.
func (l *Layer) trustedTexts(t *ken.Turn, blocks []placedBlock) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(l.o.Root) {
			return
		}
		for i := range t.Messages {
			m := &t.Messages[i]
			if m.Role != "user" && m.Role != "system" && m.Role != "developer" || budgeter.IsBlock(m.Text) {
				continue
			}
			if !yield(m.Text) {
				return
			}
		}
		for _, p := range blocks {
			for i := range p.receipt.Items {
				if it := &p.receipt.Items[i]; it.Trust == ken.TrustOperator && !yield(it.Text) {
					return
				}
			}
		}
	}
}

// recordTaints writes an answer's taints to the session's event log and to the receipt, unless the
// turn is incognito.
func (l *Layer) recordTaints(t *ken.Turn, action config.TaintAction, taints []ken.Taint) {
	if t.Incognito {
		return
	}
	if l.events != nil {
		at := l.now().UTC()
		for _, x := range taints {
			ev := telemetry.Taint{Event: "taint", Timestamp: at, SessionID: t.Session, Turn: t.ID, Tool: x.Tool, Call: x.Call, Claim: x.Claim,
				Chars: x.Chars, Action: string(action)}
			if err := l.logEvent(t.Owner, t.Session, ev); err != nil {
				l.o.Log.Warn("write event", "cause", err)
			}
		}
	}
	if l.keepsReceipt(t) { // the turn's own record was queued before
		l.recorder.add(record{owner: t.Owner, marks: &taintMarks{t.ID, taints}})
	}
}

// taintMarks holds the taints of a turn's answer, for the turn's receipt.
type taintMarks struct {
	turn   string
	taints []ken.Taint
}

// writeReceipt writes a record's receipt and its taints.
func (r *record) writeReceipt(tx store.ShelfTx, b *receipt.Book) error {
	if r.receipt != nil {
		if err := b.Add(tx, *r.receipt); err != nil {
			return err
		}
	}
	if r.marks == nil {
		return nil
	}
	return b.AddMark(tx, r.marks.turn, r.marks.taints)
}

// Bounds of the external claims in memory, per session and in total. A word takes about a hundred
// bytes.
const (
	maxTaintTexts    = 64
	maxTaintWords    = 8 << 10
	maxTaintSessions = 1024
	maxAllTaintWords = 512 << 10
)

// taintMemory holds, by owner and session, the external claims that the model of the session has
// read. The least recently used sessions are dropped. It is in memory only, as are the blocks with
// these claims: a new process has injected nothing yet. The zero value is ready.
type taintMemory struct {
	mu       sync.Mutex // guards the rest
	sessions lru.List[sessionKey, *sessionTaints]
	words    int // in all sessions
}

// sessionTaints holds the external claims of one session, and the taints that were not reported to
// its client yet.
type sessionTaints struct {
	key   sessionKey
	words int // guarded by taintMemory.mu

	mu           sync.Mutex     // guards the rest
	newer, older *taint.Set     // when newer is full it replaces older; older may be nil
	unreported   []answerTaints // not in a header yet
}

// answerTaints are the taints of one turn's answer.
type answerTaints struct {
	turn   string
	taints []ken.Taint
}

// isExternal reports whether an item comes from outside and has a text that could influence an
// agent.
func isExternal(it *ken.Item) bool { return !it.Trust.AtLeast(ken.TrustAgent) && it.Text != "" }

// get returns a session's external claims; nil if there are none.
func (s *taintMemory) get(owner, session string) *sessionTaints {
	s.mu.Lock()
	defer s.mu.Unlock()
	external, _ := s.sessions.Get(sessionKey{owner, session})
	return external
}

// getOrCreate returns a session's external claims. It creates an empty set if there is none.
func (s *taintMemory) getOrCreate(owner, session string) *sessionTaints {
	key := sessionKey{owner, session}
	s.mu.Lock()
	defer s.mu.Unlock()
	external, ok := s.sessions.Get(key)
	if !ok {
		external = &sessionTaints{key: key, newer: taint.NewSet()}
		s.sessions.Put(key, external)
	}
	return external
}

// addWords adds to the word count of a session, and drops other sessions if there are too many
// words.
func (s *taintMemory) addWords(external *sessionTaints, by int) {
	if by == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if have, _ := s.sessions.Peek(external.key); have != external { // the session was dropped since
		return
	}
	s.words += by
	external.words += by
	for s.words > maxAllTaintWords && s.sessions.Len() > 1 || s.sessions.Len() > maxTaintSessions {
		_, oldest := s.sessions.TakeOldest()
		s.words -= oldest.words
	}
}

// size returns the number of words. The caller holds external.mu.
func (external *sessionTaints) size() int {
	n := external.newer.Words()
	if external.older != nil {
		n += external.older.Words()
	}
	return n
}

// add adds the external items and returns by how many words the set grew.
func (external *sessionTaints) add(items []ken.Item) int {
	external.mu.Lock()
	defer external.mu.Unlock()
	before := external.size()
	for i := range items {
		it := &items[i]
		if !isExternal(it) || external.newer.Has(it.ID) {
			continue
		}
		if external.newer.Len() >= maxTaintTexts || external.newer.Words() >= maxTaintWords {
			external.older, external.newer = external.newer, taint.NewSet()
		}
		external.newer.Add(it.ID, it.Text)
	}
	return external.size() - before
}

// takeUnreported removes and returns the taints that no header has reported.
func (external *sessionTaints) takeUnreported() []answerTaints {
	external.mu.Lock()
	defer external.mu.Unlock()
	out := external.unreported
	external.unreported = nil
	return out
}

// maxUnreported is the maximum number of answers whose taints wait for a header.
const maxUnreported = 8

// addUnreported stores taints for the header of the next response.
func (external *sessionTaints) addUnreported(turn string, taints []ken.Taint) {
	external.mu.Lock()
	defer external.mu.Unlock()
	if len(external.unreported) < maxUnreported {
		external.unreported = append(external.unreported, answerTaints{turn, taints})
	}
}

// observeBlocks adds the external claims in a turn's blocks to the session's, and returns the
// latter; nil if there are none. A turn without a session is checked against its own blocks only.
func (l *Layer) observeBlocks(t *ken.Turn, blocks []placedBlock) *sessionTaints {
	hasExternal := func(p placedBlock) bool {
		return slices.ContainsFunc(p.receipt.Items, func(it ken.Item) bool { return isExternal(&it) })
	}
	if t.Session == "" {
		if !slices.ContainsFunc(blocks, hasExternal) {
			return nil
		}
		external := &sessionTaints{newer: taint.NewSet()}
		for _, p := range blocks {
			external.add(p.receipt.Items)
		}
		return external
	}
	external := l.taintMemory.get(t.Owner, t.Session)
	for _, p := range blocks { // for known items this is one lookup each
		if !hasExternal(p) {
			continue
		}
		if external == nil {
			external = l.taintMemory.getOrCreate(t.Owner, t.Session)
		}
		l.taintMemory.addWords(external, external.add(p.receipt.Items))
	}
	return external
}

// observeItems adds external items that a session's model read other than through a block.
func (l *Layer) observeItems(owner, session string, items []ken.Item) {
	if session == "" || !slices.ContainsFunc(items, func(it ken.Item) bool { return isExternal(&it) }) {
		return
	}
	external := l.taintMemory.getOrCreate(owner, session)
	l.taintMemory.addWords(external, external.add(items))
}

// taintCode is the error code of a refusal.
const taintCode = "tainted_tool_call"

// taintValue returns the header's value for an answer. word is "flagged" or "refused".
func taintValue(word string, taints []ken.Taint) string {
	return word + "; tool=" + headerToken(taints[0].Tool)
}

// headerToken makes a name valid in a header. A model may have chosen the name.
func headerToken(s string) string {
	const most = 64
	if len(s) > most {
		s = s[:most]
	}
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '_'
	}, s)
}

// refusalText says what was refused and what to do. It names the claim but does not quote it,
// because clients show errors to models too.
func refusalText(taints []ken.Taint) string {
	t := taints[0]
	return "ken: the answer was refused: it calls " + headerToken(t.Tool) + " with what the external claim " + t.Claim +
		" says. Look at it with ken history " + t.Claim + ", then forget or verify it, say yourself what is to be done, or set gateway.taint to flag."
}

// errorBody returns an error in the API's form.
func errorBody(d wire.Dialect, text string) []byte {
	var v any = map[string]any{"error": map[string]any{"message": text, "type": "permission_error", "param": nil, "code": taintCode}}
	switch d {
	case wire.Messages:
		v = map[string]any{"type": "error", "error": map[string]any{"type": "permission_error", "message": text}}
	case wire.Ollama:
		v = map[string]any{"error": text}
	}
	b, _ := json.Marshal(v) // strings can always be marshaled
	return b
}

// refuse replaces the complete answer by an error.
func (g *taintGuard) refuse(taints []ken.Taint) {
	body := errorBody(g.x.dialect, refusalText(taints))
	r, h := g.resp, g.resp.Header
	r.StatusCode = http.StatusForbidden
	r.Status = strconv.Itoa(r.StatusCode) + " " + http.StatusText(r.StatusCode)
	for _, name := range []string{"Content-Encoding", "Transfer-Encoding", "Etag", "Content-Md5", "Digest", "Content-Digest", "Trailer"} {
		h.Del(name)
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Ken-Error", taintCode)
	h.Add(TaintHeader, taintValue("refused", taints))
	r.Body, r.ContentLength, r.TransferEncoding, r.Trailer = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil, nil
}

// errorEvents returns the events of a refusal in a stream, including the end of the stream.
func errorEvents(d wire.Dialect, taints []ken.Taint) []byte {
	text := refusalText(taints)
	switch d {
	case wire.Responses:
		b, _ := json.Marshal(map[string]any{"type": "error", "code": taintCode, "message": text, "param": nil})
		return []byte("event: error\ndata: " + string(b) + "\n\n")
	case wire.Messages:
		return []byte("event: error\ndata: " + string(errorBody(d, text)) + "\n\n")
	case wire.Ollama:
		return append(errorBody(d, text), '\n')
	default:
		return []byte("data: " + string(errorBody(d, text)) + "\n\ndata: [DONE]\n\n")
	}
}
