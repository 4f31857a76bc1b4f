package api

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
)

// bodied reports a method whose requests have a body.
func bodied(method string) bool { return method == http.MethodPost || method == http.MethodPatch }

// readBody reads the request's body as the route has it. It is marked as JSON even
// when it is empty, since a form of another site's page can't be.
func (c *call) readBody(w http.ResponseWriter) error {
	if !bodied(c.r.Method) {
		return nil
	}
	if !isJSON(c.r.Header.Get("Content-Type")) {
		p := problemf(codeMedia, "The request is not marked as JSON.")
		p.Try, p.header = "Set Content-Type to application/json, also when there is no body.", map[string]string{"Accept-Post": mediaJSON}
		return p
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, c.r.Body, c.api.o.MaxBody))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
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

// decodeStrict reads one JSON value into v, and refuses what would be lost: unknown
// and repeated fields, and what follows the value. Errors name the field.
func decodeStrict(b []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := known(dec, reflect.TypeOf(v), "", maxDepth); err != nil {
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
			return invalid(typ.Field, "a JSON "+typ.Value+" where "+wanted(typ.Type)+" is expected", "See /api/openapi.json.")
		case errors.As(err, &e):
			return err
		}
		return invalid("body", "a value can't be read", "See /api/openapi.json for the form of each field; times are RFC 3339.")
	}
	return nil
}

func wanted(t reflect.Type) string {
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

// maxDepth bounds how deep a body nests: its own few levels, and a claim's body.
const maxDepth = 64

// known reads one value and reports an object's member that t has no field for.
func known(dec *json.Decoder, t reflect.Type, path string, depth int) error {
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
	switch tok {
	case json.Delim('{'):
		return knownMembers(dec, t, path, depth)
	case json.Delim('['):
		var elem reflect.Type
		if t != nil && t.Kind() == reflect.Slice && !free(t) {
			elem = t.Elem()
		}
		for i := 0; dec.More(); i++ {
			if err := known(dec, elem, path+"["+strconv.Itoa(i)+"]", depth-1); err != nil {
				return err
			}
		}
		_, err = dec.Token()
	}
	return err
}

func knownMembers(dec *json.Decoder, t reflect.Type, path string, depth int) error {
	var fields map[string]reflect.Type
	if t != nil && t.Kind() == reflect.Struct && !free(t) {
		fields = fieldsOf(t)
	}
	seen := map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := tok.(string) // the decoder accepts nothing else here
		at := strings.TrimPrefix(path+"."+name, ".")
		if seen[name] {
			return invalid(printable(at, 120), "given twice", "Keep one of the two.")
		}
		seen[name] = true
		ft, ok := fields[name]
		if !ok && fields != nil {
			return unknownField(at, name, fields)
		}
		if err := known(dec, ft, at, depth-1); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

func unknownField(at, name string, fields map[string]reflect.Type) error {
	names := make([]string, 0, len(fields))
	for f := range fields {
		names = append(names, f)
	}
	try := "Leave it out."
	if near := nearest(name, names); near != "" {
		try = "Did you mean " + near + "?"
	}
	return invalid(printable(at, 120), "unknown field", try)
}

// free reports a type that reads its own JSON: what is in it is its own affair.
func free(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// fieldsOf are the members that a struct has in JSON.
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

// place is where an entry stands in a list: by rank, then by time, the latest first,
// then by id. It does not change while the entry is there, so a page goes on after a
// place whatever was written meanwhile.
type place struct {
	rank uint8
	at   int64
	id   string
}

// order says which of two places comes first.
func order(a, b place) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.at, a.at), strings.Compare(a.id, b.id))
}

const cursorVersion = 1

// sumBytes is how much of a hash ties a cursor to its query.
const sumBytes = 8

// cursor writes a place for whoever asked this query, and for no other.
func (c *call) cursor(p place) string {
	b := append([]byte{cursorVersion}, c.querySum()...)
	b = append(b, p.rank)
	b = binary.BigEndian.AppendUint64(b, uint64(p.at))
	return base64.RawURLEncoding.EncodeToString(append(b, p.id...))
}

// after reads the cursor that was given; ok is false when there was none.
func (c *call) after() (p place, ok bool, err error) {
	text := c.text(pCursor)
	if text == "" {
		return p, false, nil
	}
	p, sum, ok := parseCursor(text)
	switch {
	case !ok:
		return p, false, invalid(pCursor.name, "not a cursor", "Give the value of next of a page, or leave it out to begin.")
	case sum != string(c.querySum()):
		return p, false, invalid(pCursor.name, "it belongs to another query", "Repeat the parameters of the page before, or leave the cursor out to begin.")
	}
	return p, true, nil
}

func parseCursor(text string) (p place, sum string, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	const head = 1 + sumBytes + 1 + 8
	if err != nil || len(b) < head || b[0] != cursorVersion {
		return p, "", false
	}
	p = place{rank: b[1+sumBytes], at: int64(binary.BigEndian.Uint64(b[2+sumBytes:])), id: string(b[head:])}
	return p, string(b[1 : 1+sumBytes]), true
}

// querySum is what a query asks for, the page apart.
func (c *call) querySum() []byte {
	h := sha256.New()
	add := func(s string) {
		_ = binary.Write(h, binary.BigEndian, uint32(len(s))) // a hash never fails
		h.Write([]byte(s))
	}
	add(c.who.Owner)
	add(c.r.URL.EscapedPath())
	for _, p := range c.route.params {
		if p == pCursor || p == pLimit || p == pExplain {
			continue
		}
		add(p.name)
		for _, v := range c.query[p.name] {
			add(v)
		}
	}
	return h.Sum(nil)[:sumBytes]
}

// page cuts the page that was asked for out of all entries, which it sorts. next is
// "" after the last one.
func page[T any](c *call, all []T, at func(*T) place) (out []T, next string, err error) {
	limit := c.number(pLimit)
	from, given, err := c.after()
	if err != nil {
		return nil, "", err
	}
	slices.SortFunc(all, func(a, b T) int { return order(at(&a), at(&b)) })
	if given {
		i, found := slices.BinarySearchFunc(all, from, func(e T, p place) int { return order(at(&e), p) })
		if found {
			i++
		}
		all = all[i:]
	}
	if len(all) > limit {
		all = all[:limit]
		next = c.cursor(at(&all[limit-1]))
	}
	return append([]T{}, all...), next, nil
}

// missing makes warnings of what a list could not read, since the rest of it is good;
// any other error stays one.
func missing(err error) (warnings []string, other error) {
	if err == nil {
		return nil, nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			w, other := missing(e)
			if other != nil {
				return nil, err
			}
			warnings = append(warnings, w...)
		}
		return warnings, nil
	}
	var e *ken.Error
	if errors.As(err, &e) && e.Code == ken.CodeCorrupt {
		return []string{sentence(e)}, nil
	}
	return nil, err
}
