package report

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/evals/sweep"
)

// HTML writes the reports as one page: figures, charts, and the questions with the
// worst results, with what was found instead of the answer. The page loads nothing and
// runs no script; text of the data is escaped.
func HTML(w io.Writer, reports ...*sweep.Report) error {
	p := &page{}
	p.put(`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">`)
	p.put(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`)
	p.put(`<title>Recall: %s</title><style>%s</style></head><body><main>`, names(reports), raw(style))
	for _, r := range reports {
		p.report(r)
	}
	p.put(`<footer><p>Whiskers are 95 %% bootstrap intervals over the questions. Latency is that of turns that ran alone.</p></footer></main></body></html>` + "\n")
	if _, err := breaks.WriteString(w, p.b.String()); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// breaks inserts line breaks after elements, so that versions of a page can be
// compared. Texts can't contain these tags, because they are escaped.
var breaks = strings.NewReplacer("<section>", "\n<section>", "</figure>", "</figure>\n", "</tr>", "</tr>\n", "</li>", "</li>\n", "</h2>", "</h2>\n",
	"</style>", "</style>\n", "</text>", "</text>\n", "</dl>", "</dl>\n")

func names(reports []*sweep.Report) string {
	var out []string
	for _, r := range reports {
		out = append(out, r.Dataset)
	}
	return strings.Join(out, ", ")
}

// page builds HTML.
type page struct{ b strings.Builder }

// raw is markup from this package, which must not be escaped.
type raw string

// put writes a format; every string argument is escaped, and raw is not.
func (p *page) put(format string, args ...any) {
	for i, a := range args {
		switch v := a.(type) {
		case string:
			args[i] = html.EscapeString(v)
		case raw:
			args[i] = string(v)
		}
	}
	fmt.Fprintf(&p.b, format, args...)
}

func (p *page) report(r *sweep.Report) {
	p.put(`<section><h1>%s</h1><p class="facts">%d questions: %d with an answer, %d without. %d records in %d %s. Embedder: %s. Seed %d.</p>`,
		r.Dataset, r.N, r.Queries, r.NoAnswer, r.Corpus, r.Owners, plural(r.Owners, "store", "stores"), cmp.Or(r.Embedder, "none"), r.Seed)
	if len(r.Notes) > 0 {
		p.put(`<ul class="notes">`)
		for _, n := range r.Notes {
			p.put(`<li>%s</li>`, n)
		}
		p.put(`</ul>`)
	}
	p.table(r)
	if r.Queries > 0 {
		p.put(`<h2>How much is found</h2><div class="panels">`)
		for _, m := range []string{"hit@1", "hit@5", "recall@10", "ndcg@10", "mrr", "block_recall"} {
			p.put(`%s`, overall(r, m))
		}
		p.put(`</div>`)
		p.curves(r)
		p.categories(r)
	}
	p.put(`<h2>Latency</h2>%s`, latency(r))
	if r.NoAnswer > 0 && r.Queries > 0 {
		p.put(`<h2>Silence: where it belongs, and where it costs</h2><p>Up is better: turns without an answer that get no block. `+
			`Left is better: turns with an answer that get none either.</p>%s`, tradeOff(r))
	}
	p.faults(r)
	p.put(`</section>`)
}

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// table writes every measure with its interval.
func (p *page) table(r *sweep.Report) {
	p.put(`<div class="wide"><table><thead><tr><th scope="col">mode</th>`)
	for _, m := range sweep.Measures() {
		p.put(`<th scope="col" title="%s">%s</th>`, m.Doc, m.Name)
	}
	p.put(`<th scope="col">p50</th><th scope="col">p99</th></tr></thead><tbody>`)
	for _, mode := range r.Order {
		s := r.Modes[mode]
		p.put(`<tr><th scope="row">%s</th>`, mode)
		for _, m := range sweep.Measures() {
			ci, ok := s.CI[m.Name]
			if !ok {
				p.put(`<td>–</td>`)
				continue
			}
			p.put(`<td>%s<small>%s–%s</small></td>`, fraction(s.Values[m.Name], true), fraction(ci[0], true), fraction(ci[1], true))
		}
		p.put(`<td>%.1f</td><td>%.1f</td></tr>`, s.Values["p50_ms"], s.Values["p99_ms"])
	}
	p.put(`</tbody></table></div>`)
}

// categories writes one measure by category of question.
func (p *page) categories(r *sweep.Report) {
	var with []string
	for name, c := range r.ByCategory {
		if slices.ContainsFunc(r.Order, func(mode string) bool { _, ok := c.Modes[mode].CI["recall@10"]; return ok }) {
			with = append(with, name)
		}
	}
	if len(with) == 0 {
		return
	}
	slices.SortFunc(with, natural)
	shown := r.Order
	if len(shown) > series { // a grid: the best of each mode
		shown = best(r)
	}
	p.put(`<h2>By kind of question: recall@10</h2>`)
	if len(shown) < len(r.Order) {
		p.put(`<p class="facts">Of each mode, the setting with the highest recall@10: %s.</p>`, strings.Join(shown, ", "))
	}
	p.put(`%s%s`, legend(modes(r)), byCategory(r, shown, with))
}

// natural compares numbers by value, and other strings as text.
func natural(a, b string) int {
	x, errX := strconv.Atoi(a)
	y, errY := strconv.Atoi(b)
	if errX == nil && errY == nil {
		return x - y
	}
	return strings.Compare(a, b)
}

// faults writes the questions with the worst results, by mode.
func (p *page) faults(r *sweep.Report) {
	if len(r.Faults) == 0 {
		return
	}
	p.put(`<h2>Worst questions</h2>`)
	for _, mode := range r.Order {
		list := r.Faults[mode]
		if len(list) == 0 {
			continue
		}
		p.put(`<details><summary>%s: %d</summary><ol class="faults">`, mode, len(list))
		for i := range list {
			p.fault(&list[i])
		}
		p.put(`</ol></details>`)
	}
}

func (p *page) fault(f *sweep.Fault) {
	p.put(`<li><p class="question">%s</p><p class="facts">%s`, f.Text, f.ID)
	if f.Category != "" {
		p.put(` · %s`, f.Category)
	}
	if len(f.Wanted) > 0 {
		p.put(` · recall@10 %s</p>`, fraction(f.Recall, true))
	} else {
		p.put(` · nothing answers it, and a block was made</p>`)
	}
	p.passages("wanted", f.Wanted)
	p.passages("found", f.Found)
	p.put(`</li>`)
}

func (p *page) passages(head string, list []sweep.Passage) {
	if len(list) == 0 {
		return
	}
	p.put(`<dl><dt>%s</dt>`, head)
	for _, x := range list {
		rank := "not found"
		if x.Rank > 0 {
			rank = "rank " + strconv.Itoa(x.Rank)
		}
		class := raw("")
		if x.Good {
			class = ` class="good"`
		}
		p.put(`<dd%s><b>%s</b> <code>%s</code> %s</dd>`, class, rank, x.ID, x.Text)
	}
	p.put(`</dl>`)
}

// style is the page's style sheet. Series differ in shape as well as in colour.
const style = `:root{color-scheme:light dark;--bg:#fbfbfa;--ink:#1d2125;--soft:#5b646d;--line:#d9dde1;--card:#fff;--good:#1a7f4b;
--c0:#1f6fd1;--c1:#c2570c;--c2:#1a7f4b;--c3:#8a3fc4;--c4:#b3124f;--c5:#5f6b00}
@media(prefers-color-scheme:dark){:root{--bg:#15181b;--ink:#e8eaec;--soft:#9aa4ad;--line:#353c43;--card:#1c2024;--good:#5fd08f;
--c0:#6db0ff;--c1:#ff9d57;--c2:#5fd08f;--c3:#c796ff;--c4:#ff7aa8;--c5:#cbd65a}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1120px;margin:0 auto;padding:1.5rem 1rem 3rem}h1{font-size:1.6rem;margin:.5rem 0 0}h2{font-size:1.1rem;margin:2rem 0 .5rem}
section+section{border-top:2px solid var(--line);margin-top:3rem;padding-top:1rem}
.facts,footer,small{color:var(--soft)}.notes{color:var(--c1)}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.85rem;width:100%}
th,td{padding:.35rem .4rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}th:first-child{text-align:left}
td small{display:block;font-size:.72rem}
.panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(300px,1fr));gap:1rem}
figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:6px;padding:.75rem}
figcaption{font-weight:600;margin-bottom:.25rem}svg{display:block;width:100%;height:auto}
svg text{fill:var(--ink);font:12px system-ui,sans-serif}svg .soft{fill:var(--soft)}svg .grid{stroke:var(--line);stroke-width:1}
.legend{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin:.25rem 0 .5rem;padding:0;list-style:none;font-size:.9rem}
.legend svg{display:inline-block;width:14px;height:14px;vertical-align:-2px;margin-right:.35rem}
details{background:var(--card);border:1px solid var(--line);border-radius:6px;margin:.5rem 0;padding:.5rem .75rem}summary{cursor:pointer;font-weight:600}
.faults>li{margin:1rem 0}.question{font-weight:600;margin:0}.faults p{margin:0}dl{margin:.35rem 0 0}dt{color:var(--soft);font-size:.85rem}
dd{margin:0 0 .25rem 1rem;overflow-wrap:anywhere}dd b{font-weight:500;color:var(--soft)}dd.good b{color:var(--good)}
code{font-size:.85em}@media print{details{break-inside:avoid}}`

// columns are the columns of the table, in order; ci adds the interval.
var columns = []struct {
	head, name string
	ci         bool
}{
	{"hit@1", "hit@1", false}, {"hit@5", "hit@5", false}, {"r@5", "recall@5", false}, {"r@10", "recall@10", true}, {"r@20", "recall@20", false},
	{"ndcg@10", "ndcg@10", false}, {"mrr", "mrr", false}, {"block", "block_recall", false},
	{"abstain", "abstain", false}, {"silenced", "silenced", false},
}

// Table formats the reports as aligned text, with a header and a line for each set and
// mode. Fractions have three digits; the interval is that of recall@10. A missing value
// is a dash.
func Table(reports ...*sweep.Report) string {
	rows := [][]string{{"set", "mode"}}
	for _, c := range columns {
		rows[0] = append(rows[0], c.head)
		if c.ci {
			rows[0] = append(rows[0], "95 %")
		}
	}
	rows[0] = append(rows[0], "p50 ms", "p99 ms")
	for _, r := range reports {
		for _, mode := range r.Order {
			rows = append(rows, row(r, mode))
		}
	}
	return align(rows)
}

func row(r *sweep.Report, mode string) []string {
	s := r.Modes[mode]
	out := []string{r.Dataset, mode}
	for _, c := range columns {
		ci, measured := s.CI[c.name]
		out = append(out, fraction(s.Values[c.name], measured))
		if c.ci && measured {
			out = append(out, fmt.Sprintf("%s-%s", fraction(ci[0], true), fraction(ci[1], true)))
		} else if c.ci {
			out = append(out, "–")
		}
	}
	return append(out, fmt.Sprintf("%.1f", s.Values["p50_ms"]), fmt.Sprintf("%.1f", s.Values["p99_ms"]))
}

// fraction writes three digits without the leading zero, as such tables do.
func fraction(v float64, measured bool) string {
	if !measured {
		return "–"
	}
	return strings.TrimPrefix(fmt.Sprintf("%.3f", v), "0")
}

// align pads every column to its widest cell: text to the left, numbers to the right.
func align(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				line.WriteString("  ")
			}
			if i < 2 {
				line.WriteString(cell + pad)
			} else {
				line.WriteString(pad + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}
