package plainyaml

import "strings"

// Lines reads a text that is no YAML line by line: "key: value" where a line starts
// with a word, and "- item" below a key without a value. The rest is passed over.
func Lines(text string) Node {
	out := Node{Kind: Map, Line: 1}
	n := 0
	for l := range strings.Lines(text) {
		n++
		l = strings.TrimRight(l, " \t\r\n")
		bare := strings.TrimLeft(l, " \t")
		last := len(out.Fields) - 1
		if item, ok := strings.CutPrefix(bare, "- "); ok && last >= 0 {
			if v := &out.Fields[last].Value; v.Kind != Scalar {
				v.Kind = List
				v.Items = append(v.Items, Node{Kind: Scalar, Line: n, Text: unquote(item)})
			}
			continue
		}
		key, value, ok := strings.Cut(l, ":")
		if !ok || key == "" || strings.ContainsAny(key, " \t#\"'[]{}&*!|>%@`") || value != "" && !strings.ContainsAny(value[:1], " \t") {
			continue
		}
		f := Field{Key: key, Line: n, Value: Node{Line: n}}
		switch value = strings.TrimSpace(value); {
		case value == "" || value == "|" || value == ">":
		case strings.ContainsAny(value[:1], "&*!"):
			continue
		case value[0] == '[' && strings.HasSuffix(value, "]"):
			f.Value = Node{Kind: List, Line: n, Flow: true}
			for _, part := range split(value[1:len(value)-1], ",") {
				if part = unquote(part); part != "" {
					f.Value.Items = append(f.Value.Items, Node{Kind: Scalar, Line: n, Text: part})
				}
			}
		default:
			f.Value = Node{Kind: Scalar, Line: n, Text: unquote(value)}
		}
		out.Fields = append(out.Fields, f)
	}
	return out
}

// unquote takes quotes and a comment off a value.
func unquote(s string) string {
	s = strings.TrimSpace(s)
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		if end := strings.IndexByte(s[1:], s[0]); end >= 0 {
			return s[1 : 1+end]
		}
		return s[1:]
	}
	if at := strings.Index(s, " #"); at >= 0 {
		s = s[:at]
	}
	return strings.TrimSpace(s)
}
