package guardrail

import "strings"

// columns are the names of columns that hold what must not be told, and its kind.
var columns = map[string]string{
	"password": "password", "passwort": "password", "kennwort": "password", "passwd": "password", "pwd": "password", "pw": "password", "pass": "password",
	"passphrase": "password", "contraseña": "password", "mot de passe": "password", "senha": "password",
	"secret access key": "api-key", "secret key": "api-key", "secret_key": "api-key", "secret": "secret", "api key": "api-key", "api_key": "api-key",
	"access token": "token", "api token": "token", "token": "token",
}

// findColumns finds what stands below a password in the head of a table: of Markdown, or
// separated by commas, semicolons or tabs. i is inside of the word. end is the end of the
// table, i where there is none: no cell of a table is the head of another one.
func findColumns(s string, i int) (found []Finding, end int) {
	const reach, most = 256, 1000
	start := i
	for start > 0 && strings.IndexByte(" \"'*`", s[start-1]) >= 0 {
		start--
	}
	if start > 0 && strings.IndexByte("|\t;,\n", s[start-1]) < 0 { // no cell begins here
		return nil, i
	}
	lo := strings.LastIndexByte(s[max(0, i-reach):i], '\n') + 1 + max(0, i-reach)
	k := strings.IndexByte(s[i:min(len(s), i+reach)], '\n')
	if k < 0 || lo > 0 && s[lo-1] != '\n' {
		return nil, i
	}
	head := strings.TrimRight(s[lo:i+k], "\r")
	for _, sep := range []string{"|", "\t", ";", ","} {
		cells := strings.Split(head, sep)
		column, kind := -1, ""
		for n, cell := range cells {
			cell = strings.ToLower(strings.Trim(cell, " \"'*`"))
			if cell == "" && n > 0 && n < len(cells)-1 || strings.ContainsAny(cell, "(){}[]=<>.:") || len(cell) > 24 { // code, a sentence
				column = -1
				break
			}
			if c := columns[cell]; c != "" && column < 0 {
				column, kind = n, c
			}
		}
		if column < 0 || len(cells) < 2 || sep == "," && (len(cells) < 3 || strings.Contains(head, ", ")) && !strings.Contains(strings.ToLower(head), "user") {
			continue
		}
		at := i + k + 1
		for range most {
			line, _, more := strings.Cut(s[at:], "\n")
			row := strings.Split(strings.TrimRight(line, "\r"), sep)
			if len(row) != len(cells) {
				break
			}
			start := at
			for n := range column {
				start += len(row[n]) + len(sep)
			}
			v := strings.Trim(row[column], " \t\"'`*")
			if v != "" && strings.Trim(v, "-:") != "" && !strings.Contains(v, " ") && len(v) >= 4 && !placeholder(v) && !stands(v) && (digits(v) > 0 || symbols(v) > 0) {
				start += strings.Index(row[column], v)
				found = append(found, Finding{kind, start, start + len(v)})
			}
			if at += len(line) + 1; !more {
				break
			}
		}
		return found, at
	}
	return nil, i
}
