package finding

import (
	"maps"
	"strings"
)

// wellKnown are the tools of the well-known coding agents and of the common MCP
// servers, by role, each as name or name:argument. Names that several of them
// share stand once, with the first.
var wellKnown = map[Role][]string{
	Read: {
		"read notebook_read",                                                           // Claude Code
		"view view_file view_file_outline view_code_item",                              // Windsurf, Crush, Zencoder
		"read_file read_many_files:paths read_files open_file",                         // Cline, Roo, Cursor, Gemini CLI, goose, fuseraft
		"read_text_file read_multiple_files:paths get_file_contents read_media_file:-", // MCP filesystem and GitHub servers
		"file_read fs_read cat open show_file",                                         // OpenHands, Amazon Q, SWE-agent
		"resource_read read_resource:uri",                                              // MCP
	},
	Search: {
		"grep glob", // Claude Code, opencode, Crush, Gemini CLI
		"grep_file grep_search grep_files search_files search_file_content search_code codebase_search:query file_search:query",
		"ripgrep rg find_files find_file:pattern search_dir:search_term search_file:search_term search_project",
		"list_code_usages:symbol_name find_references find_symbol:name_path find_by_name:pattern semantic_search:query text_search",
	},
	List: {
		"ls list list_dir list_directory list_files list_directory_with_sizes directory_tree list_code_definition_names read_folder get_file_info",
		"git_status:repo_path git_diff:repo_path git_diff_staged:repo_path git_diff_unstaged:repo_path git_log:repo_path git_show:revision git_branch:repo_path",
	},
	Write: {
		"write edit multi_edit multiedit notebook_edit", // Claude Code, opencode, Crush
		"apply_patch patch",                             // Codex, opencode, Copilot
		"write_to_file replace_in_file apply_diff insert_content search_and_replace new_file",                                                      // Cline, Roo
		"edit_file search_replace str_replace create_file edit_notebook insert_edit_into_file replace_string_in_file multi_replace_string_in_file", // Cursor, Copilot
		"write_file replace save_file", // Gemini CLI, MCP filesystem
		"str_replace_editor str_replace_based_edit_tool file_editor text_editor fs_write edit_block", // OpenHands, Anthropic, Amazon Q, Desktop Commander
		"replace_file_content multi_replace_file_content write_file_content propose_code append_file insert file_write file_edit create_or_update_file",
	},
	Delete: {"delete_file delete remove_file rm file_delete delete_path"},
	Move:   {"move_file move rename rename_file move_path"},
	Run: {
		"bash", // Claude Code, OpenHands, opencode, Crush
		"shell exec_command local_shell container.exec shell_command",                                           // Codex
		"execute_command run_shell_command run_terminal_cmd run_terminal_command run_in_terminal run_command",   // Cline, Roo, Gemini CLI, Cursor, Copilot, Windsurf
		"execute_bash terminal cmd_run start_process developer__shell launch_process run_shell exec shell_exec", // OpenHands, Desktop Commander, goose
	},
	Fetch: {
		"web_fetch webfetch fetch fetch_url read_url_content browse http_get url_fetch fetch_webpage:urls scrape_url",
	},
}

var defaults = func() map[string]Tool {
	m := map[string]Tool{}
	for role, lines := range wellKnown {
		for _, line := range lines {
			for entry := range strings.FieldsSeq(line) {
				name, argument, _ := strings.Cut(entry, ":")
				if argument == "-" { // images
					continue
				}
				m[name] = Tool{Name: name, Role: role, Argument: argument}
			}
		}
	}
	return m
}()

// Defaults returns the tools of the well-known coding agents (Claude Code, Codex,
// Cursor, Cline, Roo, Copilot, Gemini CLI, Windsurf, opencode, Crush, goose,
// OpenHands, SWE-agent) and of the MCP servers for files, git and pages.
func Defaults() Tools { return Tools{byName: maps.Clone(defaults)} }
