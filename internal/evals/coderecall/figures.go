package coderecall

import (
	"cmp"
	"slices"
)

// Figures summarizes answers. Every share is a share of the questions that it applies
// to, 0..1.
type Figures struct {
	Questions int     `json:"questions"`   // questions with an answer
	First3    float64 `json:"first_three"` // the answer is among the first three items
	InBlock   float64 `json:"in_block"`
	Code      float64 `json:"code"` // implementing code is in the block; of the questions that name some
	Names     int     `json:"names"`
	Declared  float64 `json:"declared"` // of the questions about a name: its declaration is among the first three items
	Silent    float64 `json:"silent"`   // of the questions without an answer
	Absent    int     `json:"absent"`
	Chars     int     `json:"chars"`   // average length of a block, for questions with an answer
	Headers   float64 `json:"headers"` // share of the blocks' characters in headers
	MS        float64 `json:"ms"`      // median time of a turn
}

// Sum summarizes the answers of all reports.
func Sum(reports []Report) (f Figures) {
	var code, chars, headers int
	var ms []float64
	for i := range reports {
		for j := range reports[i].Answers {
			a := &reports[i].Answers[j]
			ms = append(ms, a.MS)
			if !a.Answerable() {
				f.Absent++
				f.Silent += one(a.Right())
				continue
			}
			chars, headers = chars+a.Chars, headers+a.Headers
			if a.Kind == What {
				f.Names++
				f.Declared += one(a.CodeAt > 0 && a.CodeAt <= 3)
				continue
			}
			f.Questions++
			f.First3 += one(a.First > 0 && a.First <= 3)
			f.InBlock += one(a.First > 0)
			if a.Marker != "" {
				code++
				f.Code += one(a.CodeAt > 0)
			}
		}
	}
	answered := f.Questions + f.Names
	f.First3, f.InBlock, f.Code = part(f.First3, f.Questions), part(f.InBlock, f.Questions), part(f.Code, code)
	f.Declared, f.Silent = part(f.Declared, f.Names), part(f.Silent, f.Absent)
	if answered > 0 {
		f.Headers, f.Chars = part(float64(headers), chars), chars/answered
	}
	if slices.Sort(ms); len(ms) > 0 {
		f.MS = ms[len(ms)/2]
	}
	return f
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func part(sum float64, n int) float64 { return sum / float64(cmp.Or(n, 1)) }
