package memoryfile

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/projectfile"
)

// Dir is the folder, below the project's root, of knowledge that a team commits: text that people
// read and edit, such as MEMORY.md and lifecycle.yaml.
const Dir = ".ken/knowledge"

// Name is the name of the file, also in errors.
const Name = "MEMORY.md"

const intro = `# Memory

What Ken holds in every turn, and candidates for it. Generated; edits are read with ken memory sync: tick a box to approve, put a - into
it to reject, change a text, or add a line such as "- [x] Deploys need a ticket."

`

const sumLine = "<!-- ken:sum "

// maxCandidates bounds the candidates in the file. The review lists all of them.
const maxCandidates = 100

// maxBytes is the maximum size of the file, since a project may have any file
// with this name.
const maxBytes = 16 << 20

// Read reads a file of at most 16 MiB. Its errors are those of
// projectfile.ReadFile.
func Read(path string) ([]byte, error) { return projectfile.ReadFile(path, maxBytes) }

// File is a parsed memory file.
type File struct {
	Lines  []Line
	Edited bool // changed since it was generated
}

// Render returns the file for claims of kinds hot and pattern: those in every
// turn, newest first, then candidates, most reinforced first. The same claims
// give the same bytes.
func Render(claims []ken.Claim) []byte {
	var held, wanted []ken.Claim
	for _, c := range claims {
		if c.Status == ken.StatusHypothesis {
			wanted = append(wanted, c)
		} else {
			held = append(held, c)
		}
	}
	slices.SortFunc(held, func(a, b ken.Claim) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	slices.SortFunc(wanted, func(a, b ken.Claim) int { return MostReinforced(&a, &b) })
	var b bytes.Buffer
	b.WriteString(intro)
	list := func(title, none string, claims []ken.Claim) {
		fmt.Fprintf(&b, "## %s\n\n", title)
		if len(claims) == 0 {
			b.WriteString(none + "\n")
		}
		for i := range claims {
			b.WriteString(render(&claims[i]))
		}
		b.WriteByte('\n')
	}
	list("In every turn", "Nothing yet.", held)
	list("Candidates", "None.", wanted[:min(len(wanted), maxCandidates)])
	fmt.Fprintf(&b, "%s%s -->\n", sumLine, sum(b.Bytes()))
	return b.Bytes()
}

// MostReinforced orders candidates as a review shows them: most reinforced first,
// then the latest, then by id.
func MostReinforced(a, b *ken.Claim) int {
	return cmp.Or(cmp.Compare(b.Reinforcements, a.Reinforcements), b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(a.ID, b.ID))
}

func sum(body []byte) string {
	h := sha256.Sum256(body)
	return hex.EncodeToString(h[:])
}

// Parse parses the file. An error is ErrInvalid, and its field is the file's name
// with the line number.
func Parse(b []byte) (File, error) {
	if !utf8.Valid(b) {
		return File{}, invalid(0, "is not UTF-8")
	}
	var f File
	f.Edited = !generated(b)
	seen := map[string]int{}
	n := 0
	for s := range strings.Lines(string(b)) {
		n++
		s = strings.TrimRight(s, " \t\r\n")
		switch {
		case s == "", strings.HasPrefix(s, "#"), strings.HasPrefix(s, sumLine), !strings.HasPrefix(s, "-"):
			continue // people may write anything between the lines of claims
		}
		l, why := parseLine(s)
		if why != "" {
			return File{}, invalid(n, why)
		}
		if l.Number = n; l.ID != "" {
			if first := seen[l.ID]; first > 0 {
				return File{}, invalid(n, fmt.Sprintf("has the id of line %d", first))
			}
			seen[l.ID] = n
		}
		f.Lines = append(f.Lines, l)
	}
	return f, nil
}

// generated reports whether the checksum at the end matches the text before it.
func generated(b []byte) bool {
	at := bytes.LastIndex(b, []byte(sumLine))
	if at < 0 {
		return false
	}
	return string(bytes.TrimSpace(b[at:])) == sumLine+sum(b[:at])+" -->"
}

func invalid(line int, why string) error {
	field := Name
	if line > 0 {
		field = fmt.Sprintf("%s:%d", Name, line)
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: "the line " + why,
		Try: "Mend the line, or take it out; the file was not changed."}
}
