package main

import "github.com/spf13/cobra"

// commands lists every command, as help shows them.
func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{
		a.askCommand(),
		a.chatCommand(),
		a.serveCommand(),
		a.mcpCommand(),
		a.indexCommand(),
		a.initCommand(),
		a.configCommand(),
		a.trustCommand(),
		a.doctorCommand(),
		a.learnCommand(),
		a.recallCommand(),
		a.verifyCommand(),
		a.disputeCommand(),
		a.supersedeCommand(),
		a.historyCommand(),
		a.provenanceCommand(),
		a.runCommand(),
		a.forgetCommand(),
		a.sessionsCommand(),
		a.harvestCommand(),
		a.jobsCommand(),
		a.memoryCommand(),
		a.skillCommand(),
		a.entityCommand(),
		a.constraintCommand(),
		a.dependencyCommand(),
		a.tasksCommand(),
		a.decisionCommand(),
		a.objectiveCommand(),
		a.graphCommand(),
		a.driftCommand(),
		a.planCommand(),
		a.attentionCommand(),
		a.knowledgeCommand(),
		a.importCommand(),
		a.exportCommand(),
		a.embedCommand(),
		a.evalCommand(),
		a.checkCommand(),
		a.verifyLogCommand(),
	}
}
