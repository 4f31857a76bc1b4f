package config

// Telemetry is what is recorded about turns.
type Telemetry struct {
	Events string // a folder; relative to the project's root unless absolute
}

func (t *Telemetry) keys() []key {
	return []key{
		bind("events", &t.Events, ".ken/state/events", path(),
			"The folder of the events, one file of JSON lines per session, relative to the project's root. To write none, set "+
				"middleware.events to false."),
	}
}
