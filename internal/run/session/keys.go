package session

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Keys on the shelf. The id is escaped, so that none reaches into another's keys,
// and numbers have as many digits as the greatest, so that they sort.
//
//	session/info/ID          record
//	session/message/ID/SEQ   message
//	session/injected/ID/HASH Injection
//	session/checkpoint/ID    Checkpoint
//	session/block/ID/PLACE   Block
//	session/opening/ID       Opening of the conversations whose first one has that id
//	session/response/HASH    responded: the session that a response belongs to
//	session/seen/ID          counts of the digests of messages that were swept
const (
	prefixInfo       = "session/info/"
	prefixMessage    = "session/message/"
	prefixInjected   = "session/injected/"
	prefixCheckpoint = "session/checkpoint/"
	prefixSeen       = "session/seen/"
	prefixBlock      = "session/block/"
	prefixOpening    = "session/opening/"
	prefixResponse   = "session/response/"
)

func keyInfo(id string) string       { return prefixInfo + url.PathEscape(id) }
func keyCheckpoint(id string) string { return prefixCheckpoint + url.PathEscape(id) }
func keySeen(id string) string       { return prefixSeen + url.PathEscape(id) }
func allMessages(id string) string   { return prefixMessage + url.PathEscape(id) + "/" }
func allInjected(id string) string   { return prefixInjected + url.PathEscape(id) + "/" }
func allBlocks(id string) string     { return prefixBlock + url.PathEscape(id) + "/" }
func keyOpening(id string) string    { return prefixOpening + url.PathEscape(id) }

func keyBlock(id, place string) string { return allBlocks(id) + url.PathEscape(place) }

func keyMessage(id string, seq uint64) string { return fmt.Sprintf("%s%020d", allMessages(id), seq) }

func keyInjected(id string, in *Injection) string {
	return fmt.Sprintf("%s%016x", allInjected(id), hashOf("injection", in.ID, in.Text))
}

// maxID bounds a session's id in bytes: escaped, it takes three times as many, and
// a key on the shelf has 1,024.
const maxID = 256

// checkID refuses what can't name a session. The id comes from outside and is
// kept as it is, so it must not be something that would have to be cleaned.
func checkID(id string) error {
	fault := ""
	switch {
	case strings.TrimSpace(id) == "":
		fault = "empty"
	case len(id) > maxID:
		fault = fmt.Sprintf("%d bytes; at most %d", len(id), maxID)
	case store.Clean(id) != id || strings.ContainsAny(id, "\n\t"):
		fault = "it holds control characters, markup of a model or a credential"
	}
	if fault == "" {
		return nil
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: "session", Msg: fault, Try: "Name the session by an opaque id, such as a UUID."}
}
