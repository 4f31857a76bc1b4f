package middleware_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/middleware/goopenai"
)

// modelServer answers chat requests and keeps what it was sent.
type modelServer struct {
	*httptest.Server
	mu       sync.Mutex
	answers  []string // in turn; the last one stays
	requests [][]byte
	gzip     bool
	hold     chan struct{} // a stream waits for it after its first piece
}

func serve(t *testing.T, answers ...string) *modelServer {
	p := &modelServer{answers: answers}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *modelServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	p.requests = append(p.requests, body)
	answer := p.answers[0]
	if len(p.answers) > 1 {
		p.answers = p.answers[1:]
	}
	p.mu.Unlock()
	var req struct{ Stream bool }
	_ = json.Unmarshal(body, &req)
	if req.Stream {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, streamed(answer)[0])
		w.(http.Flusher).Flush()
		if p.hold != nil {
			select {
			case <-p.hold:
			case <-r.Context().Done():
				return
			}
		}
		fmt.Fprint(w, strings.Join(streamed(answer)[1:], ""))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if p.gzip {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, whole(answer))
		_ = z.Close()
		return
	}
	fmt.Fprint(w, whole(answer))
}

// whole is an answer as one object, with unusual fields and spaces.
func whole(text string) string {
	b, _ := json.Marshal(text)
	return `{"id":"x",  "object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":` + string(b) + `},"finish_reason":"stop"}],"vendor":{"a":1.0}}` + "\n"
}

// streamed is an answer as events, a word each.
func streamed(text string) (out []string) {
	for _, word := range strings.SplitAfter(text, " ") {
		b, _ := json.Marshal(word)
		out = append(out, `data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":`+string(b)+`}}]}`+"\n\n")
	}
	return append(out, "data: [DONE]\n\n")
}

// chat is a program with a separate conversation over a Transport.
type chat struct {
	t    *testing.T
	http *http.Client
	url  string
	msgs []map[string]any
}

func converse(t *testing.T, l *middleware.Layer, p *modelServer, turn ken.Turn) *chat {
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	return &chat{t: t, http: &http.Client{Transport: l.Transport(base, turn)}, url: p.URL + "/v1/chat/completions"}
}

// ask sends the conversation with one more message and returns the unchanged
// body of the answer.
func (c *chat) ask(text string, stream bool) string {
	c.t.Helper()
	c.msgs = append(c.msgs, map[string]any{"role": "user", "content": text})
	body, _ := json.Marshal(map[string]any{"model": "m", "stream": stream, "messages": c.msgs})
	resp, err := c.http.Do(chatRequest(c.t, c.url, bytes.NewReader(body)))
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(got)
}

func (c *chat) answered(text string) {
	c.msgs = append(c.msgs, map[string]any{"role": "assistant", "content": text})
}

