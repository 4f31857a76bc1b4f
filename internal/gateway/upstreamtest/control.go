package upstreamtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// ControlPath is the prefix of the paths through which programs in other languages control a server
// and read the requests it received. No provider uses it.
const ControlPath = "/_upstream/"

// Order is an answer that a control request queues: a recording, and a fault to apply to it.
type Order struct {
	Recording string `json:"recording"`
	// Fault is one of hang, hangup, stall, cut, half, gzip, huge and reset; "" for none.
	Fault string `json:"fault,omitempty"`
	// N is the number of pieces before a stall, or of bytes before a cut, or of bytes of a huge
	// line.
	N int `json:"n,omitempty"`
}

// Control enables the control paths:
//
//	GET    /_upstream/requests   the received requests, a JSON array of Request
//	DELETE /_upstream/requests   forget them
//	POST   /_upstream/next       queue answers: a JSON array of Order
func (s *Server) Control() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.control = true
}

func (s *Server) serveControl(r *Request) Answer {
	switch r.Method + " " + strings.TrimPrefix(r.Path(), ControlPath) {
	case "GET requests":
		return jsonAnswer(http.StatusOK, append([]*Request{}, s.Requests()...))
	case "DELETE requests":
		s.Forget()
		return jsonAnswer(http.StatusOK, []Order{})
	case "POST next":
		var orders []Order
		if err := json.Unmarshal(r.Body, &orders); err != nil {
			return jsonAnswer(http.StatusBadRequest, err.Error())
		}
		answers := make([]Answer, len(orders))
		for i, o := range orders {
			var err error
			if answers[i], err = o.answer(); err != nil {
				return jsonAnswer(http.StatusBadRequest, err.Error())
			}
		}
		s.Next(answers...)
		return jsonAnswer(http.StatusOK, orders)
	}
	return jsonAnswer(http.StatusNotFound, "no such control path")
}

func (o Order) answer() (Answer, error) {
	var a Answer
	if o.Recording != "" {
		var err error
		if a, err = readRecording(o.Recording); err != nil {
			return a, err
		}
	}
	if o.N < 0 || o.Fault == "stall" && o.N > len(a.Pieces) || o.Fault == "cut" && o.N > len(a.Body()) {
		return a, fmt.Errorf("n is %d: out of range", o.N)
	}
	switch o.Fault {
	case "":
	case "hang":
		a = Hang()
	case "hangup":
		a = HangUp()
	case "stall":
		a = Stalled(a, o.N)
	case "cut":
		a = CutAt(a, o.N)
	case "half":
		if len(a.Pieces) == 0 {
			return a, fmt.Errorf("half of nothing")
		}
		a = HalfEvent(a)
	case "gzip":
		a = Gzipped(a)
	case "huge":
		a = HugeLine(max(o.N, 1<<10))
	case "reset":
		a.Ending = Reset
	default:
		return a, fmt.Errorf("no fault %q", o.Fault)
	}
	return a, nil
}

func jsonAnswer(status int, v any) Answer {
	b, err := json.Marshal(v)
	if err != nil {
		b = []byte(`"` + http.StatusText(http.StatusInternalServerError) + `"`)
	}
	return Answer{Status: status, Header: []Field{{"Content-Type", "application/json"}}, Pieces: [][]byte{b}}
}
