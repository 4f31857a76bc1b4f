package middleware

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
)

func TestCleaningsAreRememberedAndBounded(t *testing.T) {
	var c cleanCache
	secret := "curl -u deploy:" + "Zr7k99aXq https://ci.example.org"
	msgs := []ken.Message{{Role: "user", Text: "hello"}, {Role: "user", Text: secret},
		{Role: "assistant", ToolCalls: []ken.ToolCall{{Name: "shell", Arguments: `{"cmd":"` + secret + `"}`}}}}
	for range 2 {
		at := fingerprintsOf(&ken.Turn{Messages: msgs}).whole
		got := c.messages(at, msgs)
		if msgs[1].Text != secret || got[0].Text != "hello" || strings.Contains(fmt.Sprint(got), "Zr7k99aXq") {
			t.Fatalf("%+v of %+v", got, msgs)
		}
		if len(c.now) != 3 {
			t.Fatalf("%d remembered", len(c.now))
		}
	}
	clean := msgs[:1]
	at := fingerprintsOf(&ken.Turn{Messages: clean}).whole
	if got := c.messages(at, clean); &got[0] != &clean[0] {
		t.Error("clean messages were copied")
	}
	// A long secret message takes room of the others, and too long a one none.
	long := make([]ken.Message, 40)
	for i := range long {
		long[i].Text = fmt.Sprint(i, " ", secret, strings.Repeat(" more", 100_000))
	}
	at = fingerprintsOf(&ken.Turn{Messages: long}).whole
	for i, m := range c.messages(at, long) {
		if strings.Contains(m.Text, "Zr7k99aXq") {
			t.Errorf("message %d is not clean", i)
		}
	}
	if c.bytes > maxCleaningBytes || len(c.now)+len(c.old) >= len(long) {
		t.Errorf("%d bytes, %d and %d messages", c.bytes, len(c.now), len(c.old))
	}
}
