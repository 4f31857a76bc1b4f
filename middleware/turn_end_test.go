package middleware_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/middleware"
)

// An answer leaves events that say what the model did, and none of its words: least of all what
// it thought.
func TestEventsOfAnAnswer(t *testing.T) {
	c := settings(recording)
	root := t.TempDir()
	l := open(t, c, func(o *middleware.Options) { o.Root = root })
	body := `{"id":"a","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","reasoning_content":"I wonder about the wombat",` +
		`"content":"<think>a wombat again</think>Three times."}}],"usage":{"prompt_tokens":12,"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":5},"prompt_tokens_details":{"cached_tokens":4}}}`
	for _, id := range []string{"s", "hidden"} {
		x := begin(t, l, testDialects[0], testDialects[0].body("", testDialects[0].user("How often?")), ken.Turn{Session: id, Incognito: id == "hidden"})
		resp := &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
		got := make(chan wire.Observed, 1)
		x.Listen(resp, func(h wire.Observed) { got <- h })
		if _, err := io.ReadAll(resp.Body); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		<-got
	}
	dir := config.InProject(root, l.Config().Telemetry.Events)
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, files[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "wombat") {
		t.Errorf("reasoning is in the events: %s", raw)
	}
	seen := map[string]map[string]any{}
	for lines := bufio.NewScanner(strings.NewReader(string(raw))); lines.Scan(); {
		var ev map[string]any
		if err := json.Unmarshal(lines.Bytes(), &ev); err != nil {
			t.Fatal(err)
		}
		seen[ev["event"].(string)] = ev
	}
	end, thought := seen["turn_end"], seen["reasoning"]
	if end == nil || thought == nil || end["turn"] != seen["context_assembly"]["turn"] || end["answer_chars"] != 12.0 || end["finish"] != "stop" || end["failed"] != false ||
		end["input_tokens"] != 12.0 || end["cached_tokens"] != 4.0 || end["output_tokens"] != 9.0 {
		t.Errorf("%v", end)
	}
	if thought["reasoning_tokens"] != 5.0 || thought["reasoning_chars"].(float64) < 40 {
		t.Errorf("%v", thought)
	}
}

// What the block has of memory was loaded, the objectives too, which no store knows.
func TestMemoryIncludedIsNeverAboveMemoryLoaded(t *testing.T) {
	l := open(t, settings(recording))
	dir := filepath.Join(l.Root(), ".ken", "knowledge", "objectives")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "OBJ-0001.yaml"), []byte("id: OBJ-0001\ntitle: Keep the lamp lit\nstatus: active\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	learn(t, l, pinned(t, "Reply in French."))
	l.Assemble(t.Context(), ken.Turn{Session: "o", Messages: []ken.Message{{Role: "user", Text: question}}})
	ev := events(t, l, "", "o")[0]
	if ev.MemoryIncluded != 2 || ev.MemoryLoaded != 2 {
		t.Errorf("%d of %d loaded are in the block", ev.MemoryIncluded, ev.MemoryLoaded)
	}
}
