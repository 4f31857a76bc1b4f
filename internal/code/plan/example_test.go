package plan_test

import (
	"fmt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/plan"
)

func Example() {
	token := func(s string) plan.Token {
		t, err := plan.ParseToken(s)
		if err != nil {
			panic(err)
		}
		return t
	}
	writer := plan.Agent{Name: "writer", Requires: []plan.Token{token("artifact:findings")}, Produces: []plan.Token{token("file:docs/report.md")}}
	researcher := plan.Agent{Name: "researcher", Requires: []plan.Token{token("symbol:ISessionStore")}, Produces: []plan.Token{token("artifact:findings")}}
	critic := plan.Agent{Name: "critic", Requires: []plan.Token{token("file:src/store.go")}}

	p, err := plan.New([]plan.Agent{writer, researcher, critic}, func(plan.Token) bool { return true })
	if err != nil {
		panic(err)
	}
	for i, stage := range p.Stages() {
		for _, s := range stage {
			fmt.Println(i+1, s.Agent.Name, s.Needs)
		}
	}

	researcher.Requires = append(researcher.Requires, token("file:docs/report.md"))
	err = plan.Check([]plan.Agent{writer, researcher, critic})
	fmt.Println(err)
	fmt.Println("Try:", ken.Hint(err))
	// Output:
	// 1 researcher [{symbol:ISessionStore }]
	// 1 critic [{file:src/store.go }]
	// 2 writer [{artifact:findings researcher}]
	// agents[0].requires[0]: a cycle: writer → researcher → writer (writer makes file:docs/report.md for researcher, researcher makes artifact:findings for writer)
	// Try: Take one of these tokens out of what its agent requires.
}
