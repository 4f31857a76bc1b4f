package remote

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/remote/codec"
)

// Two processes of the same build have the same schema, which they detect by its
// fingerprint, and decode each other's messages directly. Processes of different builds
// exchange their schemas, and each decodes with the other's schema. These differences are
// possible:
//
//   - A field that the reader does not know is skipped in an answer; the holder still stores
//     it. In a request it must be zero, or the request is refused before anything is done.
//   - A field that the writer does not know is zero. So the zero value of a new field must
//     have the meaning that messages had without the field.
//   - A request of a kind that the holder does not know is answered with an error.
//
// If a field has another kind of type, the handshake fails.

// form holds the types of a kind's request and answer.
type form struct{ request, answer reflect.Type }

func formOf[Q, A any]() form { return form{reflect.TypeFor[Q](), reflect.TypeFor[A]()} }

// forms are the types of the kinds that have no handler.
var forms = map[byte]form{
	kAnswer: formOf[empty, answer](), kBye: formOf[empty, closeNotice](), kClass: formOf[empty, class](),
	kWatch: formOf[empty, empty](), kWait: formOf[eventsRequest, empty](),
	kView: formOf[shelfRequest, shelfAnswer](), kUpdate: formOf[shelfRequest, shelfAnswer](),
	kShelfGet: formOf[shelfRequest, shelfAnswer](), kShelfScan: formOf[shelfRequest, shelfAnswer](), kShelfStage: formOf[changes, empty](),
	kShelfCommit: formOf[shelfRequest, shelfAnswer](), kShelfEnd: formOf[shelfRequest, empty](),
}

// schema describes the messages of a build.
type schema struct {
	Messages []message `json:"messages"` // sorted by Kind
	codec.Schema
}

// message is one kind in a schema. Request and Answer are positions in the schema's types.
type message struct {
	Kind    byte   `json:"kind"`
	Name    string `json:"name"`
	Request int    `json:"request"`
	Answer  int    `json:"answer"`
}

// build describes the messages of a program.
type build struct {
	schema []byte // JSON
	forms  string // its fingerprint
	kinds  map[byte]form
}

// own returns the description of this program's messages.
var own = sync.OnceValue(func() build {
	kinds := maps.Clone(forms)
	for kind, h := range handlers {
		kinds[kind] = h.form
	}
	var s schema
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		f := kinds[kind]
		s.Messages = append(s.Messages, message{kind, names[kind], s.Add(f.request), s.Add(f.answer)})
	}
	b, err := json.Marshal(&s)
	if err != nil {
		panic(err) // impossible: a schema has only strings and numbers
	}
	return build{b, fingerprint(b), kinds}
})

// Schema returns the description of this build's messages, as it is sent to processes of
// other builds.
func Schema() []byte { return slices.Clone(own().schema) }

func fingerprint(schema []byte) string {
	sum := sha256.Sum256(schema)
	return fmt.Sprintf("%x", sum[:8])
}

// programVersion returns the version of this program, "unknown" if it has none.
var programVersion = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return cmp.Or(info.Main.Version, "unknown")
})

// peer decodes the messages of processes of another build. A nil peer is for processes of
// the same build.
type peer struct {
	names             map[byte]string // of the kinds that the other build knows
	requests, answers map[byte]*codec.Reader
}

// has reports whether the other build knows the kind.
func (p *peer) has(kind byte) bool { return p == nil || p.names[kind] != "" }

// request and answer return the decoder for messages of a kind.
func (p *peer) request(kind byte) *codec.Reader {
	if p == nil {
		return nil
	}
	return p.requests[kind]
}

func (p *peer) answer(kind byte) *codec.Reader {
	if p == nil {
		return nil
	}
	return p.answers[kind]
}

// maxPeers bounds the entries of peers, one for each other build.
const maxPeers = 16

var (
	peersMu sync.Mutex // guards peers
	peers   = map[string]*peer{}
)

// peerOf returns the peer for the build with the fingerprint forms. It creates the peer from
// the build's schema, of, unless it is in peers.
func peerOf(forms string, of []byte) (*peer, error) {
	if fingerprint(of) != forms {
		return nil, errors.New("its schema has another fingerprint than it said")
	}
	peersMu.Lock()
	defer peersMu.Unlock()
	if p := peers[forms]; p != nil {
		return p, nil
	}
	p, err := newPeer(of)
	if err != nil {
		return nil, err
	}
	if len(peers) >= maxPeers {
		clear(peers)
	}
	peers[forms] = p
	return p, nil
}

