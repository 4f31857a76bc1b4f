package doctor

import (
	"cmp"
	"context"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken/internal/cli"
)

// localServer is a program that serves models on this machine, with its default address.
type localServer struct{ name, url string }

// localServers are tried when no model is configured.
var localServers = []localServer{
	{"Ollama", "http://127.0.0.1:11434/v1"},
	{"LM Studio", "http://127.0.0.1:1234/v1"},
	{"llama.cpp", "http://127.0.0.1:8080/v1"},
}

// localTimeout is the longest wait for each local server.
const localTimeout = 500 * time.Millisecond

// knownCommands lists commands that often have a login already, in the form of harvest.command.
var knownCommands = [][]string{{"claude", "-p"}, {"codex", "exec", "--skip-git-repo-check", "-"}, {"llm"}}

// suggestModel says how to use a model on this machine: a server that answers, else an
// installed program, else the documentation.
func suggestModel(ctx context.Context, servers []localServer) string {
	for _, f := range findLocal(ctx, servers) {
		if f.model != "" {
			return f.name + " serves " + f.model + " here. Put this into " + cli.UserConfigName() + " to use it: upstream: {base_url: \"" + f.url + "\", model: \"" + f.model + "\", api_key_env: \"\"}"
		}
	}
	for _, p := range knownCommands {
		if _, err := exec.LookPath(p[0]); err == nil {
			return p[0] + " is installed. Put this into " + cli.UserConfigName() + " to use your login: harvest: {command: [" + strings.Join(quoted(p), ", ") + "]}"
		}
	}
	return "Set upstream.base_url and upstream.model, or harvest.command, in " + cli.UserConfigName() + "; or set harvest.model to off to extract with rules."
}

// quoted quotes words so that YAML reads each as a string.
func quoted(words []string) []string {
	return cli.Map(words, func(w *string) string { return `"` + *w + `"` })
}

// foundServer is a local server that answered, with a chat model that it has, or "".
type foundServer struct {
	localServer
	model string
}

// findLocal asks all servers for their models at the same time.
func findLocal(ctx context.Context, servers []localServer) (out []foundServer) {
	out = make([]foundServer, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		all.Go(func() {
			o := openai.DefaultConfig("")
			o.BaseURL = s.url
			o.HTTPClient = &http.Client{Timeout: localTimeout, Transport: &http.Transport{DisableKeepAlives: true}, // no proxy: the server is local
				CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			list, err := openai.NewClientWithConfig(o).ListModels(ctx)
			if err == nil {
				out[i] = foundServer{s, chatModel(list)}
			}
		})
	}
	all.Wait()
	return slices.DeleteFunc(out, func(f foundServer) bool { return f.url == "" })
}

// chatModel returns the first model of a list that is not an embedding model.
func chatModel(list openai.ModelsList) string {
	for _, m := range list.Models {
		if id := cli.Cell(m.ID); id != "" && len(id) < 200 && !strings.ContainsAny(id, "\"\\") && !strings.Contains(strings.ToLower(id), "embed") && !strings.Contains(strings.ToLower(id), "rerank") {
			return id
		}
	}
	return ""
}

// examineCommand checks that the program of harvest.command exists. It does not run it,
// because that may cost money.
func examineCommand(args []string) finding {
	const check = "harvest"
	path, err := exec.LookPath(args[0])
	if err != nil {
		return warned(check, cmp.Or(args[0], "the command")+" is not found; rules extract meanwhile", "Install it, or give the path of the program in harvest.command.")
	}
	return passed(check, "%s extracts", path)
}
