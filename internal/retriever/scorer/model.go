package scorer

import "math"

// Model is a logistic regression that learns online:
//
//	p(used | x) = 1 / (1 + exp(-w·x))
//
// by FTRL-Proximal (H. B. McMahan et al., Ad click prediction: a view from the
// trenches, KDD 2013, algorithm 1) without its L1 part: gradient descent with an L2
// penalty and a learning rate for each weight, which gets smaller the more that
// weight has learned. So the weight of a slot that is seen for the first time moves
// quickly, while those of the dense features have settled. With g = (p-y)·x,
//
//	σ = (√(n+g²) - √n) / α;  z += g - σ·w;  n += g²;  w = -z / ((β+√n)/α + λ)
//
// Names are hashed into Slots weights (K. Weinberger et al., Feature hashing for
// large scale multitask learning, ICML 2009), so that the size of a model does not
// depend on how many there are. The same examples in the same order give the same
// model. A model is not safe for concurrent use while it learns; the zero value
// knows nothing.
type Model struct {
	z, n [width]float64
}

// The constants of the paper's names. α is larger than for clicks because there are
// some thousand examples here, not billions.
const (
	alpha  = 0.15
	beta   = 1
	lambda = 1
)

func (m *Model) weight(i int) float64 {
	if m.n[i] == 0 {
		return 0
	}
	return -m.z[i] / ((beta+math.Sqrt(m.n[i]))/alpha + lambda)
}

// logit is w·x.
func (m *Model) logit(v *vector) (sum float64) {
	for i, x := range v.x {
		if x != 0 {
			sum += x * m.weight(i)
		}
	}
	for _, i := range v.slots[:v.n] {
		sum += m.weight(i)
	}
	return sum
}

// learn takes up one example.
func (m *Model) learn(v *vector, used bool) {
	g := 1/(1+math.Exp(-m.logit(v))) - is(used)
	for i, x := range v.x {
		if x != 0 {
			m.step(i, g*x)
		}
	}
	for _, i := range v.slots[:v.n] {
		m.step(i, g)
	}
}

func (m *Model) step(i int, g float64) {
	w := m.weight(i)
	more := m.n[i] + g*g
	m.z[i] += g - (math.Sqrt(more)-math.Sqrt(m.n[i]))/alpha*w
	m.n[i] = more
}

// weights are those of the model, for who only reads.
func (m *Model) weights() *[width]float64 {
	w := new([width]float64)
	for i := range w {
		w[i] = m.weight(i)
	}
	return w
}
