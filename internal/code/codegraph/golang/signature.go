package golang

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

const (
	maxSignature  = 200 // bytes of a signature or a sentence, as required by codegraph.Decl
	maxShownValue = 400 // bytes of source; a longer value is not shown
)

// describe fills in signatures and comments.
func (o *Outline) describe() {
	var last ast.Expr // the type that constants without a type repeat
	var group *ast.GenDecl
	for i, n := range o.nodes {
		d := &o.Decls[i]
		gen := o.specs[i]
		if gen != group {
			group, last = gen, nil
		}
		switch n := n.(type) {
		case *ast.File:
			d.Signature, d.Doc = "package "+d.Name, sentence(n.Doc)
		case *ast.FuncDecl:
			d.Signature, d.Doc = codegraph.Clip(function(n)), sentence(n.Doc)
		case *ast.TypeSpec:
			d.Signature, d.Doc = codegraph.Clip(typeHead(n)), sentence(n.Doc, groupDoc(gen), n.Comment)
		case *ast.ValueSpec:
			if n.Type != nil || len(n.Values) > 0 {
				last = n.Type
			}
			d.Signature, d.Doc = codegraph.Clip(value(gen.Tok, n, d.Name, last)), sentence(n.Doc, groupDoc(gen), n.Comment)
		case *ast.Field:
			d.Signature, d.Doc = codegraph.Clip(member(d, n)), sentence(n.Doc, n.Comment)
		}
	}
}

// groupDoc returns the comment of a declaration that is alone in its group.
func groupDoc(d *ast.GenDecl) *ast.CommentGroup {
	if d.Lparen.IsValid() && len(d.Specs) > 1 {
		return nil
	}
	return d.Doc
}

func function(d *ast.FuncDecl) string {
	var b strings.Builder
	b.WriteString("func ")
	if d.Recv != nil && len(d.Recv.List) > 0 {
		recv := d.Recv.List[0]
		b.WriteByte('(')
		if len(recv.Names) > 0 {
			b.WriteString(recv.Names[0].Name + " ")
		}
		b.WriteString(exprText(recv.Type) + ") ")
	}
	b.WriteString(d.Name.Name)
	typeParams(&b, d.Type.TypeParams)
	b.WriteString(strings.TrimPrefix(exprText(&ast.FuncType{Params: d.Type.Params, Results: d.Type.Results}), "func"))
	return b.String()
}

func typeHead(s *ast.TypeSpec) string {
	var b strings.Builder
	b.WriteString("type " + s.Name.Name)
	typeParams(&b, s.TypeParams)
	if s.Assign.IsValid() {
		b.WriteString(" =")
	}
	b.WriteByte(' ')
	switch ast.Unparen(s.Type).(type) {
	case *ast.StructType:
		b.WriteString("struct")
	case *ast.InterfaceType:
		b.WriteString("interface")
	default:
		b.WriteString(exprText(s.Type))
	}
	return b.String()
}

func typeParams(b *strings.Builder, list *ast.FieldList) {
	for i, f := range fields(list) {
		b.WriteString([2]string{"[", ", "}[min(i, 1)])
		for k, id := range f.Names {
			b.WriteString([2]string{"", ", "}[min(k, 1)] + id.Name)
		}
		b.WriteString(" " + exprText(f.Type))
	}
	if len(fields(list)) > 0 {
		b.WriteByte(']')
	}
}

func value(tok token.Token, s *ast.ValueSpec, name string, typ ast.Expr) string {
	var b strings.Builder
	b.WriteString(tok.String() + " " + name)
	if s.Type != nil {
		typ = s.Type
	}
	if typ != nil && (s.Type != nil || tok == token.CONST) {
		b.WriteString(" " + exprText(typ))
	}
	if len(s.Values) != len(s.Names) {
		return b.String()
	}
	for i, id := range s.Names {
		if id.Name == name {
			b.WriteString(" = " + exprText(s.Values[i]))
			break
		}
	}
	return b.String()
}

func member(d *codegraph.Decl, f *ast.Field) string {
	switch {
	case d.Kind == codegraph.KindMethod && len(f.Names) > 0:
		if t, ok := f.Type.(*ast.FuncType); ok {
			return d.Name + strings.TrimPrefix(exprText(t), "func")
		}
	case len(f.Names) == 0:
		return exprText(f.Type)
	}
	return d.Name + " " + exprText(f.Type)
}

