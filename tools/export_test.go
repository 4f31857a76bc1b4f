package tools

import "time"

// SetIndexWait sets how long a search waits for the first index, and returns a function that resets it.
func SetIndexWait(d time.Duration) (reset func()) {
	was := indexWait
	indexWait = d
	return func() { indexWait = was }
}

// Tests decode answers into the types that make them.
type (
	ClaimView             = claimView
	ConstraintResult      = constraintResult
	DecisionReadResult    = decisionReadResult
	DecisionResult        = decisionResult
	DecisionSearchResult  = decisionSearchResult
	DependencyResult      = dependencyResult
	DisputeResult         = disputeResult
	EntityResult          = entityResult
	ExplainResult         = explainResult
	GraphDependentsResult = graphDependentsResult
	GraphRefsResult       = graphRefsResult
	GraphSearchResult     = graphSearchResult
	HistoryResult         = historyResult
	LearnResult           = learnResult
	ListResult            = listResult
	MarkResult            = markResult
	ObjectiveListResult   = objectiveListResult
	ObjectiveResult       = objectiveResult
	RecallResult          = recallResult
	SessionResult         = sessionResult
	StatsResult           = statsResult
	TaskListResult        = taskListResult
	TaskResult            = taskResult
	VerifyResult          = verifyResult
)
