package connect

import (
	_ "embed"
	"encoding/json"
	"strings"
)

// pluginText is the plugin for opencode, whose hooks are functions of a module.
//
//go:embed plugin.js
var pluginText string

// ownFile begins a file that is Ken's own.
const ownFile = "// Written by ken connect"

// plugin returns the plugin that runs the program ken.
func plugin(ken string) string {
	quoted, _ := json.Marshal(ken) // a string always can be
	return strings.Replace(pluginText, `"KEN"`, string(quoted), 1)
}
