package tools

// builtin are the tools of every registry, in the order in which they are listed.
func builtin() []Tool {
	return []Tool{
		memoryRecall(),
		memoryIngest(),
		memoryList(),
		memoryStats(),
		recallSession(),
		forgetMemory(),
		knowledgeLearn(),
		knowledgeRecall(),
		knowledgeVerify(),
		knowledgeDispute(),
		knowledgeHistory(),
		knowledgeExplain(),
		entitySearch(),
		entityShow(),
		constraintAdd(),
		dependencyAdd(),
		taskCreate(),
		taskUpdate(),
		taskList(),
		decisionSearch(),
		decisionRead(),
		decisionCreate(),
		decisionSupersede(),
		graphSearch(),
		graphRefs(),
		graphDependents(),
		objectiveCreate(),
		objectiveRead(),
		objectiveUpdate(),
		objectiveList(),
		objectiveLinkTask(),
	}
}
