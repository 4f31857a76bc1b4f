package codegraph

// pageSize is how many elements are copied when one of them changes. Fewer would make the
// list of the pages longer, which every change copies.
const pageSize = 64

type page[T any] [pageSize]T

// vec is a list in pages. A copy of the struct is a snapshot, as long as changes go
// through an editor.
type vec[T any] struct {
	pages []*page[T]
	n     int32
}

func (v *vec[T]) at(i int32) *T { return &v.pages[i/pageSize][i%pageSize] }

// editor changes a vec and leaves the snapshots of it as they are: it copies a page
// before the first change in it.
type editor[T any] struct {
	*vec[T]
	own []bool // by page
}

func edit[T any](v *vec[T]) editor[T] {
	v.pages = append(make([]*page[T], 0, len(v.pages)+1), v.pages...)
	return editor[T]{v, make([]bool, len(v.pages))}
}

// set returns the place of an element that is about to be changed.
func (e *editor[T]) set(i int32) *T {
	p := i / pageSize
	if !e.own[p] {
		c := *e.pages[p]
		e.pages[p], e.own[p] = &c, true
	}
	return &e.pages[p][i%pageSize]
}

// add makes room for one more element at the end and returns its number.
func (e *editor[T]) add() int32 {
	if int(e.n) == len(e.pages)*pageSize {
		e.pages = append(e.pages, new(page[T]))
		e.own = append(e.own, true)
	}
	e.n++
	return e.n - 1
}
