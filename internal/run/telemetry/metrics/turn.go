package metrics

import (
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/telemetry"
)

// assembleBuckets range from 0.1 ms to beyond the deadline of a turn. In
// seconds.
var assembleBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .15, .25, .5, 1}

func (m *Metrics) declareTurns() {
	m.turns = m.counterVec("ken_turns_total", "Model calls that the layer prepared, by how retrieval ran and by the kind of cause when that is not what was asked for.", "mode", "cause")
	m.reused = m.counterVec("ken_turns_reused_total", "Model calls that carry what an earlier request of the same turn composed.").WithLabelValues()
	m.injected = m.counterVec("ken_turns_with_knowledge_total", "Turns that got a block.").WithLabelValues()
	m.assemble = m.histogramVec("ken_assemble_duration_seconds", "Time that the layer took to prepare a model call.", assembleBuckets).WithLabelValues()
	m.stages = &histograms{vec: m.histogramVec("ken_stage_duration_seconds", "Time that a stage or a leg of a turn took.", assembleBuckets, "stage")}
	items := m.counterVec("ken_injected_items_total", "Items of composed blocks, by tier.", "tier")
	chars := m.counterVec("ken_injected_chars_total", "Code points of the items of composed blocks, frame included, by tier.", "tier")
	for i, tier := range tiers {
		m.items[i], m.chars[i] = items.WithLabelValues(tier), chars.WithLabelValues(tier)
	}
	m.cuts = &counters{vec: m.counterVec("ken_cuts_total", "Items that were considered and left out, by reason.", "reason")}
	m.degraded = &counters{vec: m.counterVec("ken_degraded_total", "Stages and legs that failed or were left out.", "stage")}
	m.overflowed = m.counterVec("ken_overflowed_constraints_total", "Constraints that did not fit even compressed.").WithLabelValues()
	bytes := m.counterVec("ken_prompt_bytes_total", "Bytes of prompts by what a provider's cache can do: shared with the session's request before, or new.", "cache")
	m.cached, m.fresh = bytes.WithLabelValues("shared"), bytes.WithLabelValues("new")
	m.taints = &counters{vec: m.counterVec("ken_taints_total", "Tool calls of answers that repeat an external claim, by what was done.", "action")}
}

// Turn counts one model call that the layer prepared. It does not retain the
// receipt. The items of a reused block are not counted again.
func (m *Metrics) Turn(r *ken.Receipt) {
	if m == nil {
		return
	}
	m.turns.WithLabelValues(mode(r.Mode), telemetry.CauseClass(r.Cause)).Inc()
	m.assemble.Observe(r.MS["total"] / 1000)
	m.cached.Add(float64(max(r.CachedBytes, 0)))
	m.fresh.Add(float64(max(r.NewBytes, 0)))
	if r.Reused {
		m.reused.Inc()
		return
	}
	if r.Block != "" {
		m.injected.Inc()
	}
	m.overflowed.Add(float64(max(r.OverflowedConstraints, 0)))
	for stage, ms := range r.MS {
		if stage != "total" && stage != "assemble" { // those two are sums of the others
			m.stages.with(stage).Observe(ms / 1000)
		}
	}
	m.blocks(r.Items)
	m.cutOff(r.Cut)
	for _, d := range r.Degraded {
		stage, _, _ := strings.Cut(d, ":")
		m.degraded.with(stage).Inc()
	}
}

// blocks counts items by tier. It adds them up first: a block has dozens of
// items, and a counter costs more than an addition.
func (m *Metrics) blocks(items []ken.Item) {
	var n, chars [len(tiers)]int
	for i := range items {
		tier := min(int(items[i].Tier), len(tiers)-1)
		n[tier]++
		chars[tier] += max(items[i].Chars, 0)
	}
	for i := range n {
		if n[i] > 0 {
			m.items[i].Add(float64(n[i]))
			m.chars[i].Add(float64(chars[i]))
		}
	}
}

// cutReasons is the number of different reasons that are added up before they
// are counted; there are about ten.
const cutReasons = 12

func (m *Metrics) cutOff(cuts []ken.Cut) {
	var reasons [cutReasons]ken.CutReason
	var n [cutReasons]int
	known := 0
next:
	for i := range cuts {
		for k := range known {
			if reasons[k] == cuts[i].Reason {
				n[k]++
				continue next
			}
		}
		if known == cutReasons {
			m.cuts.with(string(cuts[i].Reason)).Inc()
			continue
		}
		reasons[known], n[known] = cuts[i].Reason, 1
		known++
	}
	for k := range known {
		m.cuts.with(string(reasons[k])).Add(float64(n[k]))
	}
}

func mode(m ken.Mode) string {
	switch m {
	case ken.ModeHybrid, ken.ModeKeyword, ken.ModeVector, ken.ModeLate, ken.ModeNone:
		return string(m)
	}
	return Other
}
