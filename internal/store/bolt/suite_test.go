package bolt_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store/storetest"
)

// TestMain is also the child of the tests that need a second process.
func TestMain(m *testing.M) {
	if role := os.Getenv("KEN_TEST_CHILD"); role != "" {
		children[role]()
		return
	}
	goleak.VerifyTestMain(m)
}

// children are what the test binary does as another process.
var children = map[string]func(){
	"writer":     childWriter,
	"holder":     childHolder,
	"full":       childFullDisk,
	"opener":     childOpener,
	"shelf":      childShelf,
	"changer":    childChanger,
	"fullchange": childFullChange,
}

// suiteEmbedder is the suite's embedding function as an embedder.
type suiteEmbedder struct{ o storetest.Options }

func (e suiteEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return e.o.Embed(ctx, texts)
}
func (suiteEmbedder) Model() string { return "test:suite" }
func (e suiteEmbedder) Dim() int    { return e.o.Dim }
func (suiteEmbedder) Local() bool   { return true }

func openSuite(t *testing.T, o storetest.Options) *bolt.Store {
	t.Helper()
	b := bolt.Options{Owner: o.Owner, Now: o.Now, NewID: o.NewID, Assign: o.Assign, NoSync: true}
	if o.Embed != nil {
		b.Embedder = suiteEmbedder{o}
	}
	return open(t, t.TempDir(), b)
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, o storetest.Options) ken.Store { return openSuite(t, o) })
}

func TestProjections(t *testing.T) { storetest.RunProjections(t, openSuite) }

// open opens a store that is verified and closed when the test ends: every test
// checks the whole log.
func open(t testing.TB, dir string, o bolt.Options) *bolt.Store {
	t.Helper()
	s, err := bolt.Open(context.Background(), dir, o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

func closeStore(t testing.TB, s *bolt.Store) {
	t.Helper()
	if _, err := s.VerifyLog(context.Background()); err != nil && ken.Hint(err) != "Open it again." {
		t.Errorf("verify log: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func claim(t testing.TB, text string) ken.Claim {
	t.Helper()
	c, err := ken.NewClaim(text, ken.FromUserStatement("session", "message"))
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	return c
}

func write(t testing.TB, s ken.Store, c ken.Claim) string {
	t.Helper()
	id, err := s.WriteClaim(context.Background(), c)
	if err != nil {
		t.Fatalf("write: %v", err)
	}
	return id
}

func texts(t testing.TB, s ken.Store, question string) []string {
	t.Helper()
	got, err := s.Query(context.Background(), ken.Query{Question: question, Limit: 100})
	if err != nil {
		t.Fatalf("query: %v", err)
	}
	var out []string
	for _, c := range got {
		out = append(out, c.Text)
	}
	return out
}

// child prepares this test binary to run again in a role.
func child(t testing.TB, role, dir string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "KEN_TEST_CHILD="+role, "KEN_TEST_DIR="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}
