package middleware_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/budgeter/tokens"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/middleware"
)

// These tests protect the provider's prompt cache. Other products put a block at
// the front of the prompt, or a different one into every request, so that each
// turn costs as much as without a cache.

// knowing opens a layer that knows what the script's layer knows.
func knowing(t testing.TB, s script, receipts *[]ken.Receipt, change ...func(*config.Config)) *middleware.Layer {
	t.Helper()
	l := open(t, settings(change...), func(o *middleware.Options) {
		if receipts != nil {
			o.OnReceipt = func(_ context.Context, r ken.Receipt) { *receipts = append(*receipts, r) }
		}
	})
	var claims []ken.Claim
	for _, text := range s.knows {
		claims = append(claims, fact(t, "%s", text))
	}
	learn(t, l, claims...)
	return l
}

// fewItems leaves something to say for later turns.
func fewItems(c *config.Config)  { c.Knowledge.TopK = 3 }
func asMerge(c *config.Config)   { c.Injection.As = config.AsMerge }
func notSticky(c *config.Config) { c.Injection.Sticky = false }

func isBlock(msg string) bool { return budgeter.IsBlock(gjson.Get(msg, "content").String()) }

func blocks(msgs []string) (n int) {
	for _, m := range msgs {
		if isBlock(m) {
			n++
		}
	}
	return n
}

// Each request, with its blocks, is the beginning of the next one, byte for
// byte, up to the messages that the client added.
func TestPromptCacheEachRequestBeginsTheNext(t *testing.T) {
	s := loadScript(t)
	for name, change := range map[string]func(*config.Config){
		"message": func(*config.Config) {},
		"merge":   asMerge,
	} {
		t.Run(name, func(t *testing.T) {
			sent := through(t, knowing(t, s, nil, change, fewItems), "s", s.requests)
			for i := 1; i < len(sent); i++ {
				before, now := strings.Join(sent[i-1], ","), strings.Join(sent[i], ",")
				if !strings.HasPrefix(now, before+",") {
					t.Fatalf("request %d does not begin with request %d", i, i-1)
				}
			}
			if n := strings.Count(strings.Join(sent[len(sent)-1], ""), marker); n < 15 {
				t.Errorf("only %d blocks in 30 turns: the test shows little", n)
			}
		})
	}
}

// What the client sent is all there, byte for byte and in order, between the
// blocks.
func TestPromptCacheClientMessagesStay(t *testing.T) {
	s := loadScript(t)
	for i, msgs := range through(t, knowing(t, s, nil), "s", s.requests) {
		if own := slices.DeleteFunc(msgs, isBlock); !slices.Equal(own, s.requests[i]) {
			t.Fatalf("request %d: the client's messages changed", i)
		}
	}
}

// The share of input tokens served from the provider's cache is as high as
// without a layer, and much higher than with blocks that come and go. Run with
// -v for the numbers.
func TestPromptCacheShare(t *testing.T) {
	race.SkipLong(t)
	s := loadScript(t)
	count, err := tokens.Counter("o200k_base")
	if err != nil {
		t.Fatal(err)
	}
	plain := through(t, knowing(t, s, nil, notSticky), "s", s.requests)
	shares := map[string]float64{}
	for _, mode := range []struct {
		name string
		sent [][]string
	}{
		{"no layer", s.requests},
		{"sticky", through(t, knowing(t, s, nil), "s", s.requests)},
		{"sticky, merged", through(t, knowing(t, s, nil, asMerge), "s", s.requests)},
		{"a new block per request", plain},
		{"a new block at the front", toFront(plain)},
	} {
		cached, total := provider(count, mode.sent)
		shares[mode.name] = float64(cached) / float64(total)
		t.Logf("%-25s %5.1f%% of %7d input tokens cached, %6d not", mode.name, 100*shares[mode.name], total, total-cached)
	}
	sticky, none := shares["sticky"], shares["no layer"]
	if sticky < 0.93 || sticky < none-0.02 {
		t.Errorf("sticky blocks: %.3f cached; want 0.93, and at most 0.02 below the %.3f without a layer", sticky, none)
	}
	for _, other := range []string{"a new block per request", "a new block at the front"} {
		if sticky <= shares[other] {
			t.Errorf("sticky blocks: %.3f cached, no more than %.3f with %s", sticky, shares[other], other)
		}
	}
}

// provider simulates a prompt cache as providers document it. The common
// beginning with an earlier request is served from the cache, in steps of 128
// tokens, if it has at least 1,024 tokens. Messages are tokenized one by one, as
// raw JSON; tools and the chat template are left out.
func provider(count func(string) int, requests [][]string) (cached, total int) {
	const step, least = 128, 1024
	known := map[string]int{}
	size := func(text string) int {
		if _, ok := known[text]; !ok {
			known[text] = count(text)
		}
		return known[text]
	}
	for i, now := range requests {
		best := 0
		for _, before := range requests[:i] {
			n, j := 0, 0
			for j < min(len(now), len(before)) && now[j] == before[j] {
				n += size(now[j])
				j++
			}
			if j < min(len(now), len(before)) {
				n += size(common(now[j], before[j]))
			}
			best = max(best, n)
		}
		if best -= best % step; best >= least {
			cached += best
		}
		for _, m := range now {
			total += size(m)
		}
	}
	return cached, total
}

