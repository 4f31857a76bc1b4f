package main

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kenlayer/ken/internal/cli"
)

// placeholder matches the name of a flag's value in help: a noun in capitals.
var placeholder = regexp.MustCompile(`^[A-Z]+([=:,][A-Z]+)*$`)

// Help is read in a terminal of 80 columns, and everybody begins with an example.
func TestHelpFitsAndHasExamples(t *testing.T) {
	root := newRoot(&cli.App{})
	check := func(c *cobra.Command) {
		if c.Example == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
		if first, _, _ := strings.Cut(c.Example, "\n"); !strings.HasPrefix(first, "  ") || !strings.Contains(first, "ken ") {
			t.Errorf("%s: the example %q is no command", c.CommandPath(), first)
		}
		help := cli.Help(c, nil)
		if c == root {
			help = cli.Help(c, groups)
		}
		for line := range strings.SplitSeq(help, "\n") {
			if utf8.RuneCountInString(line) > cli.HelpWidth {
				t.Errorf("%s: a line of help has more than %d columns: %q", c.CommandPath(), cli.HelpWidth, line)
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			name, _ := pflag.UnquoteUsage(f)
			if f.NoOptDefVal == "" && !placeholder.MatchString(name) {
				t.Errorf("%s --%s: the placeholder %q is no noun in capitals", c.CommandPath(), f.Name, name)
			}
		})
	}
	check(root)
	each(root, check)
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range completion.Commands() {
		check(c)
	}
}

// Every command of the program is in a group, and no group names one that is gone.
func TestGroupsAreComplete(t *testing.T) {
	root := newRoot(&cli.App{})
	grouped := map[string]bool{"connect": true, "disconnect": true} // of agents: see package connect
	for _, g := range groups {
		for _, name := range g.Commands {
			if _, _, err := root.Find([]string{name}); err != nil && !grouped[name] {
				t.Errorf("group %q names %s, which is no command", g.Title, name)
			}
			grouped[name] = true
		}
	}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && !grouped[c.Name()] {
			t.Errorf("%s is in no group", c.Name())
		}
	}
	if first := groups[0].Commands; len(first) != 4 || !strings.HasPrefix(cli.Help(root, groups)[strings.Index(cli.Help(root, groups), groups[0].Title):], groups[0].Title+":\n  ask") {
		t.Errorf("the everyday commands are %q", first)
	}
}

// Whatever is wrong with a command line, the error says what to do next.
func TestUsageErrorsHaveANextStep(t *testing.T) {
	var lines [][]string
	each(newRoot(&cli.App{}), func(c *cobra.Command) {
		path := strings.Fields(c.CommandPath())[1:]
		many := strings.Fields(strings.Repeat("x ", 9))
		lines = append(lines, slices.Concat(path, []string{"--no-such-flag"}))
		if c.Args != nil {
			if c.Args(c, many) != nil {
				lines = append(lines, slices.Concat(path, many))
			}
			if c.Args(c, nil) != nil {
				lines = append(lines, path)
			}
		}
	})
	for _, line := range lines {
		var out, err bytes.Buffer
		status := run(context.Background(), append([]string{"-C", t.TempDir()}, line...), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err})
		_, try, found := strings.Cut(err.String(), "\nTry: ")
		if status != cli.ExitUsage || !found || len(strings.TrimSpace(try)) < len("ken x") {
			t.Errorf("%q ends with %d: %s", line, status, err.String())
		}
	}
}

// What a signal ended has the exit status that shells give it.
func TestStatusAfterASignal(t *testing.T) {
	for cause, want := range map[string]int{"interrupt signal received": cli.ExitInterrupted, "terminated signal received": cli.ExitTerminated, "context canceled": cli.ExitFailed} {
		if got := stoppedBy(errors.New(cause), cli.ExitFailed); got != want {
			t.Errorf("%s: %d, want %d", cause, got, want)
		}
	}
}

func TestMisspelledNames(t *testing.T) {
	for line, want := range map[string]string{
		"sevre":                 "Did you mean ken serve?",
		"lern x":                "Did you mean ken learn?",
		"memory aprove x":       "Did you mean ken memory approve?",
		"learn --importnce 1 x": "Did you mean --importance?",
		"list":                  "Did you mean ken recall?",
		"ls":                    "Did you mean ken recall?",
		"search x":              "Did you mean ken recall?",
		"find x":                "Did you mean ken recall?",
		"show x":                "Did you mean ken recall?",
		"get x":                 "Did you mean ken recall?",
		"query x":               "Did you mean ken recall?",
		"add x":                 "Did you mean ken learn?",
		"remember x":            "Did you mean ken learn?",
		"delete x":              "Did you mean ken forget?",
		"rm x":                  "Did you mean ken forget?",
		"forgte x":              "Did you mean ken forget?",
		"frobnicate":            "ken help lists the commands.",
		"help lern":             "Did you mean ken learn?",
		"learn --zzzzz x":       "Use it as ken learn [TEXT|-]. ken learn --help shows more.",
		"decision crate":        "Did you mean ken decision create?",
	} {
		var err bytes.Buffer
		run(context.Background(), strings.Fields(line), cli.Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &err})
		if !strings.Contains(err.String(), "\nTry: "+want+"\n") {
			t.Errorf("%s: %s", line, err.String())
		}
	}
}

// fullOutput is an output without room.
type fullOutput struct{}

func (fullOutput) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	for _, line := range []string{"key create ana", "key create ci --json", "learn The_lamp_is_red.", "recall lamp", "recall lamp --json", "key list", "help", "version"} {
		var err bytes.Buffer
		status := run(t.Context(), append([]string{"-C", dir}, strings.Fields(line)...), cli.Streams{In: strings.NewReader(""), Out: fullOutput{}, Err: &err})
		if status != cli.ExitFailed || !strings.Contains(err.String(), syscall.ENOSPC.Error()) {
			t.Errorf("%s ends with %d: %s", line, status, err.String())
		}
	}
	var out, err bytes.Buffer
	run(t.Context(), []string{"-C", dir, "key", "list"}, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err})
	if strings.Count(out.String(), "revoked") != 2 {
		t.Errorf("a key that was not printed is valid: %s%s", out.String(), err.String())
	}
}

func TestWrongValuesOfFlags(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for _, c := range []struct{ args, want string }{
		{"recall a --limit x", `ken: --limit: "x" is not a whole number`},
		{"recall a --limit 2.5", `ken: --limit: "2.5" is not a whole number`},
		{"recall a -n 99999999999999999999", `ken: --limit: "99999999999999999999" is too large or too small`},
		{"key create a --tokens-per-day many", `ken: --tokens-per-day: "many" is not a whole number`},
		{"recall a --json=maybe", `ken: --json: "maybe" is not true or false`},
		{"recall a --owner=", "the owner is empty"},
		{"key create a --owner=", "the owner is empty"},
		{"export --owner=", "the owner is empty"},
	} {
		var err bytes.Buffer
		status := run(t.Context(), append([]string{"-C", t.TempDir()}, strings.Fields(c.args)...), cli.Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &err})
		if status != cli.ExitUsage || !strings.Contains(err.String(), c.want) || strings.Contains(err.String(), "strconv") {
			t.Errorf("%s ends with %d: %s", c.args, status, err.String())
		}
	}
}
