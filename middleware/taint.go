package middleware

import (
	"bytes"
	"cmp"
	"container/list"
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
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/telemetry"
	"github.com/kenlayer/ken/store"
)

// TaintHeader tells a client about tool calls that repeat what an external claim said:
// "flagged; tool=NAME" or "refused; tool=NAME". A streamed answer has it as a trailer, and the
// session's next response has it as a header with "; turn=ID" of that answer. "unchecked" means
// that the answer could not be read.
const TaintHeader = "X-Ken-Taint"

// maxTaints bounds the taints of one answer: the longest spans of each call.
const maxTaints = 16

// Tainted returns the tool calls of an answer that repeat an external claim which the layer
// injected into the turn's session, unless a trusted source said the same: a message of role
// user, system or developer, or a claim that a person stands for. It is for programs that run
// tools by themselves, before they do. t is the turn as it was given to Assemble; without a
// session there is nothing to compare with. Nothing is recorded.
func (l operator) Tainted(t ken.Turn, answer ken.Message) []ken.Taint {
	if t.Owner == "" {
		t.Owner = l.cfg.Knowledge.Owner
	}
	if t.Session == "" || len(answer.ToolCalls) == 0 {
		return nil
	}
	return l.taintMemory.get(t.Owner, t.Session).check(answer.ToolCalls, l.trustedTexts(&t, nil))
}

// taintAction returns what a Transport does about taints.
func (l *Layer) taintAction() config.TaintAction { return cmp.Or(l.o.Taint, l.cfg.Gateway.Taint) }

