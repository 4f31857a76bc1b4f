package builtin_test

import (
	"testing"

	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/builtin"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/embed/table"
)

func open(t testing.TB) *table.Model {
	t.Helper()
	m, err := builtin.Open()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSuite(t *testing.T) {
	embedtest.Run(t, func(t *testing.T) embed.Embedder { return open(t) })
}

func TestOpen(t *testing.T) {
	m := open(t)
	if m != open(t) {
		t.Error("opened twice, two models")
	}
	if m.Dim() != 256 || m.Size() > 8_000_000 || m.Info().Licence == "" || m.Info().Recipe == "" {
		t.Errorf("%d dimensions, %d bytes, %+v", m.Dim(), m.Size(), m.Info())
	}
}

// A question is nearer to its answer than to texts that only share its subject or some
// words.
func TestMeaning(t *testing.T) {
	m := open(t)
	for _, tt := range []struct{ query, right, wrong string }{
		{"return the name of the user", "func getUserName() string", "func deleteFile(path string) error"},
		{"how do I remove a directory", "rmdir deletes an empty folder", "mkdir creates a folder"},
		{"kill a process", "terminate a running program by its pid", "start a program in the background"},
		{"When did Ana go to the doctor?", "Ana: The physician at the clinic looked at my knee yesterday.", "Ana: I painted the kitchen yesterday."},
		{"python convert list to string", "def join(items): return ','.join(str(i) for i in items)", "def connect(host, port): return socket.create_connection((host, port))"},
		{"how is a session resumed after a crash", "replay the log on start and continue where it ended", "the logo is drawn at the start page"},
		{"Where does Ana work?", "Ana: My job at the hospital is hard but I love it.", "Ana: My favourite song is on the radio."},
		{"tests are flaky", "a race makes the suite fail now and then", "the pastry is crisp and full of butter"},
		{"increase the timeout", "raise the deadline of a request to thirty seconds", "decrease the number of workers"},
		{"What does Ana do in her free time?", "Ana: On weekends I go hiking and I paint.", "Ana: The parcel arrives on Monday."},
	} {
		q, right, wrong := m.EmbedQuery(tt.query, nil), m.EmbedQuery(tt.right, nil), m.EmbedQuery(tt.wrong, nil)
		var r, w float64
		for i, x := range q {
			r += float64(x * right[i])
			w += float64(x * wrong[i])
		}
		t.Logf("%.2f %.2f  %s", r, w, tt.query)
		if r <= w {
			t.Errorf("%q is %.2f near %q and %.2f near %q", tt.query, r, tt.right, w, tt.wrong)
		}
	}
}

// Most running words of plain English and of code are tokens.
func TestCoverage(t *testing.T) {
	c := open(t).Coverage("I moved to Boston in 2019 because the company, which makes medical software, offered me a job. " +
		"func ReadFile(name string) ([]byte, error) returns the contents of the named file; errors.Is(err, fs.ErrNotExist)")
	if c.Unknown > 0 || c.Cut*10 > c.Words {
		t.Errorf("%+v", c)
	}
}

func BenchmarkQuery(b *testing.B) {
	m := open(b)
	for b.Loop() {
		m.EmbedQuery("how do I remove a directory and everything in it", nil)
	}
}
