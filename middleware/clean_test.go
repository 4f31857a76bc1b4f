package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/middleware"
)

// randoms are put together so that no scanner takes this file for a leak.
const random48 = "Q7Rz1mXv8KpLw" + "3NcYh6BdJg5FsAe2Ui9Ok4" + "Zx0VbQ8nMa6Hs"

// typed are messages as people send them, each with one secret where it says %s.
var typed = []struct{ text, secret string }{
	{"My .env has DB_PASSWORD='%s' and login fails with ERR_LOGIN_42.", "Wq8!" + "vNqsTr4zz"},
	{"This answers 401: curl -u deploy:%s https://ci.example.org/build", "Zr7k" + "99aXq"},
	{"Authorization: Bearer %s is refused by the Ledger API.", "tk" + random48},
	{"Why does postgres://app:%s@db.internal:5432/orders time out?", "v3ry" + "-L0ng9"},
	{"AccountName=acme;AccountKey=%s==;EndpointSuffix=core.windows.net fails.", random48 + random48[:38]},
	{"AWS_SECRET_ACCESS_KEY=%s is what I exported.", random48[:40]},
	{"mysql -u root -p%s orders says Access denied for user.", "Gk2w" + "Xy77"},
	{"-----BEGIN RSA PRIVATE KEY-----\n%s\n-----END RSA PRIVATE KEY-----\nis this key valid?", "MIIE" + random48},
}

// What a user types as a secret is nowhere but in the request itself: not in what a turn
// is remembered by, not in what the embedding service is asked, nor in what is searched for.
func TestSecretsInATurnGoNowhere(t *testing.T) {
	var mu sync.Mutex
	var sent bytes.Buffer
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		sent.Write(body)
		mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		vectors(8, nil)(w, r)
	}))
	t.Cleanup(srv.Close)
	root := t.TempDir()
	l, err := middleware.Open(context.Background(), middleware.Options{Root: root, Foreground: true, Strict: true,
		Config: settings(patient, func(c *config.Config) {
			c.Knowledge.EmbedModel, c.Knowledge.EmbedBaseURL, c.Middleware.Events = "m", srv.URL, true
		})})
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	t.Cleanup(func() {
		if !closed {
			_ = l.Close()
		}
	})
	learn(t, l, fact(t, about))
	given := &bytes.Buffer{}
	show := func(values ...any) {
		for _, v := range values {
			if err := json.NewEncoder(given).Encode(v); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, tt := range typed {
		text := strings.ReplaceAll(tt.text, "%s", tt.secret)
		user := ken.Message{Role: "user", Text: text, Parts: []ken.Part{{Type: "text", Text: text}}}
		called := []ken.Message{user,
			{Role: "assistant", Text: "Let me look.", ToolCalls: []ken.ToolCall{{ID: "c", Name: "shell", Arguments: `{"cmd":` + quoted(text) + `}`}}},
			{Role: "tool", ToolCallID: "c", Text: text}, {Role: "assistant", Text: "I read " + text}, user}
		for _, msgs := range [][]ken.Message{{user}, called} {
			turn := ken.Turn{Session: "s" + strconv.Itoa(i), Messages: msgs}
			a := l.Assemble(t.Context(), turn)
			if msgs[0].Text != text || msgs[0].Parts[0].Text != text {
				t.Errorf("the request was changed: %+v", msgs[0])
			}
			tried, err := l.Trial(t.Context(), turn, l.Config())
			if err != nil {
				t.Fatal(err)
			}
			show(a.Receipt, a.Receipt.Signals.Question, tried.Receipt, tried.Receipt.Signals.Question)
			l.Answered(turn, ken.Message{Role: "assistant", Text: "So it is " + text})
		}
		r, err := l.Recall(t.Context(), middleware.RecallQuery{Question: text})
		if err != nil {
			t.Fatal(err)
		}
		show(r, r.Signals, r.Signals.Question)
	}
	if err := l.Recorded(t.Context()); err != nil {
		t.Fatal(err)
	}
	closed = true
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if sent.Len() == 0 {
		t.Error("nothing was asked of the embedding service")
	}
	disk := &bytes.Buffer{}
	if err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		disk.Write(b)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(disk.Bytes(), []byte("ERR_LOGIN_42")) {
		t.Error("the turns left nothing on the disk: the test would see no secret")
	}
	for _, tt := range typed {
		secret := tt.secret[:8] // where it is cut into words, a part counts too
		for where, b := range map[string][]byte{"the disk": disk.Bytes(), "the embedding service": sent.Bytes(), "the receipts": given.Bytes()} {
			if bytes.Contains(bytes.ToLower(b), []byte(strings.ToLower(secret))) {
				t.Errorf("%q is in %s", secret, where)
			}
		}
	}
}
