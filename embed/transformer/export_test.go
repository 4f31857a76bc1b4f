package transformer

// Bytes returns the memory that the weights take.
func (e *Embedder) Bytes() int { return e.encoder.Bytes() }
