package lexed

import (
	"path"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// imports reads "import a.b as c" and "from .a import b as c, d".
func (p *pythonReader) imports(i, end int) {
	p.mute(i, end)
	line := p.line(i)
	if p.is(i, "import") {
		p.list(i+1, end, func(i, end int) {
			mod, next := p.dottedName(i, end)
			if mod == "" {
				return
			}
			full, ours := p.set.python.resolve(p.file.Path, mod)
			imp := codegraph.Import{Path: p.keep(mod), Target: p.packageID(full), Line: line}
			local := mod
			if p.is(next, "as") {
				imp.Name = p.keep(p.text(next + 1))
				local = imp.Name
			} else if root, rest, ok := strings.Cut(mod, "."); ok { // known by its first part
				local, full = root, strings.TrimSuffix(full, "."+rest)
			}
			p.names[p.keep(local)] = name{}
			if ours {
				p.names[p.keep(local)] = name{qualified: p.keep(full), module: true}
			}
			p.file.Imports = append(p.file.Imports, imp)
		})
		return
	}
	i++
	dots := 0
	for ; p.op(i) == '.' || p.op(i) == opRange || p.op(i) == opSpread; i++ {
		dots += int(p.toks[i].end - p.toks[i].start)
	}
	mod, next := p.dottedName(i, end)
	if !p.is(next, "import") {
		return
	}
	written := strings.Repeat(".", dots) + mod
	if dots > 0 {
		mod = p.relative(dots, mod)
	}
	if mod == "" {
		return
	}
	ours := true
	if dots == 0 {
		mod, ours = p.set.python.resolve(p.file.Path, mod)
	}
	i = next + 1
	if p.op(i) == '(' {
		end = min(end, p.match(i))
		i++
	}
	if p.op(i) == '*' {
		p.file.Imports = append(p.file.Imports, codegraph.Import{Path: p.keep(written), Name: "*", Target: p.packageID(mod), Line: line})
		if ours {
			p.addScope(mod)
		}
		return
	}
	whole := false
	p.list(i, end, func(i, end int) {
		if p.kind(i) != word {
			return
		}
		member, local := p.text(i), p.text(i)
		if p.is(i+1, "as") && i+2 < end {
			local = p.text(i + 2)
		}
		if p.set.python.isModule(join(mod, member)) {
			imp := codegraph.Import{Path: p.keep(strings.TrimSuffix(written, ".") + "." + member), Target: p.packageID(join(mod, member)), Line: line}
			if strings.HasSuffix(written, ".") {
				imp.Path = p.keep(written + member)
			}
			if local != member {
				imp.Name = p.keep(local)
			}
			p.file.Imports = append(p.file.Imports, imp)
			p.names[p.keep(local)] = name{qualified: p.keep(join(mod, member)), module: true}
			return
		}
		whole = true
		n := name{}
		if ours {
			n.qualified = p.keep(join(mod, member))
			if path.Base(p.file.Path) == "__init__.py" { // hands it on
				p.addScope(mod)
			}
		}
		p.names[p.keep(local)] = n
	})
	if whole {
		p.file.Imports = append(p.file.Imports, codegraph.Import{Path: p.keep(written), Target: p.packageID(mod), Line: line})
	}
}

func (p *pythonReader) packageID(mod string) string {
	return p.keep(codegraph.ID(codegraph.KindPackage, mod))
}

// dottedName reads "a.b.c".
func (p *pythonReader) dottedName(i, end int) (string, int) {
	var parts []string
	for i < end && p.name(i) {
		parts = append(parts, p.text(i))
		i++
		if p.op(i) != '.' {
			break
		}
		i++
	}
	return strings.Join(parts, "."), i
}

// relative makes a module's name of one that begins with dots.
func (p *pythonReader) relative(dots int, mod string) string {
	base := p.scope
	if stem := path.Base(p.file.Path); stem != "__init__.py" && stem != "__init__.pyi" {
		base = parentModule(base)
	}
	for ; dots > 1; dots-- {
		base = parentModule(base)
	}
	return join(base, mod)
}

func parentModule(m string) string {
	i := strings.LastIndexByte(m, '.')
	if i < 0 {
		return ""
	}
	return m[:i]
}
