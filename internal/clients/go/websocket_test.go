package clients

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// A client that offers compression and pings gets its answer, and the provider the block.
func TestWebSocket(t *testing.T) {
	up := startUpstream(t)
	gate := startGateway(t, up, claim)
	c, resp, err := websocket.Dial(t.Context(), gate+"/v1/responses", &websocket.DialOptions{
		HTTPHeader: http.Header{"X-Ken-Session": {"websocket"}}, CompressionMode: websocket.CompressionContextTakeover})
	if err != nil {
		t.Fatal(err)
	}
	if extensions := resp.Header.Get("Sec-Websocket-Extensions"); extensions != "" {
		t.Errorf("extensions %q", extensions)
	}
	c.SetReadLimit(1 << 20)
	ask := `{"type":"response.create","model":"gpt-5-mini","input":"` + question + `"}`
	if err := c.Write(t.Context(), websocket.MessageText, []byte(ask)); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for last := false; !last; {
		_, b, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var event struct{ Type, Delta string }
		if err := json.Unmarshal(b, &event); err != nil {
			t.Fatal(err)
		}
		said.WriteString(event.Delta)
		last = event.Type == "response.completed"
	}
	if said.String() != plain {
		t.Errorf("answer %q", said.String())
	}
	read := c.CloseRead(t.Context())
	if err := c.Ping(read); err != nil {
		t.Errorf("ping: %v", err)
	}
	if err := c.Close(websocket.StatusNormalClosure, "done"); err != nil {
		t.Errorf("close: %v", err)
	}
	requests := up.take(t)
	if got := string(requests[len(requests)-1].Body); strings.Count(got, marker) != 1 || !strings.Contains(got, question) {
		t.Errorf("the provider got %s", got)
	}
}
