package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/embed/exchange"
)

// Configuration keys that an error may name.
const (
	fieldModel      = "knowledge.embed_model"
	fieldURL        = "knowledge.embed_base_url"
	fieldKey        = "knowledge.embed_api_key_env"
	fieldDimensions = "knowledge.embed_dimensions"
)

// explain converts a failed embeddings request into an error that says what to do. ctx
// is the caller's.
func (e *Embedder) explain(ctx context.Context, x *exchange.Exchange, err error) error {
	if x.Status == http.StatusNotFound || aboutModel(x) {
		return e.explainModel(ctx, x)
	}
	return e.explainList(ctx, x, err)
}

// explainList is explain without checking whether the model is served.
func (e *Embedder) explainList(ctx context.Context, x *exchange.Exchange, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case x.Status == 0:
		return e.unreachable(err)
	case x.OK():
		return e.unreadable(x)
	case x.Status == http.StatusUnauthorized || x.Status == http.StatusForbidden:
		return &ken.Error{Code: ken.CodeInvalid, Field: fieldKey, Msg: e.quoted(x, "refused the key"),
			Try: "Put a valid key into the environment variable that " + fieldKey + " names."}
	case x.Status == http.StatusTooManyRequests:
		return &ken.Error{Code: ken.CodeUnavailable, Msg: e.quoted(x, "has had too many requests"),
			Try: "Wait, or ask for a higher limit or quota.", Err: x.Throttled()}
	case x.Status >= 500:
		return &ken.Error{Code: ken.CodeUnavailable, Msg: e.quoted(x, "failed"), Try: "See the gateway's own log."}
	case x.Status == http.StatusNotFound:
		return &ken.Error{Code: ken.CodeInvalid, Field: fieldURL, Msg: e.quoted(x, "has no such path"), Try: tryVersion}
	}
	return &ken.Error{Code: ken.CodeInvalid, Msg: e.quoted(x, "refused the request"),
		Try: "See that " + fieldModel + " is an embedding model, and " + fieldDimensions + " a length that it can give."}
}

const tryVersion = "Check " + fieldURL + ": it usually ends in /v1."

// quoted returns "URL did something (500): message", or a note that the response is a
// web page.
func (e *Embedder) quoted(x *exchange.Exchange, did string) string {
	s := fmt.Sprintf("%s %s (%d)", e.address, did, x.Status)
	switch message := x.Message(); {
	case x.IsPage():
		return s + ": it answered with a web page"
	case message != "":
		if e.opts.Key != "" {
			message = strings.ReplaceAll(message, e.opts.Key, "***")
		}
		return s + ": " + message
	}
	return s
}

// unreachable returns the error for a request without a response.
func (e *Embedder) unreachable(err error) error {
	if errors.Is(err, exchange.ErrTooLong) {
		return &ken.Error{Code: ken.CodeInvalid, Field: fieldURL, Msg: e.address + " does not answer like an embeddings API", Try: tryVersion, Err: err}
	}
	msg, late := exchange.Unreachable(e.address, err)
	try := "See that the gateway runs, and check " + fieldURL + "."
	if late {
		try = "See whether the gateway is overloaded or still loads the model."
	}
	return &ken.Error{Code: ken.CodeUnavailable, Msg: msg, Try: try, Err: err}
}

// unreadable returns the error for a successful response without vectors.
func (e *Embedder) unreadable(x *exchange.Exchange) error {
	switch {
	case x.IsPage():
		return &ken.Error{Code: ken.CodeInvalid, Field: fieldURL, Msg: e.address + " answered with a web page instead of JSON", Try: tryVersion}
	case strings.Contains(string(x.Body), "NaN"):
		return e.wrong(x, "numbers that are NaN")
	}
	return e.wrong(x, "something that is not the API's JSON")
}

// wrong returns the error for a response that can't be used although it reports
// success.
func (e *Embedder) wrong(x *exchange.Exchange, detail string) error {
	if message := x.ErrorField(); message != "" { // 200 with an error inside
		detail = message
	}
	return &ken.Error{Code: ken.CodeUnavailable, Msg: fmt.Sprintf("%s answered wrongly for %s: %s", e.address, e.opts.Model, detail),
		Try: "See that " + fieldModel + " is an embedding model, and the gateway's own log."}
}

func (e *Embedder) otherDimension(got, want int) error {
	if e.opts.Dimensions > 0 {
		return &ken.Error{Code: ken.CodeInvalid, Field: fieldDimensions,
			Msg: fmt.Sprintf("%s answers %d dimensions instead of the %d asked for", e.opts.Model, got, want),
			Try: fmt.Sprintf("Set %s to 0 or %d.", fieldDimensions, got)}
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: fieldModel,
		Msg: fmt.Sprintf("%s answers %d dimensions after %d before: the name now belongs to another model", e.opts.Model, got, want),
		Try: "Restart to use the new model; what was embedded with the old one is embedded again."}
}

// explainModel checks whether the gateway serves the model.
func (e *Embedder) explainModel(ctx context.Context, x *exchange.Exchange) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	list, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	served, err := e.Models(list)
	switch {
	case err != nil:
		return &ken.Error{Code: ken.CodeInvalid, Field: fieldModel, Msg: e.quoted(x, "does not embed with "+e.opts.Model),
			Try: "Check " + fieldModel + ", and " + fieldURL + ": it usually ends in /v1."}
	case slices.Contains(served, e.opts.Model):
		return &ken.Error{Code: ken.CodeInvalid, Field: fieldModel, Msg: e.quoted(x, "serves "+e.opts.Model+" but does not embed with it"),
			Try: "Choose an embedding model: a chat model can't embed on most gateways."}
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: fieldModel,
		Msg: fmt.Sprintf("model %s is not served at %s: it serves %s", e.opts.Model, e.address, enumerate(served)),
		Try: "Set " + fieldModel + " to one of them that embeds, or install " + e.opts.Model + " on the gateway."}
}

// enumerate lists at most twelve models, likely embedding models first.
func enumerate(models []string) string {
	const most = 12
	if len(models) == 0 {
		return "none"
	}
	models = slices.Clone(models)
	slices.SortStableFunc(models, func(a, b string) int {
		return soundsLike(b) - soundsLike(a)
	})
	more := ""
	if n := len(models) - most; n > 0 {
		models, more = models[:most], fmt.Sprintf(" and %d more", n)
	}
	return exchange.Clip(strings.Join(models, ", "), 600) + more
}

func soundsLike(model string) int {
	if strings.Contains(strings.ToLower(model), "embed") {
		return 1
	}
	return 0
}
