package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kenlayer/ken/internal/cli"
)

var update = flag.Bool("update", false, "rewrite docs/cli.md")

// TestReference keeps docs/cli.md what the commands say of themselves.
func TestReference(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "cli.md")
	want := reference()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run go test ./cmd/ken -run Reference -update", err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is out of date; run go test ./cmd/ken -run Reference -update:\n%s", path, diff)
	}
}

// Help is read in a terminal: what a command is for must be there, and in the
// same form everywhere.
func TestEveryCommandSaysWhatItDoes(t *testing.T) {
	each(newRoot(&cli.App{}), func(c *cobra.Command) {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || c.Long == "" {
			t.Errorf("%s: short %q, long %q", c.CommandPath(), c.Short, c.Long)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || strings.HasSuffix(f.Usage, ".") {
				t.Errorf("%s --%s: usage %q", c.CommandPath(), f.Name, f.Usage)
			}
		})
	})
}

// each visits the commands that help lists, in its order, completion's own
// subcommands apart.
func each(c *cobra.Command, visit func(*cobra.Command)) {
	for _, sub := range c.Commands() {
		if sub.Hidden || sub.Name() == "help" {
			continue
		}
		visit(sub)
		if sub.Name() != "completion" {
			each(sub, visit)
		}
	}
}

// reference is the documentation of every command in Markdown.
func reference() string {
	root := newRoot(&cli.App{})
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Commands\n\n<!-- Generated from package main: go test ./cmd/ken -run Reference -update -->\n\n%s\n\n"+
		"Results go to standard output, everything else to standard error. An error says what to try on a line that starts\n"+
		"with `Try:`. The exit status is %d for success, %d for a failure, %d for a command line that can't be carried out,\n"+
		"%d after Ctrl-C and %d after SIGTERM. With `--json` an error is a problem document (RFC 9457) on one line.\n\n"+
		"On a terminal tables fit its width, long lists go through the pager that `PAGER` names (else `less`; empty: none), and colours\n"+
		"have a meaning: green is proven or in order, yellow wants a look, red is wrong, dim no longer counts. `NO_COLOR` switches them off.\n"+
		"There, ids are short: any command takes what is shown. Elsewhere they are whole, and columns are separated by tabs.\n\n",
		root.Long, cli.ExitOK, cli.ExitFailed, cli.ExitUsage, cli.ExitInterrupted, cli.ExitTerminated)
	b.WriteString("| Command | What it does |\n|---|---|\n")
	each(root, func(c *cobra.Command) {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", c.CommandPath(), strings.ReplaceAll(c.CommandPath(), " ", "-"), c.Short)
	})
	b.WriteString("\n## Flags of every command\n\n")
	flagTable(&b, root.PersistentFlags())
	each(root, func(c *cobra.Command) { describe(&b, c) })
	return b.String()
}

func describe(b *bytes.Buffer, c *cobra.Command) {
	use := c.UseLine()
	if !c.HasAvailableLocalFlags() {
		use = strings.TrimSuffix(use, " [flags]")
	}
	if c.HasAvailableSubCommands() {
		var names []string
		for _, sub := range c.Commands() {
			names = append(names, sub.Name())
		}
		below := c.CommandPath() + " " + strings.Join(names, "|")
		if runsAlone(c) {
			use += "\n    " + below
		} else {
			use = below
		}
	}
	fmt.Fprintf(b, "\n## %s\n\n    %s\n\n%s\n", c.CommandPath(), use, text(c.Long))
	if c.Example != "" {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", strings.ReplaceAll(strings.TrimPrefix(c.Example, "  "), "\n  ", "\n"))
	}
	if c.HasAvailableLocalFlags() {
		b.WriteByte('\n')
		flagTable(b, c.LocalFlags())
	}
}

// runsAlone reports whether a command with subcommands does something by itself, as its examples tell.
func runsAlone(c *cobra.Command) bool {
	for line := range strings.Lines(c.Example) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), c.CommandPath()); ok {
			word, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			if !slices.ContainsFunc(c.Commands(), func(sub *cobra.Command) bool { return sub.Name() == word }) {
				return true
			}
		}
	}
	return false
}

var listLine = regexp.MustCompile(`(?m)^(\S+( \S+)?)   *(\S.*)$`)

// text makes lists out of the aligned lines of a help text.
func text(long string) string {
	return listLine.ReplaceAllString(strings.TrimSpace(long), "- `$1`: $3")
}

func flagTable(b *bytes.Buffer, flags *pflag.FlagSet) {
	b.WriteString("| Flag | Default | Meaning |\n|---|---|---|\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if kind != "" {
			name += " " + kind
		}
		def := ""
		if f.DefValue != "" && f.DefValue != "[]" && f.DefValue != "false" {
			def = "`" + f.DefValue + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, def, strings.ReplaceAll(usage, "|", `\|`))
	})
}
