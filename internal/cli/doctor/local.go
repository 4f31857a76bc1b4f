package doctor

import (
	"cmp"
	"context"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken/internal/cli"
)

// localServer is a program that serves models on this machine, where it listens unless told
// otherwise.
type localServer struct{ name, url string }

// localServers are looked for where no model is configured.
var localServers = []localServer{
	{"Ollama", "http://127.0.0.1:11434/v1"},
	{"LM Studio", "http://127.0.0.1:1234/v1"},
	{"llama.cpp", "http://127.0.0.1:8080/v1"},
}

// localTimeout bounds the question to each.
const localTimeout = 500 * time.Millisecond

// programs are commands that a login is often there for already, as harvest.command wants them.
var programs = [][]string{{"claude", "-p"}, {"codex", "exec", "--skip-git-repo-check", "-"}, {"llm"}}

// suggestModel says how to use a model here: a server that answers, else a program that is
// installed, else where to read on.
func suggestModel(ctx context.Context, servers []localServer) string {
	for _, f := range findLocal(ctx, servers) {
		if f.model != "" {
			return f.name + " serves " + f.model + " here. Put this into " + cli.UserConfigName() + " to use it: upstream: {base_url: \"" + f.url + "\", model: \"" + f.model + "\", api_key_env: \"\"}"
		}
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p[0]); err == nil {
			return p[0] + " is installed. Put this into " + cli.UserConfigName() + " to use your login: harvest: {command: [" + strings.Join(quoted(p), ", ") + "]}"
		}
	}
	return "Set upstream.base_url and upstream.model, or harvest.command, in " + cli.UserConfigName() + "; or harvest.model to off, if rules are to do it."
}

// quoted writes words so that YAML reads each as text.
func quoted(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = "\"" + w + "\""
	}
	return out
}

// foundServer is a local server that answered, with a model that can chat; "" where it has none.
type foundServer struct {
	localServer
	model string
}

// findLocal asks all servers at once which models they serve.
func findLocal(ctx context.Context, servers []localServer) (out []foundServer) {
	found := make([]*foundServer, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		all.Go(func() {
			o := openai.DefaultConfig("")
			o.BaseURL = s.url
			o.HTTPClient = &http.Client{Timeout: localTimeout, Transport: &http.Transport{DisableKeepAlives: true}, // no proxy: it is this machine
				CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			list, err := openai.NewClientWithConfig(o).ListModels(ctx)
			if err == nil {
				found[i] = &foundServer{s, chatModel(list)}
			}
		})
	}
	all.Wait()
	for _, f := range found {
		if f != nil {
			out = append(out, *f)
		}
	}
	return out
}

// chatModel is the first model of a list that is not made for embeddings.
func chatModel(list openai.ModelsList) string {
	for _, m := range list.Models {
		if id := cli.Cell(m.ID); id != "" && len(id) < 200 && !strings.ContainsAny(id, "\"\\") && !strings.Contains(strings.ToLower(id), "embed") && !strings.Contains(strings.ToLower(id), "rerank") {
			return id
		}
	}
	return ""
}

// examineCommand says whether the program that extracts is there. It is not run: that may cost
// something.
func examineCommand(args []string) finding {
	const check = "harvest"
	path, err := exec.LookPath(args[0])
	if err != nil {
		return warned(check, cmp.Or(args[0], "the command")+" is not found; rules extract meanwhile", "Install it, or give the path of the program in harvest.command.")
	}
	return passed(check, "%s extracts", path)
}
