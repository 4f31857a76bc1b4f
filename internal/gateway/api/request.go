package api

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/spelling"
)

func hasBody(method string) bool { return method == http.MethodPost || method == http.MethodPatch }

// readBody reads the request's body into the route's body type. The content type must be JSON even
// if the body is empty, because a form on another site's page can't send that.
func (c *call) readBody(w http.ResponseWriter) error {
	if !hasBody(c.r.Method) {
		return nil
	}
	if !isJSON(c.r.Header.Get("Content-Type")) {
		p := problemf(codeMedia, "The request is not marked as JSON.")
		p.Try, p.header = "Set Content-Type to application/json, also when there is no body.", map[string]string{"Accept-Post": mediaJSON}
		return p
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, c.r.Body, c.api.o.MaxBody))
	if err != nil {
		if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
			p := problemf(codeTooLarge, "The body is longer than %d bytes.", large.Limit)
			p.Try = "Send less at once."
			return p
		}
		return invalid("body", "the body can't be read to its end", "Send it again.")
	}
	if len(bytes.TrimSpace(b)) == 0 {
		b = []byte("{}")
	}
	t := c.route.body
	if t == nil {
		t = reflect.TypeFor[struct{}]()
	}
	v := reflect.New(t)
	c.body = v.Interface()
	return decodeStrict(b, v.Interface())
}

// decodeStrict reads one JSON value into v. It refuses content that would be lost: unknown and
// repeated fields, text that is not UTF-8, and anything after the value. Its errors name the field.
func decodeStrict(b []byte, v any) error {
	dec := bodyReader{json.NewDecoder(bytes.NewReader(b)), utf8.Valid(b)}
	dec.UseNumber()
	if err := dec.checkFields(reflect.TypeOf(v), "", maxDepth); err != nil {
		var e *ken.Error
		if errors.As(err, &e) {
			return err
		}
		return invalid("body", "not valid JSON", "Send one JSON object.")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return invalid("body", "something follows the JSON value", "Send one JSON object.")
	}
	if err := json.Unmarshal(b, v); err != nil {
		var typ *json.UnmarshalTypeError
		var e *ken.Error
		switch {
		case errors.As(err, &typ):
			return invalid(typ.Field, "a JSON "+typ.Value+" where "+expectedJSON(typ.Type)+" is expected", "See /api/openapi.json.")
		case errors.As(err, &e):
			return err
		}
		return invalid("body", "a value can't be read", "See /api/openapi.json for the form of each field; times are RFC 3339.")
	}
	return nil
}

func expectedJSON(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	}
	return "a number"
}

// maxDepth is the maximum nesting of a request's body. A claim's Body field may be nested itself.
const maxDepth = 64

// bodyReader reads a request's body token by token.
type bodyReader struct {
	*json.Decoder
	valid bool // the body is valid UTF-8
}

// checkFields reads one value and returns an error for a member that t has no field for.
func (dec bodyReader) checkFields(t reflect.Type, path string, depth int) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	if depth == 0 {
		return invalid("body", "nested deeper than "+strconv.Itoa(maxDepth)+" levels", "Send it flatter.")
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if text, ok := tok.(string); ok {
		return dec.checkText(text, path)
	}
	switch tok {
	case json.Delim('{'):
		return dec.checkMembers(t, path, depth)
	case json.Delim('['):
		var elem reflect.Type
		if t != nil && t.Kind() == reflect.Slice && !hasOwnJSON(t) {
			elem = t.Elem()
		}
		for i := 0; dec.More(); i++ {
			if err := dec.checkFields(elem, path+"["+strconv.Itoa(i)+"]", depth-1); err != nil {
				return err
			}
		}
		_, err = dec.Token()
	}
	return err
}

// checkText returns an error for a text that was not valid UTF-8. The decoder has put U+FFFD where it
// was not.
func (dec bodyReader) checkText(s, path string) error {
	if dec.valid || !strings.ContainsRune(s, utf8.RuneError) {
		return nil
	}
	return invalid(printable(cmp.Or(path, "body"), 120), "not valid UTF-8", "Convert it to UTF-8 first.")
}

func (dec bodyReader) checkMembers(t reflect.Type, path string, depth int) error {
	var fields map[string]reflect.Type
	if t != nil && t.Kind() == reflect.Struct && !hasOwnJSON(t) {
		fields = fieldsOf(t)
	}
	seen := map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := tok.(string) // the decoder accepts only strings here
		at := strings.TrimPrefix(path+"."+name, ".")
		if seen[name] {
			return invalid(printable(at, 120), "given twice", "Keep one of the two.")
		}
		seen[name] = true
		if err := dec.checkText(name, at); err != nil {
			return err
		}
		ft, ok := fields[name]
		if !ok && fields != nil {
			return unknownField(at, name, fields)
		}
		if err := dec.checkFields(ft, at, depth-1); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

func unknownField(at, name string, fields map[string]reflect.Type) error {
	try := "Leave it out."
	if near := spelling.Nearest(name, slices.Sorted(maps.Keys(fields))); near != "" {
		try = "Did you mean " + near + "?"
	}
	return invalid(printable(at, 120), "unknown field", try)
}

func hasOwnJSON(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// fieldsOf returns the types of a struct's JSON members by name.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" || name == "" {
			continue
		}
		out[name] = f.Type
	}
	return out
}

// acceptable returns an error if the Accept header excludes media, the only type of the route.
func acceptable(r *http.Request, media string) error {
	lines := r.Header.Values("Accept")
	if len(lines) == 0 {
		return nil
	}
	kind, _, _ := strings.Cut(media, "/")
	best, weight := 0, 0.0 // how specific the matching range is, and its weight
	for part := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		name, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		exact := map[string]int{"*/*": 1, kind + "/*": 2, media: 3}[name]
		if exact < best || exact == 0 {
			continue
		}
		q := 1.0
		if given, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(given, 64); err != nil {
				continue
			}
		}
		if exact > best || q > weight {
			best, weight = exact, q
		}
	}
	if best > 0 && weight > 0 {
		return nil
	}
	p := problemf(codeAccept, "This is served as %s alone.", media)
	p.Try = "Accept " + media + "."
	return p
}

// sameSite refuses a change that a browser sends for a page of another origin. Requests of other
// programs have neither of the headers that it checks. Another port of this machine is another
// origin.
func sameSite(r *http.Request) error {
	if http.NewCrossOriginProtection().Check(r) == nil {
		return nil
	}
	p := problemf(codeCrossSite, "A page of another origin asked a browser to send this.")
	p.Try = "Send it from a program, or from a page of this origin."
	return p
}

// isJSON reports whether a content type is JSON in UTF-8. A form can't send this type, so a page of
// another site can't send such a request without the browser asking first.
func isJSON(contentType string) bool {
	name, params, err := mime.ParseMediaType(contentType)
	charset, given := params["charset"]
	return err == nil && name == mediaJSON && (!given || strings.EqualFold(charset, "utf-8"))
}
