package config

// Telemetry is what is recorded about turns.
type Telemetry struct {
	Events string // a folder; relative to the project's root unless absolute
	Traces string // the URL of an OpenTelemetry collector; empty leaves it to the environment
}

func (t *Telemetry) keys() []key {
	return []key{
		bind("events", &t.Events, ".ken/state/events", path(),
			"The folder of the events, one file of JSON lines per session, relative to the project's root. To write none, set "+
				"middleware.events to false.").judged(inFolder(".ken", reachPath)),
		bind("traces", &t.Traces, "", address(),
			"Where ken serve sends OpenTelemetry traces: a collector's address for OTLP over HTTP, such as http://localhost:4318. "+
				"Empty: where OTEL_EXPORTER_OTLP_ENDPOINT says, and nowhere without it. Traces hold names, numbers and times, "+
				"never what anybody wrote.").judged(asks(reachAddress)),
	}
}
