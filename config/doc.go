// Package config reads the one YAML file that configures Ken into one struct.
//
// Every setting is declared once, next to the struct field that it fills: its key,
// default, allowed values and meaning. Decoding, validation, config.example.yaml and
// docs/config.md are all generated from that declaration, so they always agree.
//
// The reader is strict, because a setting that is silently ignored is worse than
// a program that doesn't start: an unknown or repeated key, a wrong type and a
// value out of range are all errors that name the file, the line, the dotted key
// and what to write instead. An empty file is valid and means every default.
//
// The file never contains secrets. A key that needs one names the environment variable
// that holds it (api_key_env). A literal secret is refused, and the message doesn't
// repeat it. The package reads no other environment variables except KEN_CONFIG, which
// names the file itself, and those that name the user's own folders.
//
// A project's file may be written by a stranger: each key's declaration says which
// values apply before the user consents (consent.go). Resolve combines the user's and
// the project's files.
package config
