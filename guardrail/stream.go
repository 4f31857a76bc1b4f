package guardrail

// Stream does what StripReasoning does to a text that arrives in chunks, such as
// a streamed answer; chunks may end anywhere, in a tag or in a character. The zero
// value is ready. It is not safe for concurrent use.
//
// What Write and Close return, joined, is what StripReasoning returns for the
// joined chunks, with one exception: a closing tag that nothing opened can't take
// back what was handed out before it was seen. The stream then goes on with the
// answer behind the tag, so that StripReasoning's result is the end of what the
// stream returned. A caller that knows the whole text before it keeps it should
// strip the whole text.
type Stream struct {
	scanner scanner
	pending string
}

// Write takes the next chunk and returns the text that is certainly clean. It
// holds back a kilobyte at most, and only where a tag may have started.
func (s *Stream) Write(chunk string) string {
	text := s.pending + chunk
	out, n := s.scanner.scan(nil, text, false)
	s.pending = text[n:]
	return string(out)
}

// Close returns the rest and makes the stream ready for another text.
func (s *Stream) Close() string {
	out, _ := s.scanner.scan(nil, s.pending, true)
	*s = Stream{}
	return string(out)
}
