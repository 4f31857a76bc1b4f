package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kenlayer/ken/internal/knowledge/structure/draw"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// HelpWidth is the longest line of a help text, in columns.
const HelpWidth = 80

// Group is a group of commands in the help text.
type Group struct {
	Title    string
	Commands []string // by name, in the order in which they are shown
}

// SetHelp gives root's commands help texts that fit HelpWidth, and lists the commands of root
// in groups. Commands without a group come last.
func SetHelp(root *cobra.Command, groups []Group) {
	show := func(cmd *cobra.Command) string {
		if cmd == root {
			return Help(cmd, groups)
		}
		return Help(cmd, nil)
	}
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { fmt.Fprint(cmd.OutOrStdout(), show(cmd)) })
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := fmt.Fprint(cmd.OutOrStderr(), show(cmd))
		return err
	})
}

// Help returns the help text of a command.
func Help(cmd *cobra.Command, groups []Group) string {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	b.WriteString(Wrap(strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)), HelpWidth) + "\n")
	use := cmd.UseLine()
	if !cmd.HasAvailableLocalFlags() {
		use = strings.TrimSuffix(use, " [flags]")
	}
	b.WriteString("\nUsage:\n" + indented(use))
	if cmd.HasAvailableSubCommands() {
		b.WriteString(indented(cmd.CommandPath() + " COMMAND"))
	}
	if cmd.HasExample() {
		b.WriteString("\nExamples:\n" + strings.TrimRight(cmd.Example, "\n") + "\n")
	}
	b.WriteString(commandList(cmd, groups))
	for _, part := range []struct {
		title string
		flags *pflag.FlagSet
	}{{"Flags", cmd.LocalFlags()}, {"Flags of every command", cmd.InheritedFlags()}} {
		if part.flags.HasAvailableFlags() {
			fmt.Fprintf(&b, "\n%s:\n%s\n", part.title, strings.TrimRight(part.flags.FlagUsagesWrapped(HelpWidth), "\n"))
		}
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help says more of a command.\n", cmd.CommandPath())
	}
	return b.String()
}

func indented(line string) string {
	return "  " + strings.ReplaceAll(Wrap(line, HelpWidth-4), "\n", "\n    ") + "\n"
}

// commandList lists the subcommands, in groups if there are any.
func commandList(cmd *cobra.Command, groups []Group) string {
	if !cmd.HasAvailableSubCommands() {
		return ""
	}
	left := map[string]*cobra.Command{}
	var names []string
	width := 0
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			left[sub.Name()] = sub
			names = append(names, sub.Name())
			width = max(width, len(sub.Name()))
		}
	}
	var b strings.Builder
	list := func(title string, names []string) {
		begun := false
		for _, name := range names {
			sub := left[name]
			if sub == nil {
				continue
			}
			if !begun {
				fmt.Fprintf(&b, "\n%s:\n", title)
				begun = true
			}
			delete(left, name)
			about := Wrap(sub.Short, HelpWidth-width-4)
			fmt.Fprintf(&b, "  %-*s  %s\n", width, name, strings.ReplaceAll(about, "\n", "\n"+strings.Repeat(" ", width+4)))
		}
	}
	for _, g := range groups {
		list(g.Title, g.Commands)
	}
	title := "Commands"
	if len(groups) > 0 {
		title = "Others"
	}
	list(title, names)
	return b.String()
}

// listLine matches a line of a list in a help text: "name   description".
var listLine = lazyregexp.New(`^(\s*\S+(?: \S+)?   *)\S`)

// Wrap breaks the lines of a text between words, so that no line has more than width columns.
// A line of an aligned list continues below its second column. A longer word stays whole.
func Wrap(text string, width int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		hang := ""
		if m := listLine.FindStringSubmatch(line); m != nil && strings.HasSuffix(m[1], "  ") {
			hang = strings.Repeat(" ", len(m[1]))
		}
		lines[i] = wrapLine(line, hang, width)
	}
	return strings.Join(lines, "\n")
}

func wrapLine(line, hang string, width int) string {
	var b strings.Builder
	at := 0
	rest := line
	for rest != "" {
		end := len(rest) // the end of the next word, including the spaces before it
		begin := len(rest) - len(strings.TrimLeft(rest, " "))
		if i := strings.IndexByte(rest[begin:], ' '); i >= 0 {
			end = begin + i
		}
		word := rest[:end]
		rest = rest[end:]
		if w := draw.Columns(word); at > len(hang) && at+w > width {
			b.WriteString("\n" + hang)
			at = len(hang)
			word = strings.TrimLeft(word, " ")
		}
		b.WriteString(word)
		at += draw.Columns(word)
	}
	return strings.TrimRight(b.String(), " ")
}
