package model

import (
	"embed"
	"encoding/json"
	"strings"
	"sync"
	"text/template"
)

// The prompts are files, so that a change to one is reviewed as a change in
// behaviour. Their delimiters are none that a prompt shows. Text of a session
// never passes through a template.
//
//go:embed prompts
var files embed.FS

var prompts = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Delims("<%", "%>").ParseFS(files, "prompts/*.txt"))
})

// task is what a request asks for: rules, and the schema of the answer.
type task struct {
	name   string
	rules  string
	schema json.RawMessage
	warmth float64 // the temperature
}

// task returns the task of that name, with the Client's limits in its rules.
func (c *Client) task(name string) task {
	schema, err := files.ReadFile("prompts/" + name + ".json")
	if err != nil {
		panic(err) // a name of ours
	}
	return task{name: name, rules: fill(name, c.opts), schema: schema, warmth: coldest}
}

// system is the system message: the rules, with the schema when the endpoint is
// not told of it otherwise.
func (t task) system(withSchema bool) string {
	if !withSchema {
		return t.rules
	}
	return t.rules + fill("schema", struct{ Schema string }{strings.TrimSpace(string(t.schema))})
}

// repair asks for the answer again.
func repair(problems []string) string {
	return fill("repair", struct{ Problems []string }{problems})
}

func fill(name string, data any) string {
	var b strings.Builder
	if err := prompts().ExecuteTemplate(&b, name+".txt", data); err != nil {
		panic(err) // prompts and data are ours
	}
	return b.String()
}
