package wire

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken"
)

// Request is what the layer reads of a request. Its strings share one copy of
// the body.
type Request struct {
	Model    string
	Stream   bool
	Tools    int // tools and functions offered
	Messages []ken.Message

	places []place // of Messages, in the body
}

// place says where bytes can go at one message.
type place struct {
	start int  // at the message's opening brace
	head  int  // behind the opening quote or bracket of its content
	form  form // of its content
}

// form is the shape of a message's content.
type form uint8

const (
	formOther   form = iota // null, missing, or something that no server takes
	formText                // a string
	formParts               // an array
	formNoParts             // an array without elements
)

// Parse reads a chat completions request. A body that is not one gives an error
// with ken.CodeInvalid that names the field; it should be passed on as it is, so
// that the server can say what it thinks of it. Fields that Parse does not know
// or that have an unexpected type are no error.
func Parse(body []byte) (Request, error) {
	if !valid(body) {
		return Request{}, refuse("body", "not JSON")
	}
	root := gjson.ParseBytes(body)
	if !root.IsObject() {
		return Request{}, refuse("body", "not a JSON object")
	}
	var r Request
	var messages gjson.Result
	var tools, functions int
	root.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "model":
			r.Model = text(v)
		case "stream":
			r.Stream = v.Type == gjson.True
		case "tools":
			tools = length(v)
		case "functions":
			functions = length(v)
		case "messages":
			messages = v
		}
		return true
	})
	r.Tools = tools + functions
	if !messages.IsArray() {
		return Request{}, refuse("messages", "not an array")
	}
	var err error
	messages.ForEach(func(_, v gjson.Result) bool {
		if !v.IsObject() {
			err = refuse("messages["+strconv.Itoa(len(r.Messages))+"]", "not an object")
			return false
		}
		m, p := message(v)
		r.Messages = append(r.Messages, m)
		r.places = append(r.places, p)
		return true
	})
	if err != nil {
		return Request{}, err
	}
	return r, nil
}

// text is a string's value, and "" for anything else.
func text(v gjson.Result) string {
	if v.Type == gjson.String {
		return v.Str
	}
	return ""
}

func length(v gjson.Result) (n int) {
	if v.IsArray() {
		v.ForEach(func(_, _ gjson.Result) bool { n++; return true })
	}
	return n
}

func refuse(field, msg string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg,
		Try: "Send a chat completions request: an object with an array of messages."}
}
