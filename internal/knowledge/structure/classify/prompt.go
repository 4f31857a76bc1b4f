package classify

import (
	"embed"
	"encoding/json"
)

// files holds the prompts. They are files, so that a change to one is reviewed
// as a change in behaviour.
//
//go:embed prompts
var files embed.FS

// task is a kind of request: the rules, and the schema of the answer.
type task struct {
	name   string
	rules  string
	schema json.RawMessage
}

var classifyTask = mustTask("classify")

func mustTask(name string) task {
	read := func(ext string) []byte {
		b, err := files.ReadFile("prompts/" + name + ext)
		if err != nil {
			panic(err) // names are constants
		}
		return b
	}
	return task{name, string(read(".txt")), read(".json")}
}
