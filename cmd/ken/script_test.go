package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
)

func TestMain(m *testing.M) {
	testscript.Main(asUser{m}, map[string]func(){"ken": main})
}

// asUser runs the tests as a user of their own, without a configuration.
type asUser struct{ m *testing.M }

func (u asUser) Run() int {
	dir, err := os.MkdirTemp("", "ken-user")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	os.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	return u.m.Run()
}

// atOnce are the scripts in which the command itself does something beside something else: a
// server, a stream, a harvest, an import, an index, processes in one folder. Under the race
// detector they alone are run, because a start takes six times as long there. What ken run and
// the tools of a chat start is raced in their packages. make whole runs all scripts.
var atOnce = []string{
	"testdata/script/chat.txtar",
	"testdata/script/chat_errors.txtar",
	"testdata/script/harvest.txtar",
	"testdata/script/import.txtar",
	"testdata/script/import_stop.txtar",
	"testdata/script/index.txtar",
	"testdata/script/jobs.txtar",
	"testdata/script/recall_vector.txtar",
	"testdata/script/serve.txtar",
	"testdata/script/serve_reload.txtar",
	"testdata/script/structure_filing.txtar",
	"testdata/script/together.txtar",
}

// TestScripts runs testdata/script/*.txtar: each drives the command in a project
// of its own. Beside the commands of package testscript there are
//
//	jsonpath FILE PATH WANT   the value at a gjson path; a PATH with "..", such as ..0.id, reads JSON lines
//	let NAME FILE [PATH]      set a variable to a file's text, or to a value in it
//	sameclaims OLD NEW        NEW is what became of the export OLD when it was imported elsewhere
//	status N PROGRAM …        run a program, which must end with this exit status
//	gateway                   start an embeddings service and configure the project to use it
//	upstream [FILE]           start a chat model and configure the project to use it; see fakeModel
//	extractor PLAY            start a model that extracts, and add it to the configuration; see package modeltest
//	agent STATE FILE…         play an agent's sessions in the project; see agent
//	job KIND KEY PAYLOAD      add a job
//	trust                     agree to the project's configuration, as ken trust --yes
//	serve [FLAG …]            start ken serve and set GATEWAY to its address
//	terminate                 stop it with SIGTERM; what it printed is in serve.out and serve.err
//	hangup PATTERN            send it SIGHUP, and wait until its log has a line that matches
//	call METHOD URL FILE …    make a request; its answer is in head and body
//	damage FILE [OLD NEW]     change a file behind the store's back
//
// where FILE may be stdout or stderr.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	runScripts(t, race.Pick(files, atOnce), func(*testscript.Env) error { return nil })
}

// TestEngineScripts runs testdata/engines/*.txtar, where ENGINE is the URL of a database of
// PostgreSQL. CONFIGS has engine.yaml, which configures it, next.yaml, which has it as store.next, and
// back.yaml, for the folder back.
func TestEngineScripts(t *testing.T) {
	race.SkipLong(t)
	files, err := filepath.Glob("testdata/engines/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	server := logtest.StartPostgres(t)
	var databases atomic.Int32
	runScripts(t, files, func(env *testscript.Env) error {
		name := fmt.Sprint("script", databases.Add(1))
		server.Ask("CREATE DATABASE " + name)
		url := strings.Replace(server.URL(), "/postgres?", "/"+name+"?", 1)
		dir := t.TempDir() // the user's, not the project's
		env.Setenv("ENGINE", url)
		env.Setenv("CONFIGS", dir)
		return errors.Join(writeTestFile(filepath.Join(dir, "engine.yaml"), "store:\n  url: "+url+"\n"),
			writeTestFile(filepath.Join(dir, "next.yaml"), "store:\n  next: "+url+"\n"),
			writeTestFile(filepath.Join(dir, "back.yaml"), "knowledge:\n  db_path: "+filepath.Join(env.WorkDir, "back")+"\n"))
	})
}

// runScripts runs scripts, whose environment setup completes.
func runScripts(t *testing.T, files []string, setup func(*testscript.Env) error) {
	testscript.Run(t, testscript.Params{
		Files:               files,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else every command takes a second under -race
			env.Setenv("XDG_STATE_HOME", os.Getenv("XDG_STATE_HOME"))
			if err := setup(env); err != nil {
				return err
			}
			return os.MkdirAll(filepath.Join(env.WorkDir, ".ken"), 0o755)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"jsonpath":   jsonPath,
			"let":        let,
			"sameclaims": sameClaims,
			"status":     status,
			"nowhere":    nowhere,
			"gateway":    embedService,
			"damage":     damageCommand,
			"upstream":   upstreamCommand,
			"extractor":  extractor,
			"agent":      agent,
			"job":        job,
			"trust":      trustCommand,
			"serve":      serveCommand,
			"terminate":  terminateCommand,
			"hangup":     hangupCommand,
			"call":       callCommand,
		},
	})
}

