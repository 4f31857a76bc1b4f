package gateway_test

import (
	"bufio"
	"net"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/websocket"
)

// A call that repeats an external claim is marked, or refused with an error that clients of a
// WebSocket read; then the connection ends, as the stream of a response does.
func TestTaintOverWebSocket(t *testing.T) {
	for action, want := range map[config.TaintAction]string{
		config.TaintFlag:  "response.output_text.delta response.output_item.added response.output_item.done response.completed",
		config.TaintBlock: "response.output_text.delta error close",
	} {
		t.Run(string(action), func(t *testing.T) {
			up := scripted(t, func(conn net.Conn, r *bufio.Reader) {
				if _, _, err := websocket.ReadFrame(r, 1<<20); err != nil {
					t.Error(err)
				}
				for _, e := range strings.Split(apis[1].stream+`data: {"type":"response.completed","response":{"id":"a","status":"completed"}}`, "\n\n") {
					_, data, _ := strings.Cut(e, "data: ")
					_, _ = conn.Write(websocket.AppendFrame(nil, websocket.Header{Fin: true, Opcode: websocket.Text}, []byte(data)))
				}
				_, _ = r.ReadByte() // until the client has read it all
			})
			l := poisoned(t)
			g := start(t, l, up, configured(func(c *config.Gateway) { c.Taint = action }))
			c := open(t, g.URL, "X-Ken-Session", "s")
			c.send(websocket.Text, `{"type":"response.create","model":"m","input":`+jsonOf(ask)+`}`)
			var got []string
			for len(got) < len(strings.Fields(want)) {
				h, event := c.frame()
				kind := gjson.Get(event, "type").Str
				if kind == "error" && (gjson.Get(event, "status").Int() != 403 || gjson.Get(event, "error.code").Str != "tainted_tool_call" || strings.Contains(event, "evil")) {
					t.Errorf("error %s", event)
				}
				if h.Opcode == websocket.Close {
					kind = "close"
				}
				got = append(got, kind)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s, want %s", got, want)
			}
			_ = c.Close()
			if err := l.Recorded(t.Context()); err != nil {
				t.Fatal(err)
			}
			records, _, err := l.Receipts("").List(t.Context(), receipt.Query{Session: "s"})
			if err != nil || len(records) != 1 || len(records[0].Taint) != 1 {
				t.Errorf("receipts %+v, %v", records, err)
			}
		})
	}
}
