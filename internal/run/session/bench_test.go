package session_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/memory"
)

// conversation is n messages of about 600 bytes: user, call, result, answer.
func conversation(n int) []ken.Message {
	filler := strings.Repeat("The retry loop waits for the timer before it asks the ledger. ", 9)
	msgs := make([]ken.Message, n)
	for i := range msgs {
		text := fmt.Sprintf("Message %d. %s", i, filler)
		switch i % 4 {
		case 0:
			msgs[i] = user(text)
		case 1:
			msgs[i] = calls(fmt.Sprint("call_", i), "bash", fmt.Sprintf(`{"command":"go test -run Test%d ./...","description":%q}`, i, filler))
		case 2:
			msgs[i] = tool(fmt.Sprint("call_", i-1), text)
		case 3:
			msgs[i] = assistant(text)
		}
	}
	return msgs
}

// BenchmarkAppendOne is one new message at the end of a conversation that the client
// sends whole.
func BenchmarkAppendOne(b *testing.B) {
	shelves := map[string]func(b *testing.B) store.Shelf{
		"memory": func(*testing.B) store.Shelf { return memory.NewShelf() },
		"bolt": func(b *testing.B) store.Shelf {
			s, err := bolt.Open(context.Background(), b.TempDir(), bolt.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { s.Close() })
			return s.Shelf()
		},
	}
	for _, n := range []int{50, 5000} {
		for name, open := range shelves {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				j := session.NewJournal(open(b), session.Options{})
				var msgs []ken.Message
				about := session.About{}
				for i := 0; b.Loop(); i++ {
					if i%500 == 0 { // the conversation is to stay about as long as it says
						b.StopTimer()
						msgs, about.ID = conversation(n), fmt.Sprint("session ", i)
						if _, err := j.Append(b.Context(), about, msgs); err != nil {
							b.Fatal(err)
						}
						b.StartTimer()
					}
					msgs = append(msgs, user(fmt.Sprint("question ", i)))
					if entries, err := j.Append(b.Context(), about, msgs); err != nil || len(entries) != 1 {
						b.Fatalf("kept %d, %v", len(entries), err)
					}
				}
			})
		}
	}
}

// BenchmarkAppendNothing is the same conversation once more: a retry.
func BenchmarkAppendNothing(b *testing.B) {
	j := session.NewJournal(memory.NewShelf(), session.Options{})
	msgs := conversation(5000)
	for b.Loop() {
		if _, err := j.Append(b.Context(), session.About{ID: "s"}, msgs); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppendCold is the first request after a restart.
func BenchmarkAppendCold(b *testing.B) {
	shelf := memory.NewShelf()
	msgs := conversation(5000)
	for b.Loop() {
		j := session.NewJournal(shelf, session.Options{})
		if _, err := j.Append(b.Context(), session.About{ID: "s"}, msgs); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	j := session.NewJournal(memory.NewShelf(), session.Options{})
	if _, err := j.Append(b.Context(), session.About{ID: "s"}, conversation(200)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		tr, err := j.Read(b.Context(), "s")
		if err != nil || len(tr.Entries) != 200 {
			b.Fatalf("read %d, %v", len(tr.Entries), err)
		}
	}
}