// journaledTexts returns the messages in a session's journal, each with its role.
func journaledTexts(t *testing.T, l *middleware.Layer, owner, id string) (out []string) {
	t.Helper()
	if err := l.End(t.Context(), owner, "no such session"); err != nil { // waits for the journal
		t.Fatal(err)
	}
	tr, err := l.Operator().Journal(owner).Read(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range tr.Entries {
		out = append(out, e.Message.Role+": "+e.Message.Text)
	}
	return out
}

func wantSaid(t *testing.T, l *middleware.Layer, id string, want ...string) {
	t.Helper()
	if got := strings.Join(journaledTexts(t, l, "", id), "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the journal has\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// Every message of a conversation is journaled once, the last answer included,
// streamed or not, and the client reads the server's bytes.
func TestTheJournalHasEveryMessageOnce(t *testing.T) {
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprintf("stream=%v", stream), func(t *testing.T) {
			l := open(t, settings())
			learn(t, l, fact(t, "%s", retryFact))
			p := serve(t, "Three times, I think.", "Yes, five times.", "Bye.")
			c := converse(t, l, p, ken.Turn{Session: "s1"})
			for i, text := range []string{question, "Is it five times by now?", "Thanks!"} {
				answer := []string{"Three times, I think.", "Yes, five times.", "Bye."}[i]
				want := whole(answer)
				if stream {
					want = strings.Join(streamed(answer), "")
				}
				if got := c.ask(text, stream); got != want {
					t.Errorf("the client read %q, the server sent %q", got, want)
				}
				c.answered(answer)
			}
			if !bytes.Contains(p.requests[0], []byte("Pipeline Knowledge")) {
				t.Errorf("no block in %s", p.requests[0])
			}
			wantSaid(t, l, "s1", "user: "+question, "assistant: Three times, I think.", "user: Is it five times by now?", "assistant: Yes, five times.",
				"user: Thanks!", "assistant: Bye.")
		})
	}
}

// go-openai over a Transport, and wrapped.
func TestTheJournalOfGoOpenAI(t *testing.T) {
	l := open(t, settings())
	p := serve(t, "Three times.")
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	o := openai.DefaultConfig("")
	o.BaseURL, o.HTTPClient = p.URL+"/v1", &http.Client{Transport: l.Transport(base, ken.Turn{Session: "t"})}
	req := openai.ChatCompletionRequest{Model: "m", Messages: []openai.ChatCompletionMessage{{Role: "user", Content: question}}}
	stream, err := openai.NewClientWithConfig(o).CreateChatCompletionStream(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = stream.Recv()
	}
	if err != io.EOF {
		t.Fatal(err)
	}
	if err := stream.Close(); err != nil {
		t.Fatal(err)
	}
	wantSaid(t, l, "t", "user: "+question, "assistant: Three times.")
	o.HTTPClient = &http.Client{Transport: base}
	if _, err := goopenai.Wrap(l, openai.NewClientWithConfig(o), ken.Turn{Session: "w"}).CreateChatCompletion(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	wantSaid(t, l, "w", "user: "+question, "assistant: Three times.")
}

// A client that hangs up in the middle of a stream got what it got.
func TestAClientThatHangsUp(t *testing.T) {
	l := open(t, settings())
	p := serve(t, "Three times, and then some.")
	p.hold = make(chan struct{})
	c := converse(t, l, p, ken.Turn{Session: "s1"})
	body, _ := json.Marshal(map[string]any{"model": "m", "stream": true, "messages": []map[string]string{{"role": "user", "content": question}}})
	resp, err := c.http.Do(chatRequest(c.t, c.url, bytes.NewReader(body)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, len(streamed("Three times, and then some.")[0]))); err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	close(p.hold)
	wantSaid(t, l, "s1", "user: "+question, "assistant: Three")
}

// A client that asked for gzip gets gzip, byte for byte, and the journal the text.
func TestCompressedAnswers(t *testing.T) {
	l := open(t, settings())
	p := serve(t, "Three times.")
	p.gzip = true
	base := &http.Transport{DisableCompression: true}
	t.Cleanup(base.CloseIdleConnections)
	body := `{"model":"m","messages":[{"role":"user","content":"How often?"}]}`
	read := func(rt http.RoundTripper) []byte {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL+"/v1/chat/completions", strings.NewReader(body))
		req.Header.Set("Accept-Encoding", "gzip")
		resp, err := rt.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil || resp.Header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("%v, %v", resp.Header, err)
		}
		return b
	}
	if with, without := read(l.Transport(base, ken.Turn{Session: "s1"})), read(base); !bytes.Equal(with, without) {
		t.Errorf("%q, want %q", with, without)
	}
	wantSaid(t, l, "s1", "user: How often?", "assistant: Three times.")
}

