package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/harvest/model/modeltest"
)

// candidates makes a project with three candidates, each seen once.
func candidates(t *testing.T) (dir string) {
	t.Helper()
	dir, _ = project(t)
	lines := ""
	for _, name := range []string{"first", "second", "third"} {
		lines += `{"kind":"pattern","status":"hypothesis","text":"Run make ` + name + `","evidence":[{"kind":"exit_code","id":"make ` + name + `","exit_code":0}]}` + "\n"
	}
	path := filepath.Join(dir, "claims.jsonl")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, err := kenIn(t, dir, "import", path); status != cli.ExitOK {
		t.Fatal(err)
	}
	return dir
}

// remembered returns the status of each claim that the memory is about, by text.
func remembered(t *testing.T, dir string) map[string]string {
	t.Helper()
	status, out, err := kenIn(t, dir, "memory", "review", "--all", "--json")
	if status != cli.ExitOK {
		t.Fatal(err)
	}
	got := map[string]string{}
	gjson.Get(out, "memory").ForEach(func(_, c gjson.Result) bool {
		got[c.Get("text").String()] = c.Get("status").String()
		return true
	})
	return got
}

// One key decides, without Enter.
func TestReviewByKeys(t *testing.T) {
	dir := candidates(t)
	p := onTerminal(t, dir, "memory", "review")
	p.sees("1 of 3")
	p.sees(prompt)
	p.types("\x1b[A\x1bOA\x1b[1;2A~") // keys that end in A are no approval
	p.sees(prompt)
	p.types("r")
	p.sees("rejected")
	p.sees("2 of 3")
	p.sees(prompt)
	p.types("e")
	p.sees("new text " + prompt)
	p.types("Run make twice\r")
	p.sees("edited and approved")
	p.sees("3 of 3")
	p.sees(prompt)
	p.types("A")
	p.sees("approved")
	p.leaves(cli.ExitOK)

	got := remembered(t, dir)
	if len(got) != 2 || got["Run make twice"] != "observed" {
		t.Errorf("%v", got)
	}
	for text, status := range got {
		if status != "observed" {
			t.Errorf("%s is %s", text, status)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, ".ken/knowledge/MEMORY.md"))
	if err != nil || !strings.Contains(string(b), "- [x] Run make twice ") {
		t.Errorf("%v:\n%s", err, b)
	}
}

// Somebody who stops half way keeps what was decided, in the file too.
func TestReviewStopsHalfWay(t *testing.T) {
	for _, tt := range []struct {
		name, keys string
		status     int
	}{{"q", "q", cli.ExitOK}, {"Ctrl-C", "\x03", cli.ExitOK}, {"Ctrl-D", "\x04", cli.ExitOK}, {"Ctrl-C in a new text", "e\x03", cli.ExitInterrupted}} {
		t.Run(tt.name, func(t *testing.T) {
			dir := candidates(t)
			p := onTerminal(t, dir, "memory", "review")
			p.sees(prompt)
			p.types("a")
			p.sees("approved")
			p.sees(prompt)
			p.types(tt.keys[:1])
			if rest := tt.keys[1:]; rest != "" {
				p.sees("new text " + prompt)
				p.types(rest)
			}
			p.leaves(tt.status)
			approved := 0
			for _, status := range remembered(t, dir) {
				if status == "observed" {
					approved++
				}
			}
			b, err := os.ReadFile(filepath.Join(dir, ".ken/knowledge/MEMORY.md"))
			if approved != 1 || err != nil || strings.Count(string(b), "\n- [x] ") != 1 {
				t.Errorf("%d approved, %v:\n%s", approved, err, b)
			}
		})
	}
}

// A harvest that takes long does not hold a person: Ctrl-C leaves it to the queue,
// from where it comes back.
func TestCtrlCSkipsTheHarvest(t *testing.T) {
	dir, _ := project(t)
	slow := modeltest.Start(modeltest.Hangs())
	t.Cleanup(slow.Stop)
	path := filepath.Join(dir, ".ken", "config.yaml")
	plain, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(plain), harvestOff, "harvest:\n  model: slow\n  base_url: "+slow.URL+"\n", 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := trustFolder(dir); err != nil {
		t.Fatal(err)
	}
	p := onTerminal(t, dir, "chat")
	p.sees(prompt)
	p.types("We decided to sell the old van.\r")
	p.sees("You said: ")
	p.sees(prompt)
	p.types("\x04")
	p.sees("harvest ")
	p.types("\x03")
	p.sees("stopped; ken harvest or the next ken chat harvests this session")
	p.leaves(cli.ExitOK)
	if status, out, err := kenIn(t, dir, "jobs", "--state", "queued", "--json"); status != cli.ExitOK || gjson.Get(out, "jobs.#").Int() != 1 {
		t.Errorf("%s%s", out, err)
	}

	// The next one can be skipped as well, and the chat goes on.
	p = onTerminal(t, dir, "chat")
	p.sees("harvest ")
	p.types("\x03")
	p.sees("stopped; ")
	p.sees(prompt)
	p.types("\x04")
	p.leaves(cli.ExitOK)

	if err := os.WriteFile(path, plain, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := trustFolder(dir); err != nil {
		t.Fatal(err)
	}
	p = onTerminal(t, dir, "chat")
	p.sees("learned from an earlier session: an episode, 1 fact")
	p.sees(prompt)
	p.types("\x04")
	p.leaves(cli.ExitOK)
}
