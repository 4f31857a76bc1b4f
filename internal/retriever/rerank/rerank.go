// Package rerank asks a service which texts answer a question best: POST /rerank, as Cohere,
// Jina, Voyage, Infinity, vLLM and text-embeddings-inference serve it.
//
// A [Client] sends the question and the texts and gets a score for each. It waits for its deadline
// at most. It has a circuit breaker: a service that keeps failing is not called for a while.
package rerank

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/breaker"
)

// Options configures a Client. BaseURL is required.
type Options struct {
	BaseURL  string        // without /rerank
	Model    string        // "" if the service has only one model
	Key      string        // sent as a bearer token; "" sends none
	Deadline time.Duration // of one call; 0 or less means 300 ms
	Breaker  breaker.Options
}

// Client calls one service. It is safe for concurrent use.
type Client struct {
	o       Options
	http    *http.Client
	circuit *breaker.Breaker
	texts   atomic.Bool // the service expects the field texts, not documents
}

// New returns a client. It makes no request.
func New(o Options) *Client {
	o.Deadline = cmp.Or(max(o.Deadline, 0), 300*time.Millisecond)
	o.Breaker.Name = cmp.Or(o.Breaker.Name, "rerank")
	return &Client{o: o, circuit: breaker.New(o.Breaker), http: &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 8, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // texts go only to the configured address
	}}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Scores returns a score for each text, higher for a better answer to the question. Scores of
// different calls can't be compared.
func (c *Client) Scores(ctx context.Context, question string, texts []string) (scores []float64, err error) {
	err = c.circuit.Do(ctx, func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeout(ctx, c.o.Deadline)
		defer cancel()
		if scores, err = c.ask(ctx, question, texts); errors.Is(err, errOtherField) {
			c.texts.Store(!c.texts.Load())
			scores, err = c.ask(ctx, question, texts)
		}
		return err
	})
	return scores, err
}

// errOtherField means that the service could not read the request. Most services call the texts
// "documents", some "texts".
var errOtherField = errors.New("the service refused the request")

func (c *Client) ask(ctx context.Context, question string, texts []string) ([]float64, error) {
	request := map[string]any{"query": question, "documents": texts}
	if c.texts.Load() {
		request = map[string]any{"query": question, "texts": texts}
	}
	if c.o.Model != "" {
		request["model"] = c.o.Model
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(c.o.BaseURL, "/")+"/rerank", bytes.NewReader(body))
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "rerank.base_url", Msg: "not the URL of a service", Try: "Write it as https://api.jina.ai/v1.", Err: err}
	}
	r.Header.Set("Content-Type", "application/json")
	if c.o.Key != "" {
		r.Header.Set("Authorization", "Bearer "+c.o.Key)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, c.fault("does not answer", err)
	}
	defer resp.Body.Close() // it was only read
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, c.fault("stopped in mid-answer", err)
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "rerank.key_env", Msg: "the reranker refused the key", Try: "Put a valid key into the environment variable that rerank.key_env names."}
	case resp.StatusCode == http.StatusBadRequest, resp.StatusCode == http.StatusUnprocessableEntity:
		return nil, c.fault(fmt.Sprintf("answered %d", resp.StatusCode), errOtherField)
	case resp.StatusCode != http.StatusOK:
		return nil, c.fault(fmt.Sprintf("answered %d", resp.StatusCode), nil)
	}
	scores, err := Parse(answer, len(texts))
	if err != nil {
		return nil, c.fault("answered wrongly", err)
	}
	return scores, nil
}

func (c *Client) fault(what string, err error) error {
	return &ken.Error{Code: ken.CodeUnavailable, Field: "rerank.base_url", Msg: "the reranker at " + c.o.BaseURL + " " + what, Try: "See that the service runs, or leave rerank.base_url empty.", Err: err}
}

// maxAnswer is the maximum size of an answer in bytes.
const maxAnswer = 1 << 20

// Parse parses the scores of n texts from an answer: a list of objects with index and score, or an
// object with such a list as results or data. It returns an error if a text has no score, two
// scores, or one that is not a number.
func Parse(answer []byte, n int) ([]float64, error) {
	type entry struct {
		Index     *int     `json:"index"`
		Score     *float64 `json:"score"`
		Relevance *float64 `json:"relevance_score"`
	}
	var list []entry
	if err := json.Unmarshal(answer, &list); err != nil {
		var in struct{ Results, Data []entry }
		if err := json.Unmarshal(answer, &in); err != nil {
			return nil, fmt.Errorf("read the scores: %w", err)
		}
		list = append(in.Results, in.Data...)
	}
	if len(list) != n {
		return nil, fmt.Errorf("%d scores for %d texts", len(list), n)
	}
	scores, has := make([]float64, n), make([]bool, n)
	for _, e := range list {
		score := e.Score
		if score == nil {
			score = e.Relevance
		}
		if e.Index == nil || *e.Index < 0 || *e.Index >= n || has[*e.Index] || score == nil || math.IsInf(*score, 0) || math.IsNaN(*score) {
			return nil, errors.New("a text has no score, or more than one")
		}
		scores[*e.Index], has[*e.Index] = *score, true
	}
	return scores, nil
}
