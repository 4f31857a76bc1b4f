package reading

// heads are nouns that tell what sort of thing a noun phrase names. What is kept is
// part of the name ("staging database", "release checklist"); what is dropped is
// not ("the payments service" is payments), unless what is left is common.
var heads = []struct {
	typ           Type
	kept, dropped string
}{
	{System, `database databases db cluster server servers api apis gateway queue bucket cache endpoint endpoints pipeline scheduler worker broker proxy router backend frontend store registry middleware topic table
		schema host instance environment network console dashboard panel branch component components engine runtime container containers index webhook handler controller subsystem layer loader parser config model bus plugin plugins form gallery navbar page modal verifier view views surface tab field file manifest hook gate
		drawer picker sidecar shell pane widget bridge slot suite fence catalog`,
		`service services microservice system module daemon subsystem process feature`},
	{Tool, `cli sdk editor compiler linter driver client language formatter extension`, `library libraries framework package tool`},
	{Project, `website site portfolio product monorepo app apps application`, `repo repository project projects codebase`},
	{Person, `team squad group committee manager family crew guild`, ``},
	{Concept, `checklist process policy convention conventions strategy protocol algorithm guideline guidelines rule theorem formula contract agreement budget roadmap architecture format pattern standard workflow theory law model spec specification`, ``},
	{Skill, `skill skills playbook runbook recipe`, ``},
	{Task, `ticket milestone sprint epic migration rollout backlog`, `task`},
}
