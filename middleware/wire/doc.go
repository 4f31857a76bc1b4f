// Package wire reads and extends the body of a chat completions request as the
// bytes that came, without decoding it into a struct and encoding it again.
// Encoding again would lose fields that the struct does not know, zeros that
// omitempty drops, and the provider's prompt cache with them.
//
// Parse reads what the layer needs, Splice puts blocks in. Taking out what
// Splice put in gives the body back byte for byte.
//
// Where a key comes twice in an object, the last one counts, as it does for
// nearly every server.
package wire
