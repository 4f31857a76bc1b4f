package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/embed/adapt"
	"github.com/kenlayer/ken/internal/embed/table"
)

// adaptWith runs "ken embed adapt" in dir.
func adaptWith(ctx context.Context, dir string, s cli.Streams, args ...string) int {
	return run(ctx, append([]string{"-C", dir, "embed", "adapt"}, args...), s)
}

// TestAdaptScripts runs testdata/adapt/*.txtar in a project whose comments speak
// another language than its code. blank.ken is a table that does not know what
// goes with what, knowing.ken one that does. The command is
//
//	adapt STATUS ARGS …   run ken embed adapt, which must end with this status
//	jsonpath FILE PATH WANT, as in TestScripts
func TestAdaptScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/adapt",
		Setup: func(env *testscript.Env) error {
			return errors.Join(os.MkdirAll(filepath.Join(env.WorkDir, ".ken"), 0o755), writeTables(env.WorkDir), writeHarbour(env.WorkDir, 40))
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"trust": trustCommand,
			"adapt": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) == 0 {
					ts.Fatalf("usage: adapt STATUS ARGS …")
				}
				got := adaptWith(context.Background(), ts.MkAbs("."), cli.Streams{In: strings.NewReader(""), Out: ts.Stdout(), Err: ts.Stderr()}, args[1:]...)
				if strconv.Itoa(got) != args[0] {
					ts.Fatalf("exit status %d", got)
				}
			},
			"jsonpath": jsonPath,
		},
	})
}

const adaptWords = 60

func adaptWord(kind string, i int) string {
	return kind + string(rune('a'+i%26)) + string(rune('a'+i/26)) + "x"
}

// writeTables writes blank.ken and knowing.ken.
func writeTables(dir string) error {
	for name, knows := range map[string]bool{"blank.ken": false, "knowing.ken": true} {
		const dim = 32
		rng := rand.New(rand.NewPCG(1, 2))
		var tokens []string
		var rows []float32
		random := func() (row []float32) {
			for range dim {
				row = append(row, float32(rng.NormFloat64()))
			}
			return row
		}
		for i := range adaptWords {
			p, q := random(), random()
			if knows {
				q = p
			}
			tokens = append(tokens, adaptWord("pa", i), adaptWord("qu", i))
			rows = append(append(rows, p...), q...)
		}
		m, err := table.New(tokens, rows, dim, table.Info{})
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if _, err := m.WriteTo(&b); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, ".ken", name), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeHarbour writes files of ten functions each, whose comments say with one
// set of words what their code says with the other. Their names are one word, of
// which no question is made.
func writeHarbour(dir string, files int) error {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range files {
		var b strings.Builder
		fmt.Fprintf(&b, "package harbour\n")
		for j := range 10 {
			var q, p []string
			for range 4 {
				w := rng.IntN(adaptWords)
				q, p = append(q, adaptWord("qu", w)), append(p, adaptWord("pa", w))
			}
			fmt.Fprintf(&b, "\n// %s.\nfunc f%dn%d() {\n\t%s()\n}\n", strings.Join(q, " "), i, j, strings.Join(p, "()\n\t"))
		}
		if err := os.WriteFile(filepath.Join(dir, "pier"+adaptWord("", i)+".go"), []byte(b.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// A run that is stopped leaves what was kept, says so, and exits with 1.
func TestAdaptStopped(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, ".ken", "state"), 0o755), writeTables(dir), writeHarbour(dir, 40)); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(dir, ".ken", "blank.ken")
	m, err := table.Read(base)
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(dir, ".ken", "state")
	if err := adapt.Save(state, m, adapt.Report{Base: m.Model(), Model: m.Model()}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out, told := &bytes.Buffer{}, &stopper{at: "tune: ", stop: cancel}
	if status := adaptWith(ctx, dir, cli.Streams{In: strings.NewReader(""), Out: out, Err: told}, "--base", base, "--epochs", "200"); status != cli.ExitFailed {
		t.Errorf("status %d: %s", status, told)
	}
	if !strings.Contains(told.String(), "ken: stopped") || out.Len() > 0 {
		t.Errorf("%q, %q", told, out)
	}
	if _, ok := adapt.Find(state, m.Model()); !ok {
		t.Error("what was kept before is gone")
	}
}

// stopper is a writer that stops a run once it is told of a stage.
type stopper struct {
	bytes.Buffer
	at   string
	stop func()
}

func (s *stopper) Write(p []byte) (int, error) {
	if strings.Contains(string(p), s.at) {
		s.stop()
	}
	return s.Buffer.Write(p)
}