func common(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// toFront moves each request's block behind the system prompt.
func toFront(requests [][]string) [][]string {
	out := make([][]string, len(requests))
	for i, msgs := range requests {
		own := slices.DeleteFunc(slices.Clone(msgs), isBlock)
		out[i] = own
		if b := slices.IndexFunc(msgs, isBlock); b >= 0 {
			out[i] = slices.Insert(own, 1, msgs[b])
		}
	}
	return out
}

// The layer's own count of what a cache can serve agrees with the simulation.
func TestPromptCacheReceiptsCountCachedBytes(t *testing.T) {
	s := loadScript(t)
	share := func(change ...func(*config.Config)) float64 {
		var receipts []ken.Receipt
		through(t, knowing(t, s, &receipts, change...), "s", s.requests)
		var cached, total int64
		for _, r := range receipts {
			cached += r.CachedBytes
			total += r.CachedBytes + r.NewBytes
		}
		return float64(cached) / float64(total)
	}
	sticky, plain := share(), share(notSticky)
	t.Logf("sticky %.3f, not sticky %.3f", sticky, plain)
	if sticky < 0.90 || sticky <= plain {
		t.Errorf("sticky %.3f, not sticky %.3f; want at least 0.90, and more than that", sticky, plain)
	}
}

// A later turn adds only what the conversation does not hold already.
func TestPromptCacheBlocksAreDeltas(t *testing.T) {
	s := loadScript(t)
	sent := through(t, knowing(t, s, nil), "s", s.requests)
	last := strings.Join(slices.DeleteFunc(sent[len(sent)-1], func(m string) bool { return !isBlock(m) }), "\n")
	held := 0
	for _, text := range s.knows {
		n := strings.Count(last, text)
		if n > 1 {
			t.Errorf("%d times in the context: %s", n, text)
		}
		held += n
	}
	if held < 15 {
		t.Errorf("only %d of %d facts came up in 30 turns: the test shows little", held, len(s.knows))
	}
}

// All requests of a tool loop have the block of the turn's first request.
func TestPromptCacheToolLoopReusesTheBlock(t *testing.T) {
	s := loadScript(t)
	var receipts []ken.Receipt
	through(t, knowing(t, s, &receipts), "s", s.requests)
	for i, r := range receipts {
		if opens := slices.Contains(s.turns, i); r.Reused == opens {
			t.Errorf("request %d: reused is %t", i, r.Reused)
		} else if !opens && r.Block != receipts[i-1].Block {
			t.Errorf("request %d: another block than before in the same turn", i)
		}
	}
}

// Sending a turn again, for another answer, sends the same bytes.
func TestPromptCacheRegenerateReusesTheBlock(t *testing.T) {
	s := loadScript(t)
	l := knowing(t, s, nil)
	first := through(t, l, "s", s.requests[:1])
	learn(t, l, fact(t, "A failed payout is retried five times for the partner Nordbank, before it needs a person."))
	again := through(t, l, "s", s.requests[:1])
	if blocks(first[0]) != 1 || !slices.Equal(first[0], again[0]) {
		t.Errorf("got %q, then %q", first[0], again[0])
	}
}

// A client that drops old messages to stay within its context drops their
// blocks too, and what they held can come up again.
func TestPromptCacheDroppedMessagesTakeTheirBlocks(t *testing.T) {
	s := loadScript(t)
	l := knowing(t, s, nil)
	through(t, l, "s", s.requests)
	whole := s.requests[len(s.requests)-1]
	compacted := []string{whole[0], whole[1]} // the system prompt and the first question once more
	compacted[0] = object("role", "system", "content", "Summary of the conversation so far: payouts.")
	sent := through(t, l, "s", [][]string{compacted})[0]
	if blocks(sent) != 1 || !strings.Contains(strings.Join(sent, ""), "retried three times") {
		t.Errorf("want the one block of the new context, got %q", sent)
	}
}

// A request that was cancelled while its block was composed was never sent, so
// the next try composes it.
func TestPromptCacheCancelledTurnDoesNotStick(t *testing.T) {
	s := loadScript(t)
	l := knowing(t, s, nil)
	turn := ken.Turn{Session: "s", Messages: []ken.Message{{Role: "user", Text: "How often is a failed payout retried?"}}}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	l.Assemble(ctx, turn)
	if r := l.Assemble(context.Background(), turn).Receipt; r.Reused || r.Block == "" {
		t.Errorf("reused %t, block %q", r.Reused, r.Block)
	}
}

// A conversation that is handed to an agent with other scopes doesn't bring along
// blocks that this agent may not see.
func TestBlocksStayInTheirScopes(t *testing.T) {
	l := open(t, settings())
	secret := fact(t, "%s", retryFact)
	secret.Scope = ken.Scope{Type: ken.ScopeRepo, ID: "a"}
	learn(t, l, secret)
	turn := asked(question)
	for _, id := range []string{"a", "b"} {
		turn.Scopes = []ken.Scope{{Type: ken.ScopeRepo, ID: id}}
		a := l.Assemble(context.Background(), turn)
		if got := len(a.Insertions) > 0; got != (id == "a") {
			t.Errorf("scope %s: got %v", id, a.Insertions)
		}
		turn.Messages = append(turn.Messages, ken.Message{Role: "assistant", Text: "Three times."}, ken.Message{Role: "user", Text: "thanks!"})
	}
}

// script is testdata/replay.txt: the claims, and the requests that a client
// sends in a conversation, each as its raw messages.
type script struct {
	knows    []string
	requests [][]string
	turns    []int // where each turn's first request is, in requests
}

const systemPrompt = `You are the coding agent of the payments team. Work in small steps: read before you edit, run the tests of ` +
	`every package that you touched, and say in one or two sentences what you found. Never print secrets, and never change ` +
	`production data without being asked. Amounts are integers. Answer in the language of the question.`

func loadScript(t testing.TB) script {
	t.Helper()
	f, err := os.Open("testdata/replay.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var s script
	msgs := []string{object("role", "system", "content", strings.Repeat(systemPrompt+"\n", 6))}
	request := func() { s.requests = append(s.requests, msgs[:len(msgs):len(msgs)]) }
	call := ""
	for lines := bufio.NewScanner(f); lines.Scan(); {
		kind, text, _ := strings.Cut(lines.Text(), " ")
		text = strings.TrimSpace(text)
		switch kind {
		case "know":
			s.knows = append(s.knows, text)
		case "user":
			msgs = append(msgs, object("role", "user", "content", text))
			s.turns = append(s.turns, len(s.requests))
			request()
		case "call":
			name, args, _ := strings.Cut(text, " ")
			call = fmt.Sprintf("call_%d", len(msgs))
			msgs = append(msgs, `{"role":"assistant","content":null,"tool_calls":[{"id":"`+call+`","type":"function","function":`+
				object("name", name, "arguments", args)+`}]}`)
		case "result":
			msgs = append(msgs, object("role", "tool", "tool_call_id", call, "content", listing(text)))
			request()
		case "assistant":
			msgs = append(msgs, object("role", "assistant", "content", text))
		}
	}
	if len(s.turns) != 30 || len(s.requests) < 50 {
		t.Fatalf("the script has %d turns and %d requests", len(s.turns), len(s.requests))
	}
	return s
}

// listing is a tool's output: "HEAD LINES" becomes the head and that many lines.
func listing(text string) string {
	head, lines := text, 0
	if i := strings.LastIndexByte(text, ' '); i >= 0 {
		head = text[:i]
		fmt.Sscan(text[i:], &lines)
	}
	var b strings.Builder
	b.WriteString(head)
	for i := range lines {
		fmt.Fprintf(&b, "\n%4d\tif err := step%d(ctx, %q); err != nil { return err }", i+1, i*7%13, head)
	}
	return b.String()
}

// object is a JSON object in the order given.
func object(kv ...string) string {
	var b strings.Builder
	for i := 0; i < len(kv); i += 2 {
		k, _ := json.Marshal(kv[i])
		v, _ := json.Marshal(kv[i+1])
		fmt.Fprintf(&b, `,%s:%s`, k, v)
	}
	return "{" + b.String()[1:] + "}"
}

// chatBody returns a request with fields that a struct would lose.
func chatBody(msgs []string) string {
	return `{"model":"gpt-4o","temperature":0,"stop":"END","messages":[` + strings.Join(msgs, ",") + `],"seed":12345678901234567890}`
}

// through sends requests through a layer's transport, as one client does in a
// session, and returns the raw messages that reached the server.
func through(t testing.TB, l *middleware.Layer, session string, requests [][]string) [][]string {
	t.Helper()
	var sent [][]string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		sent = append(sent, rawMessages(body))
	}))
	defer server.Close()
	client := &http.Client{Transport: l.Transport(server.Client().Transport, ken.Turn{Session: session})}
	for _, msgs := range requests {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, server.URL+"/v1/chat/completions", strings.NewReader(chatBody(msgs)))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	return sent
}

func rawMessages(body []byte) (msgs []string) {
	for _, m := range gjson.GetBytes(body, "messages").Array() {
		msgs = append(msgs, m.Raw)
	}
	return msgs
}
