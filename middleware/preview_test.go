package middleware_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/middleware"
)

// preview is what a request is counted as.
func preview(t *testing.T, l *middleware.Layer, d dialect, body string, who func(*wire.Request) ken.Turn) string {
	t.Helper()
	b, err := l.Operator().Preview(context.Background(), d.Dialect, []byte(body), who)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The preview equals the request that is sent. For a new turn, its next step and a
// later turn, it has the bytes of the model call that follows, however often it is
// requested.
func TestPreviewIsWhatIsSent(t *testing.T) {
	for name, who := range map[string]func(*wire.Request) ken.Turn{
		"named":   func(*wire.Request) ken.Turn { return ken.Turn{Session: "s"} },
		"guessed": func(r *wire.Request) ken.Turn { return ken.Turn{Session: wire.SessionOf("", "", r)} },
		"none":    nil,
	} {
		for _, d := range testDialects {
			t.Run(name+"/"+d.String(), func(t *testing.T) {
				receipts := 0
				l := open(t, settings(), func(o *middleware.Options) { o.OnReceipt = func(context.Context, ken.Receipt) { receipts++ } })
				learn(t, l, fact(t, "The payments service retries three times."))
				m := serveModel(t, d, false, "Three times.")
				opening := []string{d.user("How often does the payments service retry?")}
				loop := append(opening[:1:1], d.call, d.result)
				later := append(append(opening[:1:1], d.said("Three times.")...), d.user("Which port does the ledger service listen on?"))
				for i, items := range [][]string{opening, loop, later} {
					if i == 2 {
						learn(t, l, fact(t, "The ledger service listens on port 7443."))
					}
					body := d.body(d.system, items...)
					first, second := preview(t, l, d, body, who), preview(t, l, d, body, who)
					if receipts != i {
						t.Fatalf("%d receipts before call %d", receipts, i)
					}
					x, err := l.Operator().Begin(context.Background(), d.Dialect, []byte(body), who)
					if err != nil {
						t.Fatal(err)
					}
					if first != string(x.Body) || second != first || strings.Count(first, "[Pipeline Knowledge]") != []int{1, 1, 2}[i] {
						t.Errorf("call %d was counted as\n%s\nand sent as\n%s", i, first, x.Body)
					}
					resp := send(t, m, x)
					x.Listen(resp, nil)
					if _, err := io.Copy(io.Discard, resp.Body); err != nil {
						t.Fatal(err)
					}
					resp.Body.Close()
				}
			})
		}
	}
}

// Counting leaves no session, no receipt, and no turn that a later one would reuse.
func TestPreviewLeavesNothing(t *testing.T) {
	l := open(t, settings())
	learn(t, l, fact(t, "The payments service retries three times."))
	d := testDialects[2]
	body := d.body("", d.user("How often does the payments service retry?"))
	who := func(*wire.Request) ken.Turn { return ken.Turn{Session: "s"} }
	preview(t, l, d, body, who)
	if err := l.Operator().Recorded(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Operator().Journal("").Info(context.Background(), "s"); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("its session: %v", err)
	}
	if kept, _, err := l.Operator().Receipts("").List(context.Background(), receipt.Query{}); err != nil || len(kept) > 0 {
		t.Errorf("receipts %+v, %v", kept, err)
	}
	if x := begin(t, l, d, body, ken.Turn{Session: "s"}); x.Receipt.Reused {
		t.Error("the call takes up what was counted")
	}
	if _, err := l.Operator().Preview(context.Background(), d.Dialect, []byte(`{"messages":7}`), nil); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("what is no request: %v", err)
	}
}

// A dry run counts what it sends.
func TestPreviewOfADryRun(t *testing.T) {
	l := open(t, settings(func(c *config.Config) { c.Middleware.Inject = false }))
	learn(t, l, fact(t, "The payments service retries three times."))
	body := testDialects[0].body("", testDialects[0].user("How often does the payments service retry?"))
	if got := preview(t, l, testDialects[0], body, nil); got != body {
		t.Errorf("it is counted as %s", got)
	}
}

// If a question got nothing and is asked again, it is counted with the present knowledge,
// like the call.
func TestPreviewOfAQuestionThatIsAskedAgain(t *testing.T) {
	l, d := open(t, settings()), testDialects[0]
	who := func(*wire.Request) ken.Turn { return ken.Turn{Session: "s"} }
	body := d.body("", d.user("How often does the payments service retry?"))
	if _, err := l.Operator().Begin(t.Context(), d.Dialect, []byte(body), who); err != nil {
		t.Fatal(err)
	}
	learn(t, l, fact(t, "The payments service retries three times."))
	counted := preview(t, l, d, body, who)
	x, err := l.Operator().Begin(t.Context(), d.Dialect, []byte(body), who)
	if err != nil {
		t.Fatal(err)
	}
	if counted != string(x.Body) || !strings.Contains(counted, "three times") {
		t.Errorf("counted as\n%s\nand sent as\n%s", counted, x.Body)
	}
}
