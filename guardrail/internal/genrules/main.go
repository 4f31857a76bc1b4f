// Command genrules generates guardrail's table of gitleaks rules from gitleaks'
// configuration.
//
// The table has the knowledge of the rules, but not the way in which gitleaks runs
// them. Gitleaks checks files, one regular expression after the other, and reports
// a line; guardrail checks every text that is written, and replaces exactly the
// secret. So each rule is split into an anchor, which is four bytes that every
// match has at a known position, and conditions on the text around it. A rule that
// can't be split, or that is left out on purpose, is listed in the table with the
// reason.
//
// To use a new version of gitleaks, download its module and run this program on
// its config/gitleaks.toml:
//
//	genrules -version v8.30.1 -out gitleaks_rules.go .../config/gitleaks.toml
//
// The changes are visible in the diff. The tests of package guardrail make a
// sample for every rule and search for it.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	version := flag.String("version", "", "the version of gitleaks that the configuration comes from")
	out := flag.String("out", "gitleaks_rules.go", "the file to write")
	flag.Parse()
	if err := run(*version, *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "genrules:", err)
		os.Exit(1) //nolint:forbidigo // a main of its own, as those under cmd are
	}
}

func run(version, out string, args []string) error {
	if len(args) != 1 || version == "" {
		return fmt.Errorf("give -version and the path of gitleaks.toml")
	}
	b, err := os.ReadFile(args[0])
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	c, err := parse(string(b))
	if err != nil {
		return fmt.Errorf("read %s: %w", args[0], err)
	}
	src, err := render(version, convertAll(c))
	if err != nil {
		return err
	}
	return os.WriteFile(out, src, 0o644)
}
