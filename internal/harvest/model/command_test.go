package model_test

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/model"
	"github.com/kenlayer/ken/internal/harvest/model/modeltest"
)

// TestMain lets the test binary play the programs that are asked.
func TestMain(m *testing.M) {
	switch os.Getenv("MODEL_TEST_PROGRAM") {
	case "":
		goleak.VerifyTestMain(m)
		return
	case "echo":
		os.Exit(modeltest.Program(os.Stdin, os.Stdout))
	case "hang":
		forever := make(chan os.Signal, 1)
		signal.Notify(forever, os.Interrupt)
		<-forever
	case "flood":
		for {
			if _, err := os.Stdout.WriteString(strings.Repeat("x", 1<<16)); err != nil {
				os.Exit(1)
			}
		}
	case "fail":
		_, _ = os.Stderr.WriteString("reading\nplease log in first\n")
		os.Exit(3)
	case "secret":
		_, _ = os.Stderr.WriteString("bad key ghp_1B4a2e77838347a7E420ce178F2E7c6912E1\n")
		os.Exit(1)
	case "folder":
		dir, _ := os.Getwd()
		list, _ := os.ReadDir(dir)
		if len(list) > 0 || strings.Contains(dir, "internal") {
			os.Exit(9)
		}
		_ = os.WriteFile("left", nil, 0o600)
		_ = os.WriteFile(os.Getenv("MODEL_TEST_NOTE"), []byte(dir), 0o600)
		os.Exit(modeltest.Program(os.Stdin, os.Stdout))
	}
	os.Exit(0) // silent
}

// program is a client of this binary in one of its roles.
func program(t *testing.T, role string, timeout time.Duration) *model.Client {
	t.Helper()
	t.Setenv("MODEL_TEST_PROGRAM", role)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := model.New(model.Options{Command: []string{exe, "-p"}, Timeout: timeout})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestProgramExtracts(t *testing.T) {
	d, err := program(t, "echo", time.Minute).Draft(t.Context(), modeltest.Session(), nil)
	if err != nil || len(d.Statements) < 3 || d.Summary == "" || !strings.Contains(d.Model, "model.test") {
		t.Errorf("%v, %d statements, model %q, dropped %v", err, len(d.Statements), d.Model, d.Dropped)
	}
}

func TestProgramRunsInAnEmptyFolderThatGoes(t *testing.T) {
	note := filepath.Join(t.TempDir(), "note")
	t.Setenv("MODEL_TEST_NOTE", note)
	if _, err := program(t, "folder", time.Minute).Draft(t.Context(), modeltest.Session(), nil); err != nil {
		t.Fatal(err)
	}
	dir, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(string(dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v", dir, err)
	}
}

// What a program does wrong is told with the key of the configuration, at once and without any
// word of the session.
func TestProgramsThatFail(t *testing.T) {
	for role, want := range map[string]string{
		"hang": "did not answer within", "flood": "prints more than 1 MiB", "fail": "failed (exit status 3): please log in first", "silent": "printed nothing", "secret": "failed (exit status 1)",
	} {
		timeout := time.Minute
		if role == "hang" {
			timeout = 100 * time.Millisecond
		}
		_, err := program(t, role, timeout).Draft(t.Context(), modeltest.Session(), nil)
		var e *ken.Error
		if !errors.As(err, &e) || e.Field != "harvest.command" || !strings.Contains(e.Msg, want) || e.Try == "" || strings.Contains(err.Error(), "ghp_") {
			t.Errorf("%s: %v", role, err)
		}
	}
	c := model.New(model.Options{Command: []string{filepath.Join(t.TempDir(), "nothing")}})
	var e *ken.Error
	if _, err := c.Draft(t.Context(), modeltest.Session(), nil); !errors.As(err, &e) || !strings.Contains(e.Msg, "is not found") {
		t.Errorf("%v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := program(t, "hang", time.Minute).Draft(ctx, modeltest.Session(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
