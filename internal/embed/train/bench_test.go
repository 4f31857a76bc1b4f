package train

import "testing"

// BenchmarkStep is a step of the shipped table's size.
func BenchmarkStep(b *testing.B) {
	o := Options{}.withDefaults()
	tr := &trainer{o: &o, table: newRows(o.Tokens, o.Dim)}
	r := draw(1, 1)
	for i := range tr.table.values {
		tr.table.values[i] = float32(r.NormFloat64())
	}
	tr.batch = batch{n: o.Batch}
	for i := range 3 * o.Batch {
		length := 50
		if i < o.Batch {
			length = 10
			tr.batch.query = append(tr.batch.query, uint64(i))
			tr.batch.passage = append(tr.batch.passage, uint64(i))
			tr.batch.hard = append(tr.batch.hard, int32(2*o.Batch+i))
		}
		for range length {
			tr.batch.ids = append(tr.batch.ids, int32(float64(o.Tokens)*r.Float64()*r.Float64()*r.Float64()))
		}
		tr.batch.ends = append(tr.batch.ends, int32(len(tr.batch.ids)))
	}
	step := 0
	for b.Loop() {
		if err := tr.step(b.Context(), step, 1e-4); err != nil {
			b.Fatal(err)
		}
		step++
	}
}
