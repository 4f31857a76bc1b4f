package modeltest

import (
	"encoding/json"
	"net/http"
)

// pair is two statements of which the later one may replace the earlier one.
type pair struct {
	I              int
	Earlier, Later struct{ Text string }
}

// pairs returns the pairs that a request asks about; nil for other requests.
func (r *Request) pairs() []pair {
	for _, m := range r.Messages {
		var in struct{ Pairs []pair }
		if m.Role == "user" && json.Unmarshal([]byte(m.Content), &in) == nil && len(in.Pairs) > 0 {
			return in.Pairs
		}
	}
	return nil
}

func (s *Server) judge(w http.ResponseWriter, _ *http.Request, req *Request) {
	replaced := []int{}
	for _, p := range req.pairs() {
		if s.Replaces(p.Earlier.Text, p.Later.Text) {
			replaced = append(replaced, p.I)
		}
	}
	say(w, req, encode(map[string][]int{"replaced": replaced}), "stop")
}
