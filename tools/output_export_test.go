package tools

// What the tools answer, for the tests beside the package.
type (
	CandidateOutput      = candidateOutput
	ClaimView            = claimView
	ConstraintAddOutput  = constraintAddOutput
	DecisionOutput       = decisionOutput
	DecisionReadOutput   = decisionReadOutput
	DecisionSearchOutput = decisionSearchOutput
	DependencyAddOutput  = dependencyAddOutput
	DependentsOutput     = dependentsOutput
	DisputeOutput        = disputeOutput
	EntityShowOutput     = entityShowOutput
	ExplainOutput        = explainOutput
	HistoryOutput        = historyOutput
	ListOutput           = listOutput
	NodesOutput          = nodesOutput
	ObjectiveListOutput  = objectiveListOutput
	ObjectiveOutput      = objectiveOutput
	RefsOutput           = refsOutput
	SessionRecallOutput  = sessionRecallOutput
	StatsOutput          = statsOutput
	TaskListOutput       = taskListOutput
	TaskOutput           = taskOutput
	VerifyOutput         = verifyOutput
)
