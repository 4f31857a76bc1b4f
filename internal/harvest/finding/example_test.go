package finding_test

import (
	"fmt"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/run/session"
)

// Two calls of a session, and what they found out.
func ExampleExtract() {
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	call := func(id, name, arguments string) ken.Message {
		return ken.Message{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: id, Name: name, Arguments: arguments}}}
	}
	tr := &session.Transcript{
		Info: session.Info{About: session.About{ID: "monday", Project: "pay"}},
		Entries: []session.Entry{
			{Seq: 1, At: at, Message: call("c1", "Read", `{"file_path":"store/log.go"}`)},
			{Seq: 2, At: at, Message: ken.Message{Role: "tool", ToolCallID: "c1", Text: "// Package store keeps events in one file.\npackage store\n\nfunc Open() error {"},
				Files: map[string]string{"store/log.go": "sha256:5f70"}},
			{Seq: 3, At: at, Message: call("c2", "Bash", `{"command":"make lint"}`)},
			{Seq: 4, At: at, Message: ken.Message{Role: "tool", ToolCallID: "c2", Text: "Exit code 2\nmake: golangci-lint: No such file or directory"}},
		},
	}
	for _, f := range finding.Extract(tr, finding.Defaults()) {
		c := f.Claim(tr.Info)
		fmt.Println(c.Key)
		fmt.Println("  "+c.Text, "("+c.Support(nil).Tier.String()+")")
	}
	// Output:
	// finding:pitfall:make lint:pay
	//   `make lint` fails with exit code 2: make: golangci-lint: No such file or directory (Inferred)
	// finding:observation:store/log.go:pay
	//   store/log.go: Go package store, declares Open. Package store keeps events in one file. (Inferred)
}

func ExampleParse() {
	tools, err := finding.Parse([]string{"read:open_doc:doc_path", "-web_fetch"})
	fmt.Println(err)
	doc, _ := tools.Lookup("mcp__wiki__open_doc")
	_, fetches := tools.Lookup("WebFetch")
	fmt.Println(doc.Role, doc.Argument, fetches)
	_, err = finding.Parse([]string{"look:open_doc"})
	fmt.Println(err)
	// Output:
	// <nil>
	// read doc_path false
	// tools[0]: "look:open_doc": unknown role "look"
}