// check compares tool calls with the session's external claims. The receiver may be nil.
func (sus *sessionTaints) check(calls []ken.ToolCall, trusted iter.Seq[string]) (out []ken.Taint) {
	if sus == nil {
		return nil
	}
	sus.mu.Lock()
	defer sus.mu.Unlock()
	for _, c := range calls {
		matches := sus.newer.Check(c.Arguments, trusted)
		if sus.older != nil {
			for _, m := range sus.older.Check(c.Arguments, trusted) {
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

// trustedTexts yields the texts of those who may decide what an agent does: messages of the
// person and of the program, claims in the blocks that a person stands for, and the path of the
// project. Results of tools and earlier answers are not among them.
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

// recordTaints writes an answer's taints to the session's events and to the receipt, unless the
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
			if err := l.events.Write(t.Session, ev); err != nil {
				l.o.Log.Warn("write event", "cause", err)
			}
		}
	}
	if l.keepsReceipt(t) { // after the turn's own record, which the recorder has already
		l.recorder.add(record{owner: t.Owner, marks: &taintMarks{t.ID, taints}})
	}
}

// taintMarks are the taints of a turn's answer, for its receipt.
type taintMarks struct {
	turn   string
	taints []ken.Taint
}

// writeReceipt writes a record's receipt and its marks.
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

// Bounds of the external claims that are remembered, of one session and of all. A word takes
// about a hundred bytes.
const (
	maxTaintTexts    = 64
	maxTaintWords    = 8 << 10
	maxTaintSessions = 1024
	maxAllTaintWords = 512 << 10
)

// taintMemory remembers which external claims the model of a session has read, by owner and
// session. The sessions used least recently are dropped. It lives in memory only, like the
// blocks that hold the claims: a new process has injected nothing yet. The zero value is ready.
type taintMemory struct {
	mu     sync.Mutex // guards the rest
	byKey  map[string]*list.Element
	recent *list.List // of *sessionTaints, the latest first
	words  int        // of all
}

// sessionTaints are the external claims of one session, and the taints that its client was not
// told of yet.
type sessionTaints struct {
	key   string
	words int // guarded by taintMemory.mu

	mu           sync.Mutex     // guards the rest
	newer, older *taint.Set     // when it is full, older is dropped; older may be nil
	unreported   []answerTaints // in no header yet
}

// answerTaints are the taints of one turn's answer.
type answerTaints struct {
	turn   string
	taints []ken.Taint
}

func taintKey(owner, session string) string { return owner + "\x00" + session }

// isExternal reports whether an item comes from outside and has a text that could steer an
// agent.
func isExternal(it *ken.Item) bool { return !it.Trust.AtLeast(ken.TrustAgent) && it.Text != "" }

// get returns a session's external claims; nil if it has none.
func (s *taintMemory) get(owner, session string) *sessionTaints {
	s.mu.Lock()
	defer s.mu.Unlock()
	el, ok := s.byKey[taintKey(owner, session)]
	if !ok {
		return nil
	}
	s.recent.MoveToFront(el)
	return el.Value.(*sessionTaints)
}

// getOrCreate returns a session's external claims, made if need be.
func (s *taintMemory) getOrCreate(owner, session string) *sessionTaints {
	key := taintKey(owner, session)
	s.mu.Lock()
	defer s.mu.Unlock()
	if el, ok := s.byKey[key]; ok {
		return el.Value.(*sessionTaints)
	}
	if s.byKey == nil {
		s.byKey, s.recent = map[string]*list.Element{}, list.New()
	}
	sus := &sessionTaints{key: key, newer: taint.NewSet()}
	s.byKey[key] = s.recent.PushFront(sus)
	return sus
}

// addWords notes that a session has more words, and makes room.
func (s *taintMemory) addWords(sus *sessionTaints, by int) {
	if by == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if el, ok := s.byKey[sus.key]; !ok || el.Value != sus { // dropped meanwhile
		return
	}
	s.words += by
	sus.words += by
	for s.words > maxAllTaintWords && s.recent.Len() > 1 || s.recent.Len() > maxTaintSessions {
		last := s.recent.Remove(s.recent.Back()).(*sessionTaints)
		delete(s.byKey, last.key)
		s.words -= last.words
	}
}

// size counts words. The caller holds the lock.
func (sus *sessionTaints) size() int {
	n := sus.newer.Words()
	if sus.older != nil {
		n += sus.older.Words()
	}
	return n
}

// add adds the external items, and returns by how many words the set grew.
func (sus *sessionTaints) add(items []ken.Item) int {
	sus.mu.Lock()
	defer sus.mu.Unlock()
	before := sus.size()
	for i := range items {
		it := &items[i]
		if !isExternal(it) || sus.newer.Has(it.ID) {
			continue
		}
		if sus.newer.Len() >= maxTaintTexts || sus.newer.Words() >= maxTaintWords {
			sus.older, sus.newer = sus.newer, taint.NewSet()
		}
		sus.newer.Add(it.ID, it.Text)
	}
	return sus.size() - before
}

// takeUnreported removes and returns what no header has reported.
func (sus *sessionTaints) takeUnreported() []answerTaints {
	sus.mu.Lock()
	defer sus.mu.Unlock()
	out := sus.unreported
	sus.unreported = nil
	return out
}

// maxUnreported bounds the answers that wait for a header.
const maxUnreported = 8

// addUnreported keeps what the next response must report.
func (sus *sessionTaints) addUnreported(turn string, taints []ken.Taint) {
	sus.mu.Lock()
	defer sus.mu.Unlock()
	if len(sus.unreported) < maxUnreported {
		sus.unreported = append(sus.unreported, answerTaints{turn, taints})
	}
}

// observeBlocks adds the external claims in the blocks of a turn, and returns all of the
// session's; nil if there never were any. A turn without a session is checked by its own
// blocks.
func (l *Layer) observeBlocks(t *ken.Turn, blocks []placedBlock) *sessionTaints {
	hasExternal := func(p placedBlock) bool {
		return slices.ContainsFunc(p.receipt.Items, func(it ken.Item) bool { return isExternal(&it) })
	}
	if t.Session == "" {
		if !slices.ContainsFunc(blocks, hasExternal) {
			return nil
		}
		sus := &sessionTaints{newer: taint.NewSet()}
		for _, p := range blocks {
			sus.add(p.receipt.Items)
		}
		return sus
	}
	sus := l.taintMemory.get(t.Owner, t.Session)
	for _, p := range blocks { // known items cost one look-up
		if !hasExternal(p) {
			continue
		}
		if sus == nil {
			sus = l.taintMemory.getOrCreate(t.Owner, t.Session)
		}
		l.taintMemory.addWords(sus, sus.add(p.receipt.Items))
	}
	return sus
}

// observeItems adds external items that a session's model read by another way than a block.
func (l *Layer) observeItems(owner, session string, items []ken.Item) {
	if session == "" || !slices.ContainsFunc(items, func(it ken.Item) bool { return isExternal(&it) }) {
		return
	}
	sus := l.taintMemory.getOrCreate(owner, session)
	l.taintMemory.addWords(sus, sus.add(items))
}

// taintCode is the error code of a refusal.
const taintCode = "tainted_tool_call"

// taintValue returns the header's value for an answer.
func taintValue(word string, taints []ken.Taint) string {
	return word + "; tool=" + headerToken(taints[0].Tool)
}

// headerToken makes a name fit for a header: a model may have chosen it.
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

// refusalText says what was refused and what to do. It names the claim and does not quote it,
// because clients show errors to models as well.
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
	b, _ := json.Marshal(v) // strings alone
	return b
}

// refuse replaces the whole answer by an error.
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

// errorEvents returns a refusal in a stream, and the stream's end.
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
