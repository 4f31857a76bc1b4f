package coderecall

import (
	"fmt"
	"html/template"
	"io"
)

// page is the template of the report. It loads nothing and runs no script.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"percent": func(x float64) string { return fmt.Sprintf("%.0f %%", 100*x) },
	"right":   func(a Answer) bool { return a.Right() },
	"sum":     func(r Report) Figures { return Sum([]Report{r}) },
}).Parse(`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Questions about code</title>
<style>body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222}table{border-collapse:collapse;margin:1rem 0}
th,td{text-align:left;padding:.2rem .8rem .2rem 0;border-bottom:1px solid #ddd;vertical-align:top}td.n{text-align:right}.no{color:#b00020}summary{cursor:pointer}
@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}th,td{border-color:#333}.no{color:#ff8a80}}</style></head><body>
<h1>Questions about code</h1>
<table><tr><th>repository<th>questions<th>first three<th>in the block<th>code<th>names<th>declaration<th>without answer<th>silent<th>characters<th>headers</tr>
{{range .Reports}}{{with $f := sum .}}<tr><td>{{end}}{{.Repository}}{{with sum .}}{{template "figures" .}}{{end}}</tr>
{{end}}<tr><td><b>all</b>{{template "figures" .Figures}}</tr></table>
{{range .Reports}}<h2>{{.Repository}}</h2><table><tr><th>question<th>kind<th>answer at<th>code at<th>characters<th>items</tr>
{{range .Answers}}<tr><td{{if not (right .)}} class="no"{{end}}>{{.Ask}}<td>{{.Kind}}<td class="n">{{with .First}}{{.}}{{else}}–{{end}}<td class="n">{{with .CodeAt}}{{.}}{{else}}–{{end}}<td class="n">{{.Chars}}<td><details><summary>{{len .Items}}</summary>{{range .Items}}{{.}}<br>{{end}}{{with .Code}}wanted: {{.}}{{end}}</details></tr>
{{end}}</table>
{{end}}</body></html>
{{define "figures"}}<td class="n">{{.Questions}}<td class="n">{{percent .First3}}<td class="n">{{percent .InBlock}}<td class="n">{{percent .Code}}<td class="n">{{.Names}}<td class="n">{{percent .Declared}}<td class="n">{{.Absent}}<td class="n">{{percent .Silent}}<td class="n">{{.Chars}}<td class="n">{{percent .Headers}}{{end}}`))

// HTML writes reports as one page: the figures, and every question with the content of its
// block.
func HTML(w io.Writer, reports []Report) error {
	err := page.Execute(w, struct {
		Figures Figures
		Reports []Report
	}{Sum(reports), reports})
	if err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}
