package patch

import "strings"

// parseEnvelope reads the form of apply_patch.
func parseEnvelope(text string) []File {
	var out []File
	var f *File
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if head, ok := strings.CutPrefix(line, "*** "); ok {
			what, name, _ := strings.Cut(head, ": ")
			name = strings.TrimSpace(name)
			op, opens := map[string]Op{"Add File": Add, "Update File": Update, "Delete File": Delete}[what]
			switch {
			case opens && name != "":
				out = append(out, File{Path: name, Op: op})
				f = &out[len(out)-1]
			case what == "Move to" && f != nil:
				f.To = name
			case what == "End Patch":
				f = nil
			}
			continue
		}
		if f == nil {
			continue
		}
		if at, ok := strings.CutPrefix(line, "@@"); ok {
			f.context(at)
			continue
		}
		f.line(line)
	}
	return out
}
