package console_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/console"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
)

// scripted is a model that notes what it is asked.
type scripted struct {
	mu    sync.Mutex
	calls [][]ken.Message
	err   error
}

func (a *scripted) model() *console.Model {
	return &console.Model{Name: "gpt-test", Ask: func(_ context.Context, messages []ken.Message) (console.ModelAnswer, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.calls = append(a.calls, messages)
		text := "I do not know."
		for _, m := range messages {
			if strings.Contains(m.Text, "port 8071") {
				text = "<think>the block says so</think>On port 8071. <b>"
			}
		}
		return console.ModelAnswer{Text: text, Input: 100, Output: 5}, a.err
	}}
}

// After the button is pressed, the same question is answered with the block and without it, and
// both calls are counted.
func TestPlayground(t *testing.T) {
	var up scripted
	used, err := usage.Open("", usage.Options{Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := used.Close(); err != nil {
			t.Error(err)
		}
	})
	c := open(t, bare, patient, func(s *setup) {
		s.console.Model, s.console.Usage = up.model(), used
		s.config.Gateway.Prices = []config.GatewayPrice{{Model: "gpt-test", Input: 1, Output: 2}}
	})
	c.learn("", "The ledger listens on port 8071.")
	path := "/console/try?message=" + url.QueryEscape("On which port does the ledger listen? My key is ghp_"+secretLetters) + "&system=Be+brief."
	_, p := get(t, c, path)
	if len(up.calls) != 0 || !p.has("#answers button") {
		t.Fatalf("%d calls, %s", len(up.calls), p.text())
	}
	status, p := submit(t, c, p, "#answers form", nil)
	if status != http.StatusOK || len(up.calls) != 2 {
		t.Fatalf("%d, %d calls: %s", status, len(up.calls), p.text())
	}
	p.says("With the block", "Without it", "On port 8071. <b>", "I do not know.", "100 tokens in, 5 out")
	p.hides("the block says so", "8071. <b>")
	blocks := 0
	for _, call := range up.calls {
		all := ""
		for _, m := range call {
			all += m.Role + ": " + m.Text + "\n"
		}
		if strings.Contains(all, "[Pipeline Knowledge]") {
			blocks++
		}
		if !strings.HasPrefix(all, "system: Be brief.") || !strings.Contains(all, "On which port") || strings.Contains(all, secretLetters) {
			t.Errorf("the model was asked %s", all)
		}
	}
	rows, err := used.Rows(1)
	if blocks != 1 || err != nil || len(rows) != 1 || rows[0].Requests != 2 || rows[0].Input != 200 || rows[0].Key != operator.Name || rows[0].Cost == 0 {
		t.Errorf("%d blocks; usage %+v, %v", blocks, rows, err)
	}
	up.err = &ken.Error{Code: ken.CodeUnavailable, Msg: "the model is away", Try: "Ask again."}
	_, p = submit(t, c, p, "#answers form", nil)
	p.says("the model is away", "Ask again.")
}

// A visitor who may not operate, or has limits, can't ask the model. Without a model, no
// visitor can.
func TestWhoAsksTheModel(t *testing.T) {
	var up scripted
	c := open(t, bare, patient, func(s *setup) { s.console.Model = up.model() })
	limited := operator
	limited.RequestsPerDay = 5
	path := "/console/try?message=hello"
	for _, who := range []access.Principal{reader, dev, limited} {
		if _, p := get(t, c, path, who); p.has("#answers") {
			t.Errorf("%s is shown the button", who.Name)
		}
		if status, _ := post(t, c, path, nil, who); status != http.StatusForbidden {
			t.Errorf("%s asks: %d", who.Name, status)
		}
	}
	without := open(t, bare)
	if status, _ := post(t, without, path, nil); status != http.StatusForbidden || len(up.calls) > 0 {
		t.Errorf("without a model: %d, %d calls", status, len(up.calls))
	}
}

// secretLetters make a token of GitHub's form, which is no token.
const secretLetters = "x7Kq2mVbN8sTfRw4ZyLcJ6hGd1PaXe9UoQ3i"
