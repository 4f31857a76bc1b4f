package skill_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/skill"
)

// Whatever a file holds, it is a playbook that makes a valid claim or an error that
// says where; and reading what was read gives the same.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		deploy, "", "---", "---\n---\n", "---\n...\nx", "# A\n\nb", "---\nname: [a, {b: c}]\ndescription: >-\n  x\n---\nbody",
		"---\nmetadata:\n  a: 1.0\n  triggers: [x, y]\n? complex\n: key\n---\n", "\uFEFF---\r\nname: é\r\n---\r\n## x\r\n```\r\n",
		"---\nname: a\n<<: *x\n---\n", "---\nallowed-tools: Bash(a, b) c)\nwhen-to-use: |\n  a\n\n  b\n---\nx", "#\n##\n### \n#### a ####\nb",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := skill.Parse("dir/file.md", []byte(text))
		if err != nil {
			var e *ken.Error
			if !errors.Is(err, ken.ErrInvalid) || !errors.As(err, &e) || e.Try == "" || !strings.Contains(err.Error(), "dir/file.md") {
				t.Fatalf("%#v", err)
			}
			return
		}
		if s.Name == "" || s.Name != strings.ToLower(s.Name) || utf8.RuneCountInString(s.Name) > skill.MaxName || strings.Trim(s.Name, "-") != s.Name ||
			strings.ContainsAny(s.Name, " /\\\n\t.:") || s.Description == "" || strings.Contains(s.Description, "\n") {
			t.Fatalf("%+v", s)
		}
		c, err := s.Claim("", noon)
		if err != nil && !errors.Is(err, ken.ErrInvalid) {
			t.Fatal(err)
		}
		if err == nil && !strings.Contains(c.Text, s.Body) {
			t.Fatalf("the body is not in the claim: %q", c.Text)
		}
		again, err := skill.Parse("dir/file.md", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "read again", again, s)
	})
}