// Other paths, failures and incognito turns leave nothing.
func TestWhatIsNotJournaled(t *testing.T) {
	l := open(t, settings())
	p := serve(t, "Three times.")
	c := converse(t, l, p, ken.Turn{Incognito: true})
	c.ask(question, false)
	c = converse(t, l, p, ken.Turn{Session: "s1"})
	c.url = p.URL + "/v1/embeddings"
	c.ask(question, false)
	list, err := l.Operator().Journal("").List(t.Context())
	if err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// Switches of a session's end.
func TestSessionSwitches(t *testing.T) {
	for name, tt := range map[string]struct {
		change            func(*config.Config)
		journal, harvests bool
	}{
		"all on":     {func(*config.Config) {}, true, true},
		"no journal": {func(c *config.Config) { c.Middleware.Journal = false }, false, false},
		"no harvest": {func(c *config.Config) { c.Middleware.Harvest = false }, true, false},
		"nothing":    {func(c *config.Config) { c.Middleware.Knowledge = false }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := open(t, settings(tt.change))
			c := converse(t, l, serve(t, "Noted."), ken.Turn{Session: "s1"})
			c.ask("Remember that deploys happen on Tuesdays after 14:00.", false)
			if err := l.End(t.Context(), "", "s1"); err != nil {
				t.Fatal(err)
			}
			report, err := l.Harvest(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := l.Operator().Journal("").Info(t.Context(), "s1"); (err == nil) != tt.journal {
				t.Errorf("journal: %v", err)
			}
			if (report.Done == 1) != tt.harvests {
				t.Errorf("%+v", report)
			}
		})
	}
}

// What a dry run composes was never before the model, so the model's words on it
// are its own.
func TestADryRunInjectsNothing(t *testing.T) {
	l := open(t, settings(func(c *config.Config) { c.Middleware.Inject = false }))
	learn(t, l, fact(t, "%s", retryFact))
	c := converse(t, l, serve(t, "Three times."), ken.Turn{Session: "s1"})
	c.ask(question, false)
	journaledTexts(t, l, "", "s1")
	if tr, err := l.Operator().Journal("").Read(t.Context(), "s1"); err != nil || len(tr.Injected) != 0 {
		t.Errorf("%+v, %v", tr.Injected, err)
	}
}

// Owners share nothing, not even at the end of a session: neither the journal
// nor learned claims, through any leg.
func TestOwnersNeverMixAtASessionsEnd(t *testing.T) {
	l := open(t, settings())
	p := serve(t, "Noted.")
	ada := converse(t, l, p, ken.Turn{Owner: "ada", Session: "s1"})
	ada.ask("Remember that deploys of the ledger happen on Tuesdays after 14:00. I prefer tabs over spaces.", false)
	bob := converse(t, l, p, ken.Turn{Owner: "bob", Session: "s1"})
	bob.ask("When do deploys of the ledger happen?", false)
	for _, owner := range []string{"ada", "bob"} {
		if err := l.End(t.Context(), owner, "s1"); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Harvest(t.Context(), owner); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range journaledTexts(t, l, "bob", "s1") {
		if strings.Contains(text, "Tuesdays") {
			t.Errorf("bob's journal has %q", text)
		}
	}
	for _, question := range []string{"When do deploys of the ledger happen?", "Tabs or spaces?", "What happened in earlier sessions?"} {
		for _, owner := range []string{"bob", "default"} {
			turn := asked(question)
			turn.Owner, turn.Session = owner, "s2"
			if r := l.Assemble(t.Context(), turn).Receipt; strings.Contains(r.Block, "Tuesdays") || strings.Contains(r.Block, "tabs") {
				t.Errorf("%s is told %s", owner, r.Block)
			}
		}
	}
	turn := asked("When do deploys of the ledger happen?")
	turn.Owner = "ada"
	if r := l.Assemble(t.Context(), turn).Receipt; !strings.Contains(r.Block, "Tuesdays") {
		t.Errorf("ada is not told: %s", r.Block)
	}
}

// openWithin opens a layer over a folder.
func openWithin(t *testing.T, root string, change ...func(*middleware.Options)) *middleware.Layer {
	t.Helper()
	return open(t, settings(), append([]func(*middleware.Options){func(o *middleware.Options) { o.Root = root }}, change...)...)
}

// Closing a layer ends its sessions and harvests them; the next start knows.
func TestCloseHarvestsAndTheNextStartKnows(t *testing.T) {
	root := t.TempDir()
	l := openWithin(t, root)
	c := converse(t, l, serve(t, "Noted."), ken.Turn{Session: "s1"})
	c.ask("Remember that deploys of the ledger happen on Tuesdays after 14:00.", false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = openWithin(t, root)
	info, err := l.Operator().Journal("").Info(t.Context(), "s1")
	if err != nil || info.State != session.Harvested || info.Reason != session.Shutdown || info.Outcome.Episode == "" {
		t.Errorf("%+v, %v", info, err)
	}
	if r := l.Assemble(t.Context(), asked("When do deploys of the ledger happen?")).Receipt; !strings.Contains(r.Block, "Tuesdays") {
		t.Errorf("block %s", r.Block)
	}
}

// tick is a clock that tests set.
type tick struct {
	mu sync.Mutex
	at time.Time
}

func (c *tick) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *tick) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// A session is over when there was no message for session.idle.
func TestIdleSessionsAreHarvested(t *testing.T) {
	clock := &tick{at: monday}
	l := openWithin(t, t.TempDir(), func(o *middleware.Options) { o.Now = clock.now })
	c := converse(t, l, serve(t, "Noted."), ken.Turn{Session: "s1"})
	c.ask("Remember that deploys happen on Tuesdays after 14:00.", false)
	for _, want := range []int{0, 0, 1, 0} {
		report, err := l.Harvest(t.Context(), "")
		if err != nil || report.Done != want {
			t.Fatalf("at %v: %+v, %v; want %d", clock.now(), report, err, want)
		}
		clock.pass(15 * time.Minute)
	}
	if info, err := l.Operator().Journal("").Info(t.Context(), "s1"); err != nil || info.Reason != session.Idle {
		t.Errorf("%+v, %v", info, err)
	}
	clock.pass(8 * 24 * time.Hour) // the grace period
	if _, err := l.Harvest(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if got := journaledTexts(t, l, "", "s1"); len(got) != 0 {
		t.Errorf("after the grace period the journal has %q", got)
	}
}

// The background of the next process harvests the sessions of a process that
// ended, for every owner, without a request.
func TestADeadProcessLeavesItsSessions(t *testing.T) {
	root := t.TempDir()
	l := openWithin(t, root)
	for _, owner := range []string{"", "ada|2"} {
		s, release, err := l.Store(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		dead := session.NewJournal(s.Shelf(), session.Options{Process: "gone"})
		_, err = dead.Append(t.Context(), session.About{ID: "s1"}, []ken.Message{{Role: "user", Text: "Remember that deploys happen on Tuesdays after 14:00."}})
		release()
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	harvested := make(chan string, 64)
	l = openWithin(t, root, func(o *middleware.Options) {
		o.Foreground = false
		o.Progress = func(stage string, done, total int) {
			if stage == "harvest" && done == total {
				harvested <- stage
			}
		}
	})
	for range 2 {
		<-harvested
	}
	if err := l.Close(); err != nil { // waits for what runs
		t.Fatal(err)
	}
	l = openWithin(t, root)
	for _, owner := range []string{"", "ada|2"} {
		if info, err := l.Operator().Journal(owner).Info(t.Context(), "s1"); err != nil || info.Reason != session.Died || info.State != session.Harvested {
			t.Errorf("%q: %+v, %v", owner, info, err)
		}
	}
}

// Ending a session wakes the background.
func TestEndingASessionHarvestsItInTheBackground(t *testing.T) {
	harvested := make(chan bool, 64)
	l := openWithin(t, t.TempDir(), func(o *middleware.Options) {
		o.Foreground = false
		o.Progress = func(stage string, done, total int) {
			if stage == "harvest" && done == total {
				harvested <- true
			}
		}
	})
	c := converse(t, l, serve(t, "Noted."), ken.Turn{Session: "s1"})
	c.ask("Remember that deploys happen on Tuesdays after 14:00.", false)
	if err := l.End(t.Context(), "", "s1"); err != nil {
		t.Fatal(err)
	}
	<-harvested
}

// A program's hook gets each message once, in order. It may learn and end the
// session, and its panic has no effect.
func TestOnMessage(t *testing.T) {
	var mu sync.Mutex
	var heard []string
	var l *middleware.Layer
	l = open(t, settings(), func(o *middleware.Options) {
		o.OnMessage = func(ctx context.Context, s *middleware.Session, m middleware.Said) {
			mu.Lock()
			heard = append(heard, m.Message.Role)
			n := len(heard)
			mu.Unlock()
			switch n {
			case 1:
				panic("boom")
			case 2:
				if _, err := s.Learn(ctx, "Answers come from a hook.", []ken.Evidence{ken.FromMessage(s.Turn().Session, m.ID, "")}); err != nil {
					t.Error(err)
				}
			case 4:
				if err := l.End(ctx, "", "s1"); err != nil {
					t.Error(err)
				}
			}
		}
	})
	c := converse(t, l, serve(t, "Noted.", "Fine."), ken.Turn{Session: "s1"})
	c.ask("one", false)
	c.answered("Noted.")
	c.ask("two", false)
	journaledTexts(t, l, "", "s1")
	if got := strings.Join(heard, " "); got != "user assistant user assistant" {
		t.Errorf("heard %s", got)
	}
	if info, err := l.Operator().Journal("").Info(t.Context(), "s1"); err != nil || info.State != session.Ended {
		t.Errorf("%+v, %v", info, err)
	}
	if r := l.Assemble(t.Context(), asked("Where do answers come from, a hook?")).Receipt; !strings.Contains(r.Block, "from a hook") {
		t.Errorf("block %s", r.Block)
	}
}

// An action is in the session's event file before it is done, whatever becomes of
// it; a write without evidence shows in the attention queue.
func TestActionsAreLoggedBeforeTheyAreDone(t *testing.T) {
	l := open(t, settings(func(c *config.Config) { c.Middleware.Events = true }))
	s := l.Session(ken.Turn{Session: "s1", Branch: "b", Agent: "coder"})
	id, err := s.Learn(t.Context(), "The ledger listens on 7443.", []ken.Evidence{ken.FromUserStatement("s1", "m1")})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := s.Dispute(t.Context(), "0195616d-8c00-7000-8000-0000003f9a1c", "it is not there"); err == nil {
		t.Error("a claim that is not there was disputed")
	}
	if _, err := s.Learn(t.Context(), "Nothing backs this.", nil); err == nil {
		t.Error("a claim without evidence was written")
	}
	b, err := os.ReadFile(filepath.Join(l.Root(), l.Config().Telemetry.Events, "s1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	for line := range strings.Lines(string(b)) {
		var a session.Action
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatal(err)
		}
		if a.SessionID != "s1" || a.BranchID != "b" || a.ActorID != "coder" || strings.Contains(line, "7443") {
			t.Errorf("entry %s", line)
		}
		events = append(events, a.Event)
	}
	if got := strings.Join(events, " "); got != "knowledge.learn knowledge.verify knowledge.dispute" {
		t.Errorf("events %s", got)
	}
	st, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	items, err := attention.List(t.Context(), st, st.Shelf(), attention.Options{})
	if err != nil || len(items) != 1 || items[0].Event != attention.Rejected {
		t.Errorf("attention %+v, %v", items, err)
	}
}

// Journaling is asynchronous: while it is blocked, turns and answers go on, and
// afterwards the journal has their messages.
func TestATurnDoesNotWaitForItsJournal(t *testing.T) {
	still := make(chan struct{})
	l := open(t, settings(), func(o *middleware.Options) {
		o.OnMessage = func(context.Context, *middleware.Session, middleware.Said) { <-still }
	})
	c := converse(t, l, serve(t, "one", "two", "three"), ken.Turn{Session: "s1"})
	for _, text := range []string{"one", "two", "three"} {
		if got := c.ask("What about "+text+"?", true); !strings.Contains(got, text) {
			t.Errorf("the client read %q", got)
		}
		c.answered(text)
	}
	close(still)
	wantSaid(t, l, "s1", "user: What about one?", "assistant: one", "user: What about two?", "assistant: two", "user: What about three?", "assistant: three")
}
