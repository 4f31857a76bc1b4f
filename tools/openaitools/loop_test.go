package openaitools_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/tools"
	"github.com/kenlayer/ken/tools/openaitools"
)

func registry(t testing.TB) *tools.Registry {
	t.Helper()
	c := config.Default()
	c.Retrieval.Deadline = 30 * time.Second // a busy machine must not change what is found
	c.Repository.Index = false
	l, err := middleware.Open(context.Background(), middleware.Options{Root: t.TempDir(), Config: &c, Foreground: true, Strict: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return tools.New(l)
}

var agent = tools.Caller{Session: "s1", Agent: "loop", Rights: tools.Rights()}

// script is a model that gives these answers in turn.
type script struct {
	answers []openai.ChatCompletionMessage
	asked   [][]openai.ChatCompletionMessage
	offered []int
	err     error // of what comes after the answers
}

func (s *script) ask(_ context.Context, messages []openai.ChatCompletionMessage, offered []openai.Tool) (openai.ChatCompletionMessage, error) {
	s.asked, s.offered = append(s.asked, messages), append(s.offered, len(offered))
	if len(s.answers) == 0 {
		return openai.ChatCompletionMessage{Content: "half of"}, s.err
	}
	m := s.answers[0]
	s.answers = s.answers[1:]
	return m, nil
}

func says(text string) openai.ChatCompletionMessage {
	return openai.ChatCompletionMessage{Role: "assistant", Content: text}
}

func calls(list ...[2]string) openai.ChatCompletionMessage {
	m := openai.ChatCompletionMessage{Role: "assistant"}
	for i, c := range list {
		m.ToolCalls = append(m.ToolCalls, openai.ToolCall{ID: fmt.Sprint("call_", i), Type: "function", Function: openai.FunctionCall{Name: c[0], Arguments: c[1]}})
	}
	return m
}

var question = []openai.ChatCompletionMessage{{Role: "user", Content: "When do I deploy?"}}

func TestLoop(t *testing.T) {
	r := registry(t)
	m := &script{answers: []openai.ChatCompletionMessage{
		calls([2]string{"memory_ingest", `{"text":"The user deploys on Tuesdays."}`}, [2]string{"memory_recal", `{}`}, [2]string{"memory_recall", `{"limit":"x"}`}),
		calls([2]string{"memory_recall", `{"query":"when does the user deploy?"}`}),
		says("On Tuesdays."),
	}}
	var told []string
	loop := openaitools.Loop{Registry: r, Caller: agent, Ask: m.ask, Called: func(c openai.ToolCall, _ tools.Result, err error) {
		told = append(told, fmt.Sprintf("%s %v", c.Function.Name, err == nil))
	}}
	added, err := loop.Run(context.Background(), question)
	if err != nil {
		t.Fatal(err)
	}
	if len(added) != 7 || added[6].Content != "On Tuesdays." {
		t.Fatalf("added %+v", added)
	}
	for i, want := range map[int]string{1: "Learned as a new claim.", 2: "did you mean memory_recall?", 3: "query: is missing", 5: "deploys on Tuesdays"} {
		if got := added[i]; got.Role != "tool" || got.ToolCallID == "" || !strings.Contains(got.Content, want) {
			t.Errorf("message %d: %+v, want %q", i, got, want)
		}
	}
	if want := "[memory_ingest true memory_recal false memory_recall false memory_recall true]"; fmt.Sprint(told) != want {
		t.Errorf("told %v", told)
	}
	if len(question) != 1 || len(m.asked[2]) != 7 {
		t.Errorf("asked with %d messages", len(m.asked[2]))
	}
}

// A model that never stops calling is asked to answer in words.
func TestLoopEnds(t *testing.T) {
	m := &script{}
	for range 10 {
		m.answers = append(m.answers, calls([2]string{"memory_stats", `{}`}))
	}
	loop := openaitools.Loop{Registry: registry(t), Caller: agent, Ask: m.ask, Rounds: 3}
	added, err := loop.Run(context.Background(), question)
	if err != nil || len(m.offered) != 4 || m.offered[3] != 0 || m.offered[0] == 0 {
		t.Fatalf("offered %v, %v", m.offered, err)
	}
	if last := added[len(added)-1]; last.Role != "assistant" || len(last.ToolCalls) != 0 {
		t.Errorf("it ends with %+v", last)
	}
}

// An answer that calls for more than is run at once leaves no call without an answer.
func TestLoopAnswersEveryCall(t *testing.T) {
	var many [][2]string
	for range 20 {
		many = append(many, [2]string{"memory_stats", `{}`})
	}
	m := &script{answers: []openai.ChatCompletionMessage{calls(many...), says("done")}}
	loop := openaitools.Loop{Registry: registry(t), Caller: agent, Ask: m.ask}
	added, err := loop.Run(context.Background(), question)
	if err != nil || len(added) != 22 || !strings.Contains(added[20].Content, "Too many calls") {
		t.Errorf("%d messages, %v", len(added), err)
	}
}

func TestLoopStops(t *testing.T) {
	r := registry(t)
	down := errors.New("down")
	m := &script{answers: []openai.ChatCompletionMessage{calls([2]string{"memory_stats", `{}`})}, err: down}
	loop := openaitools.Loop{Registry: r, Caller: agent, Ask: m.ask}
	added, err := loop.Run(context.Background(), question)
	if !errors.Is(err, down) || len(added) != 3 || added[2].Content != "half of" {
		t.Errorf("%+v, %v", added, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m = &script{answers: []openai.ChatCompletionMessage{calls([2]string{"memory_stats", `{}`}), says("never")}}
	loop = openaitools.Loop{Registry: r, Caller: agent, Ask: m.ask, Called: func(openai.ToolCall, tools.Result, error) { cancel() }}
	if added, err = loop.Run(ctx, question); !errors.Is(err, context.Canceled) || len(added) != 2 || len(m.asked) != 1 {
		t.Errorf("%+v, %v", added, err)
	}
}

// A program's own tools run beside those of the registry.
func TestLoopWithOtherTools(t *testing.T) {
	m := &script{answers: []openai.ChatCompletionMessage{calls([2]string{"weather", `{}`}, [2]string{"broken", `{}`}, [2]string{"down", `{}`}), says("done")}}
	loop := openaitools.Loop{Registry: registry(t), Caller: agent, Ask: m.ask, Offered: []openai.Tool{{Type: "function"}},
		Others: func(_ context.Context, c openai.ToolCall) (string, error) {
			switch c.Function.Name {
			case "weather":
				return "sunny", nil
			case "down":
				return "", errors.New("dial 10.0.0.7: no key hunter2")
			}
			return "", &ken.Error{Code: ken.CodeInvalid, Msg: "it is broken"}
		}}
	added, err := loop.Run(context.Background(), question)
	if err != nil || added[1].Content != "sunny" || !strings.Contains(added[2].Content, "it is broken") || !strings.Contains(added[3].Content, "failed") || strings.Contains(added[3].Content, "hunter2") || strings.Contains(added[3].Content, "log") || m.offered[0] != len(loop.Registry.Tools(agent))+1 {
		t.Errorf("%+v, offered %v, %v", added, m.offered, err)
	}
}

type client struct{ openai.ChatCompletionResponse }

func (c client) CreateChatCompletion(context.Context, openai.ChatCompletionRequest) (openai.ChatCompletionResponse, error) {
	return c.ChatCompletionResponse, nil
}

func TestClient(t *testing.T) {
	if _, err := openaitools.Client(client{}, openai.ChatCompletionRequest{})(context.Background(), nil, nil); !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("no choices: %v", err)
	}
	c := client{openai.ChatCompletionResponse{Choices: []openai.ChatCompletionChoice{{Message: says("hello")}}}}
	if m, err := openaitools.Client(c, openai.ChatCompletionRequest{})(context.Background(), nil, nil); err != nil || m.Content != "hello" {
		t.Errorf("%+v, %v", m, err)
	}
}
