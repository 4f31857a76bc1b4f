package repository

// Ignore is a list of patterns in the notation of .gitignore, the text of one file. The
// zero value ignores nothing.
type Ignore struct{ list []pattern }

// ParseIgnore reads patterns, one a line. A line that makes no sense ignores nothing.
func ParseIgnore(text string) Ignore { return Ignore{parsePatterns(text, true)} }

// Empty reports whether there is no pattern.
func (g Ignore) Empty() bool { return len(g.list) == 0 }

// Matches reports whether the patterns name a path, which has slashes and is relative to
// the folder of their file. As in git, what is in a folder that they name is named with
// it, and can't be taken out again.
func (g Ignore) Matches(rel string, dir bool) bool {
	stack := []patterns{{list: g.list}}
	for i := range rel {
		if rel[i] == '/' {
			if v, _ := match(stack, rel[:i], true); v == ignored {
				return true
			}
		}
	}
	v, _ := match(stack, rel, dir)
	return v == ignored
}