// exprText prints an expression.
func exprText(e ast.Expr) string {
	if e == nil {
		return ""
	}
	if _, ok := e.(*ast.FuncType); !ok && e.End()-e.Pos() > maxShownValue {
		return "…"
	}
	return types.ExprString(e)
}

// sentence returns the first sentence of the first comment that is not empty.
func sentence(comments ...*ast.CommentGroup) string {
	for _, c := range comments {
		if s := firstSentence(c.Text()); s != "" {
			return strings.Clone(codegraph.Clip(s))
		}
	}
	return ""
}

// firstSentence cuts a text after its first sentence: at a full stop before white space, unless it ends an abbreviation
// or an initial, or at the end of the paragraph.
func firstSentence(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n\n")
	for i := 0; i+1 < len(s) && i < 4*maxSignature; i++ {
		if s[i] != '.' && s[i] != '!' && s[i] != '?' || !strings.ContainsRune(" \n\t", rune(s[i+1])) {
			continue
		}
		word := s[strings.LastIndexAny(s[:i], " \n\t(")+1 : i]
		if s[i] == '.' && (len(word) < 2 || strings.Contains(word, ".") && len(word) < 4 || word == "etc" && !endsSentence(s[i+1:]) || word == "vs" || word == "cf") {
			continue
		}
		return s[:i+1]
	}
	return s
}

// endsSentence reports whether the text after a full stop begins with a capital letter.
func endsSentence(rest string) bool {
	rest = strings.TrimSpace(rest)
	return rest == "" || rest[0] >= 'A' && rest[0] <= 'Z'
}

func (o *outliner) typeSpec(d *ast.GenDecl, s *ast.TypeSpec, from, to token.Pos) {
	if blank(s.Name) || s.Type == nil {
		return
	}
	kind := codegraph.KindType
	if _, ok := ast.Unparen(s.Type).(*ast.InterfaceType); ok {
		kind = codegraph.KindInterface
	}
	at := o.add(s, d, s.Name, codegraph.Decl{Kind: kind, Name: s.Name.Name, Qualified: o.pkg + "." + s.Name.Name, Parent: -1, Exported: s.Name.IsExported()}, from, to)
	o.types[s.Name.Name] = at
	if s.TypeParams != nil {
		o.part(at, s.TypeParams, s.TypeParams)
	}
	switch t := ast.Unparen(s.Type).(type) {
	case *ast.StructType:
		o.members(at, codegraph.KindProperty, t.Fields, s.TypeParams)
	case *ast.InterfaceType:
		o.members(at, codegraph.KindMethod, t.Methods, s.TypeParams)
	default:
		o.part(at, s.Type, s.TypeParams)
	}
}

// members declares the fields of a struct or the methods of an interface.
func (o *outliner) members(owner int, kind codegraph.Kind, list *ast.FieldList, params *ast.FieldList) {
	for _, f := range fields(list) {
		if f.Type == nil {
			continue
		}
		for _, id := range f.Names {
			at := owner
			if !blank(id) {
				at = o.member(owner, kind, f, id)
			}
			o.part(at, f.Type, params)
		}
		if len(f.Names) > 0 {
			continue
		}
		id := Named(f.Type) // nil for a union
		if kind == codegraph.KindProperty && !blank(id) {
			o.member(owner, kind, f, id)
		}
		o.Parts = append(o.Parts, Part{From: owner, Node: f.Type, Params: params, Embedded: id != nil})
	}
}

func (o *outliner) member(owner int, kind codegraph.Kind, f *ast.Field, id *ast.Ident) int {
	t := o.Decls[owner]
	return o.add(f, nil, id, codegraph.Decl{Kind: kind, Name: id.Name, Qualified: t.Qualified + "." + id.Name, Parent: owner,
		Exported: t.Exported && id.IsExported()}, f.Pos(), f.End())
}

// Named returns the name of the type or function that an expression names, without type arguments; nil for none.
func Named(e ast.Expr) *ast.Ident {
	switch x := bare(e).(type) {
	case *ast.Ident:
		return x
	case *ast.SelectorExpr:
		return x.Sel
	}
	return nil
}
