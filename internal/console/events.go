package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/store"
)

// Topics that a page can follow.
const (
	liveClaims    = "claims"    // the log has grown
	liveTurns     = "turns"     // a turn was prepared, or its answer was evaluated
	liveAttention = "attention" // the numbers of the queues have changed
	liveJobs      = "jobs"
	liveCode      = "code"    // files of the project were read
	liveProject   = "project" // decisions, objectives or layer violations have changed
)

// maxStreams is the largest number of concurrent event streams.
const maxStreams = 200

// heartbeat is the largest number of ticks between two writes to a stream. The writes detect
// that the visitor has left, and keep proxies from closing the connection.
const heartbeat = 15

// jobTicks is how many ticks pass between two checks of the jobs, which are read one by one.
const jobTicks = 3

// serveEvents streams the names of topics that changed. The page then reloads itself, so
// that all rendering stays in one place.
func serveEvents(v *visit) error {
	if v.con.streams.Add(1) > maxStreams {
		v.con.streams.Add(-1)
		return &ken.Error{Code: ken.CodeUnavailable, Msg: "too many pages have live updates", Try: "Close some of them; this one still shows what is there when it is loaded."}
	}
	defer v.con.streams.Add(-1)
	topics := strings.Split(v.param("topics"), ",")
	ctx, cancel := context.WithCancel(v.ctx())
	defer cancel()
	defer context.AfterFunc(v.con.stop, cancel)()
	return v.withStore(func(s store.Engine) error {
		h := v.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("X-Accel-Buffering", "no") // a proxy must not buffer the events
		v.w.WriteHeader(http.StatusOK)
		out := &eventStream{w: v.w, c: http.NewResponseController(v.w)}
		w := topicWatcher{v: v, s: s, topics: topics}
		seq := s.Seq()
		w.changedTopics(ctx, 0) // before the page is told that the stream works, so that later changes are reported
		grown := w.watchLog(ctx, seq)
		out.send("ready")
		for _, topic := range w.missedTopics(v.param("at"), seq) {
			out.send(topic)
		}
		tick := time.NewTicker(v.con.opts.Tick)
		defer tick.Stop()
		for n := 1; ctx.Err() == nil && out.err == nil; {
			select {
			case <-ctx.Done():
				return nil
			case <-grown:
				if slices.Contains(topics, liveClaims) {
					out.send(liveClaims)
				}
			case <-tick.C:
				n++
				for _, topic := range w.changedTopics(ctx, n) {
					out.send(topic)
				}
				if n%heartbeat == 0 {
					out.heartbeat()
				}
			}
		}
		return nil
	})
}

// eventStream writes server-sent events. After a failed write it does nothing.
type eventStream struct {
	w   http.ResponseWriter
	c   *http.ResponseController
	err error
}

func (s *eventStream) send(topic string) { s.put("event: change\ndata: " + topic + "\n\n") }
func (s *eventStream) heartbeat()        { s.put(":\n\n") }

func (s *eventStream) put(text string) {
	if s.err == nil {
		if _, s.err = fmt.Fprint(s.w, text); s.err == nil {
			s.err = s.c.Flush()
		}
	}
}

// topicWatcher holds the state that a stream has reported.
type topicWatcher struct {
	v       *visit
	s       store.Engine
	topics  []string
	turn    string
	waits   string // numbers of the queues
	jobs    string
	code    string
	project string
}

// pageState identifies the state that a page shows: the log's last event and the last turn.
func (v *visit) pageState() string {
	turn, _, _ := v.con.turns.Latest(v.owner())
	return fmt.Sprintf("%d.%s", v.logSeq, turn)
}

// missedTopics returns the topics that changed between the page's state and the start of the
// stream.
func (w *topicWatcher) missedTopics(moment string, seq uint64) (topics []string) {
	then, turn, ok := strings.Cut(moment, ".")
	if !ok { // the page sent no state
		return nil
	}
	if then != strconv.FormatUint(seq, 10) {
		topics = append(topics, liveClaims)
	}
	if last, _, _ := strings.Cut(w.turn, " "); last != turn && last != "" {
		topics = append(topics, liveTurns)
	}
	return slices.DeleteFunc(topics, func(t string) bool { return !slices.Contains(w.topics, t) })
}

// watchLog returns a channel that receives whenever the log has grown beyond seq. It ends
// with ctx.
func (w *topicWatcher) watchLog(ctx context.Context, seq uint64) <-chan struct{} {
	grown := make(chan struct{}, 1)
	w.v.con.background.Go(func() {
		for w.s.Wait(ctx, seq) == nil && ctx.Err() == nil {
			seq = w.s.Seq()
			select {
			case grown <- struct{}{}:
			default:
			}
		}
	})
	return grown
}

// changedTopics returns the topics that changed since the last call.
func (w *topicWatcher) changedTopics(ctx context.Context, n int) (changed []string) {
	for _, topic := range w.topics {
		different := false
		switch topic {
		case liveTurns:
			different = replace(&w.turn, w.lastTurn(ctx))
		case liveAttention:
			if t := w.v.cachedPending(0); t != nil {
				different = replace(&w.waits, fmt.Sprint(t.Review, t.Attention, t.Dead))
			}
		case liveProject:
			if n%jobTicks == 0 {
				different = replace(&w.project, w.v.projectState())
			}
		case liveCode:
			different = replace(&w.code, w.v.codeState())
		case liveJobs:
			if n%jobTicks == 0 {
				different = replace(&w.jobs, w.jobStates(ctx))
			}
		}
		if different {
			changed = append(changed, topic)
		}
	}
	return changed
}

func replace[T comparable](have *T, now T) bool {
	was := *have
	*have = now
	return was != now
}

// lastTurn identifies the newest receipt and its content, because the evaluation of its
// answer is added later.
func (w *topicWatcher) lastTurn(ctx context.Context) string {
	list, _, err := w.v.con.layer.Operator().Receipts(w.v.owner()).List(ctx, receipt.Query{Limit: 1})
	if err != nil || len(list) == 0 {
		return ""
	}
	return fmt.Sprintln(list[0].Turn, list[0].At.UnixNano(), len(list[0].Used), len(list[0].Taint))
}

func (w *topicWatcher) jobStates(ctx context.Context) string {
	list, err := w.v.con.layer.Operator().Jobs(w.v.owner()).List(ctx)
	if err != nil {
		return ""
	}
	n := map[string]int{}
	for i := range list {
		n[string(list[i].State)]++
	}
	return fmt.Sprint(n)
}
