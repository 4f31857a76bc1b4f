package modeltest

import (
	"encoding/json"
	"net/http"
)

// comparison is the input of a request that asks which known statements new ones replace.
type comparison struct {
	Known, New []struct {
		I    int
		Text string
	}
}

// comparison returns the statements that a request asks about; nil for other requests.
func (r *Request) comparison() *comparison {
	for _, m := range r.Messages {
		var in comparison
		if m.Role == "user" && json.Unmarshal([]byte(m.Content), &in) == nil && len(in.Known) > 0 {
			return &in
		}
	}
	return nil
}

func (s *Server) judge(w http.ResponseWriter, _ *http.Request, req *Request) {
	replaced := []map[string]int{}
	in := req.comparison()
	for _, fresh := range in.New {
		for _, known := range in.Known {
			if s.Replaces(known.Text, fresh.Text) {
				replaced = append(replaced, map[string]int{"known": known.I, "new": fresh.I})
			}
		}
	}
	say(w, req, encode(map[string]any{"replaced": replaced}), "stop")
}
