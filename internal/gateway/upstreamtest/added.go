package upstreamtest

import "bytes"

// anchor is how many bytes have to agree for what was sent to go on: more than
// what two messages of a request begin with alike.
const anchor = 48

// Added returns what got has that sent has not, span by span, and whether got is
// sent with nothing but those spans put in: no byte of sent is missing, changed or
// out of order. Where a span begins like what follows it, the shared beginning
// counts as sent.
func Added(sent, got []byte) (spans []string, ok bool) {
	for len(sent) > 0 {
		n := shared(sent, got)
		sent, got = sent[n:], got[n:]
		if len(sent) == 0 {
			break
		}
		next := bytes.Index(got, sent[:min(anchor, len(sent))])
		if len(sent) < anchor && bytes.HasSuffix(got, sent) {
			next = len(got) - len(sent) // a short rest may be in the span, too
		}
		if next <= 0 {
			return spans, false
		}
		spans = append(spans, string(got[:next]))
		got = got[next:]
	}
	if len(got) > 0 {
		spans = append(spans, string(got))
	}
	return spans, true
}

// shared is the length of the longest common beginning.
func shared(a, b []byte) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