// trustFolder agrees to the configuration of the project in dir.
func trustFolder(dir string) error {
	var said bytes.Buffer
	if code := run(context.Background(), []string{"trust", "--yes", "-C", dir}, cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &said}); code != cli.ExitOK {
		return fmt.Errorf("ken trust: %s", &said)
	}
	return nil
}

// writeTestFile writes a file, and makes its folder.
func writeTestFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

func trustCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: trust")
	}
	ts.Check(trustFolder(ts.MkAbs(".")))
}

func jsonPath(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: jsonpath FILE PATH WANT")
	}
	got := value(ts, args[0], args[1])
	if (got == args[2]) == neg {
		ts.Fatalf("%s is %q", args[1], got)
	}
}

// value returns a string's text, and anything else as JSON without spaces.
func value(ts *testscript.TestScript, file, path string) string {
	v := gjson.Get(ts.ReadFile(file), path)
	if !v.IsArray() && !v.IsObject() {
		return v.String()
	}
	var b bytes.Buffer
	ts.Check(json.Compact(&b, []byte(v.Raw)))
	return b.String()
}

func let(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: let NAME FILE [PATH]")
	}
	v := ts.ReadFile(args[1])
	if len(args) == 3 {
		v = value(ts, args[1], args[2])
	}
	if v = strings.TrimSpace(v); v == "" {
		ts.Fatalf("%s would be empty", args[0])
	}
	ts.Setenv(args[0], v)
}

// sameClaims allows what an import changes: the owner, and one more event.
func sameClaims(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sameclaims OLD NEW")
	}
	read := func(file string, added int) (claims []map[string]any) {
		for line := range strings.Lines(ts.ReadFile(file)) {
			var c map[string]any
			ts.Check(json.Unmarshal([]byte(line), &c))
			delete(c, "owner")
			history, ok := c["history"].([]any)
			if !ok || len(history) <= added {
				ts.Fatalf("%s: a claim without its history: %s", file, line)
			}
			c["history"] = history[:len(history)-added]
			claims = append(claims, c)
		}
		return claims
	}
	if diff := cmp.Diff(read(args[0], 0), read(args[1], 1)); diff != "" {
		ts.Fatalf("-old +new:\n%s", diff)
	}
}

func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N PROGRAM …")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d", got)
	}
}

// nowhere fails where a word is in a file, or in one under a folder, in any case. Each of
// the paths must have something in it.
func nowhere(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: nowhere WORD PATH …")
	}
	word := []byte(strings.ToLower(args[0]))
	for _, root := range args[1:] {
		bytesRead := 0
		ts.Check(filepath.WalkDir(ts.MkAbs(root), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			bytesRead += len(b)
			b = bytes.ToLower(b)
			if i := bytes.Index(b, word); i >= 0 {
				return fmt.Errorf("%s at byte %d: %q", path, i, b[max(0, i-200):min(len(b), i+100)])
			}
			return nil
		}))
		if bytesRead == 0 {
			ts.Fatalf("%s is empty", root)
		}
	}
}

func embedService(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: gateway")
	}
	srv := httptest.NewServer(embedtest.Gateway())
	ts.Defer(srv.Close)
	config := "knowledge:\n  embed_base_url: " + srv.URL + "/v1\n  embed_model: " + embedtest.GatewayModel + "\n"
	ts.Check(os.WriteFile(ts.MkAbs(".ken/config.yaml"), []byte(config), 0o600))
	ts.Check(trustFolder(ts.MkAbs(".")))
}
