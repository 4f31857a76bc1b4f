package chart

import "html/template"

// table is a chart's data to read. The first column names the row, and those after
// the words hold numbers.
func table(title string, words int, head []string, rows [][]string) template.HTML {
	c := &canvas{}
	c.put(`<div class="chart-data"><table>`)
	if title != "" {
		c.put(`<caption>%v</caption>`, title)
	}
	class := func(i int) raw {
		if i > words {
			return ` class="num"`
		}
		return ""
	}
	c.put(`<thead><tr>`)
	for i, s := range head {
		c.put(`<th scope="col"%v>%v</th>`, class(i), s)
	}
	c.put(`</tr></thead><tbody>`)
	for _, row := range rows {
		c.put(`<tr>`)
		for i, s := range row {
			if i == 0 {
				c.put(`<th scope="row">%v</th>`, s)
				continue
			}
			c.put(`<td%v>%v</td>`, class(i), s)
		}
		c.put(`</tr>`)
	}
	c.put(`</tbody></table></div>`)
	return template.HTML(c.b.String())
}
