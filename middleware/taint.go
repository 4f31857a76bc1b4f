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

// TaintHeader tells a client of tool calls that repeat what an external claim said,
// as "flagged; tool=NAME" or "refused; tool=NAME". Of an answer that is streamed it
// comes as a trailer, and the session's next response has it as a header, with
// "; turn=ID" of the answer that it is about. "unchecked" is an answer that could not
// be read.
const TaintHeader = "X-Ken-Taint"

// maxTaints bounds the taints of one answer: the longest spans of each call.
const maxTaints = 16

// Tainted returns the tool calls of an answer that repeat what an external claim said
// which the layer put before the model in the turn's session, and which nobody who
// may say it said: neither the messages of role user, system and developer, nor a
// claim that a person stands for. For programs that run tools by themselves, before
// they do. t is the turn as it was given to Assemble; without a session there is
// nothing to compare with. Nothing is recorded.
func (l *Layer) Tainted(t ken.Turn, answer ken.Message) []ken.Taint {
	if t.Owner == "" {
		t.Owner = l.cfg.Knowledge.Owner
	}
	if t.Session == "" || len(answer.ToolCalls) == 0 {
		return nil
	}
	return l.taintMemory.get(t.Owner, t.Session).check(answer.ToolCalls, l.trustedTexts(&t, nil))
}

// taintAction is what a Transport does.
func (l *Layer) taintAction() config.TaintAction { return cmp.Or(l.o.Taint, l.cfg.Gateway.Taint) }

// judge compares tool calls with the suspects, which may be nil.
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

// trusted yields what was said by those who may say what an agent does: the person
// and the program, in their messages; what a person stands for, in the blocks; and
// where the project is. What tools returned and what the model said before are not
// among them.
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

// recordTaints tells the session's events and the receipt of an answer's taints. An
// incognito turn leaves no trace.
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
	if l.keepsReceipt(t) { // behind the turn's own record, which is with the recorder already
		l.recorder.add(record{owner: t.Owner, marks: &taintMarks{t.ID, taints}})
	}
}

// taintMarks are the taints of a turn's answer, for its receipt.
type taintMarks struct {
	turn   string
	taints []ken.Taint
}

// book writes a record's receipt, and its marks.
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

// Bounds of what is remembered of external claims: of one session, and of all. A word
// takes about a hundred bytes.
const (
	maxTaintTexts    = 64
	maxTaintWords    = 8 << 10
	maxTaintSessions = 1024
	maxAllTaintWords = 512 << 10
)

// taintMemory remembers which external claims a session's model has read, by owner and
// session. The least recently used sessions are forgotten. It lives in memory alone,
// like the blocks that hold the claims: a process that starts anew has put nothing
// before a model. The zero value is ready.
type taintMemory struct {
	mu     sync.Mutex // guards the rest
	byKey  map[string]*list.Element
	recent *list.List // of *suspects, the latest first
	words  int        // of all
}

// sessionTaints are the external claims of one session.
type sessionTaints struct {
	key   string
	words int // words; guarded by the lock of suspicions

	mu           sync.Mutex     // guards the rest
	newer, older *taint.Set     // the older half goes when the newer is full; old may be nil
	unreported   []answerTaints // what no header has told yet
}

// answerTaints are the taints of one turn's answer.
type answerTaints struct {
	turn   string
	taints []ken.Taint
}

func taintKey(owner, session string) string { return owner + "\x00" + session }

// isExternal reports an item that comes from outside and can steer.
func isExternal(it *ken.Item) bool { return !it.Trust.AtLeast(ken.TrustAgent) && it.Text != "" }

// get returns a session's suspects, nil when it has none.
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

// saveRecord returns a session's suspects, made if need be.
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

// grown notes that a session has so many words more, and makes room.
func (s *taintMemory) addWords(sus *sessionTaints, by int) {
	if by == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if el, ok := s.byKey[sus.key]; !ok || el.Value != sus { // it was forgotten meanwhile
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

// size counts words; the caller holds the lock.
func (sus *sessionTaints) size() int {
	n := sus.newer.Words()
	if sus.older != nil {
		n += sus.older.Words()
	}
	return n
}

// add takes up the external ones of items, and returns by how many words it grew.
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

// finishJudging takes what no header has told yet.
func (sus *sessionTaints) takeUnreported() []answerTaints {
	sus.mu.Lock()
	defer sus.mu.Unlock()
	out := sus.unreported
	sus.unreported = nil
	return out
}

// maxUnsettled bounds what waits for a header.
const maxUnreported = 8

// addUnreported keeps what the next response is to tell.
func (sus *sessionTaints) addUnreported(turn string, taints []ken.Taint) {
	sus.mu.Lock()
	defer sus.mu.Unlock()
	if len(sus.unreported) < maxUnreported {
		sus.unreported = append(sus.unreported, answerTaints{turn, taints})
	}
}

// observeBlocks takes up the external claims in blocks that a turn's model reads, and
// returns the session's, nil when there never were any. A turn without a session is
// judged by what it carries itself.
func (l *Layer) observeBlocks(t *ken.Turn, blocks []placedBlock) *sessionTaints {
	anew := func(p placedBlock) bool {
		return slices.ContainsFunc(p.receipt.Items, func(it ken.Item) bool { return isExternal(&it) })
	}
	if t.Session == "" {
		if !slices.ContainsFunc(blocks, anew) {
			return nil
		}
		sus := &sessionTaints{newer: taint.NewSet()}
		for _, p := range blocks {
			sus.add(p.receipt.Items)
		}
		return sus
	}
	sus := l.taintMemory.get(t.Owner, t.Session)
	for _, p := range blocks { // what is known already costs a look
		if !anew(p) {
			continue
		}
		if sus == nil {
			sus = l.taintMemory.getOrCreate(t.Owner, t.Session)
		}
		l.taintMemory.addWords(sus, sus.add(p.receipt.Items))
	}
	return sus
}

// observeItems takes up external items that a session's model read by another way than a
// block.
func (l *Layer) observeItems(owner, session string, items []ken.Item) {
	if session == "" || !slices.ContainsFunc(items, func(it ken.Item) bool { return isExternal(&it) }) {
		return
	}
	sus := l.taintMemory.getOrCreate(owner, session)
	l.taintMemory.addWords(sus, sus.add(items))
}

// taintCode is what a refusal is called, for programs.
const taintCode = "tainted_tool_call"

// taintValue is the header's value for an answer.
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

// refusal says what was refused and what to do. It names the claim and does not quote
// it: a client shows errors to models, too.
func refusalText(taints []ken.Taint) string {
	t := taints[0]
	return "ken: the answer was refused: it calls " + headerToken(t.Tool) + " with what the external claim " + t.Claim +
		" says. Look at it with ken history " + t.Claim + ", then forget or verify it, say yourself what is to be done, or set gateway.taint to flag."
}

// errorBody is an error in the API's shape.
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

// refuse puts an error in place of the whole answer.
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

// errorEvents are a refusal in a stream, and its end.
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