func newPeer(of []byte) (*peer, error) {
	var s schema
	if err := json.Unmarshal(of, &s); err != nil {
		return nil, fmt.Errorf("read its schema: %w", err)
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	p := &peer{names: map[byte]string{}, requests: map[byte]*codec.Reader{}, answers: map[byte]*codec.Reader{}}
	for _, m := range s.Messages {
		if p.names[m.Kind] != "" || m.Name == "" {
			return nil, fmt.Errorf("kind %d of its schema makes no sense", m.Kind)
		}
		p.names[m.Kind] = m.Name
		ours, known := own().kinds[m.Kind]
		if !known {
			continue
		}
		if m.Name != names[m.Kind] {
			return nil, fmt.Errorf("kind %d is %q there, and %q here", m.Kind, m.Name, names[m.Kind])
		}
		var err error
		if p.requests[m.Kind], err = s.Reader(m.Request, ours.request, "the request "+m.Name, true); err != nil {
			return nil, err
		}
		if p.answers[m.Kind], err = s.Reader(m.Answer, ours.answer, "the answer to "+m.Name, false); err != nil {
			return nil, err
		}
	}
	for _, kind := range []byte{kAnswer, kBye, kClass, kWatch} { // every connection needs these
		if !p.has(kind) {
			return nil, fmt.Errorf("it does not know %q", names[kind])
		}
	}
	return p, nil
}

// understood reports whether this program has a version of the protocol in common with a
// process that supports the versions from low to high. A low of 0 means high.
func understood(high, low int) bool { return high >= oldest && cmp.Or(low, high) <= version }

// otherVersion returns the error for two builds whose messages are incompatible. theirs is
// the version of the other program, "" if it is not known.
func otherVersion(theirs string, cause error) *ken.Error {
	return &ken.Error{Code: ken.CodeHeld, Field: "version", Err: cause,
		Msg: fmt.Sprintf("the store is held by a process of another version of ken, %s, whose messages this one, %s, can't read", cmp.Or(theirs, "unknown"), programVersion()),
		Try: "Stop that process, or use the same version."}
}

// introduction describes the program of a client of another build.
type introduction struct {
	Version string          `json:"version"`
	Schema  json.RawMessage `json:"schema"`
}

// introduce exchanges schemas with a client of another build, whose schema has the
// fingerprint forms. It reports whether both can decode each other's messages.
func (c *session) introduce(forms string, mine welcome, refuse func(*ken.Error) bool) bool {
	mine.Version, mine.Schema = programVersion(), own().schema
	var theirs introduction
	if sendJSON(c.nc, kWelcome, mine) != nil || receiveJSON(c.nc, kSchema, &theirs) != nil {
		return false // the client has closed the connection, and reports the reason itself
	}
	c.version = cmp.Or(theirs.Version, "unknown")
	p, err := peerOf(forms, theirs.Schema)
	if err != nil {
		return refuse(&ken.Error{Code: ken.CodeHeld, Field: "version", Err: err, Try: "Stop the process that holds the store, or use the same version.",
			Msg: fmt.Sprintf("the process that holds the store, version %s of ken, can't read the messages of version %s", programVersion(), c.version)})
	}
	c.peer = p
	return true
}

// decode decodes a request. The caller sends an error to the client if isRefusal.
func (c *session) decode(f frame, v any) error {
	err := c.peer.request(f.kind).Decode(f.body, v)
	if unknown, ok := errors.AsType[*codec.UnknownError](err); ok {
		return &ken.Error{Code: ken.CodeRefused, Field: unknown.Field, Try: "Update that process, or leave the field empty.",
			Msg: fmt.Sprintf("the process that holds the store, version %s of ken, does not know this field of version %s; nothing was done", programVersion(), c.version)}
	}
	return err
}

// unknown returns the error for a kind that can't be served here. The caller sends it to the
// client if isRefusal.
func (c *session) unknown(kind byte) error {
	if c.peer == nil || names[kind] != "" {
		return fmt.Errorf("a frame of kind %d", kind)
	}
	return &ken.Error{Code: ken.CodeRefused, Field: "version", Try: "Update that process.",
		Msg: fmt.Sprintf("the process that holds the store, version %s of ken, can't do %q of version %s", programVersion(), c.peer.names[kind], c.version)}
}

// isRefusal reports whether err is a ken.Error, which is sent to the client. Other errors end
// the connection.
func isRefusal(err error) bool {
	var e *ken.Error
	return errors.As(err, &e)
}

// refuse returns the frame of an answer with err. It returns err itself unless isRefusal.
func (c *session) refuse(commit uint64, err error) ([]byte, error) {
	if !isRefusal(err) {
		return nil, err
	}
	return c.answer(commit, err, nil), nil
}

// sendRefusal sends the answer that refuse returns. An error ends the connection.
func (c *session) sendRefusal(err error) error {
	b, err := c.refuse(c.store.Commit(), err)
	if err != nil {
		return err
	}
	return c.send(b)
}
