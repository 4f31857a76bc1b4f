package embed

import "context"

// Embedder turns texts into vectors of one space. Implementations are safe for
// concurrent use and pass the suite of package embedtest.
type Embedder interface {
	// Embed returns one vector a text, in the order of the texts, all of unit
	// length and of one dimension. A text in which there is nothing to embed
	// (empty, blank, no token that the model knows) gets a nil vector: callers
	// store and compare nothing for it. No texts: no vectors and no error.
	//
	// All or nothing: with an error there are no vectors. Errors are *ken.Error
	// of code unavailable (try later) or invalid (change the configuration), or
	// the context's own when the caller cancelled.
	//
	// The texts are not changed; the vectors are changed by nobody.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// Model names the vector space, qualified by its provider. Vectors are
	// compared only when their names are equal. It is constant.
	Model() string
	// Dim is the number of dimensions, 0 while it isn't known.
	Dim() int
}

// IsLocal reports whether e works in this process, without a network; an
// embedder says so with a method Local() bool. A local one may be used inline,
// any other belongs behind a [Guard] on a turn and in the background otherwise.
func IsLocal(e Embedder) bool {
	l, ok := e.(interface{ Local() bool })
	return ok && l.Local()
}
