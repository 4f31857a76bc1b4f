package install

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/trust"
)

// Model is an embedder that can be installed.
type Model struct {
	Name       string // of the folder
	Repository string // on the hub, as owner/name
	Revision   string // of the repository
	About      string // one line
	Licence    string
	Files      []File
}

// File is one file of a model.
type File struct {
	Path   string // within the folder, with slashes
	Size   int64  // bytes
	SHA256 string // in hexadecimal
}

// Bytes returns the total size of all files.
func (m *Model) Bytes() (n int64) {
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

// models lists the models, by name. The hashes were computed from a copy of the repository and
// compared with those that several other projects publish for the same revision.
var models = []Model{{
	Name:       "all-MiniLM-L6-v2",
	Repository: "sentence-transformers/all-MiniLM-L6-v2",
	Revision:   "1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
	About:      "a sentence encoder for English, 6 layers, 384 dimensions, texts of up to 256 tokens",
	Licence:    "Apache-2.0",
	Files: []File{
		{"config.json", 612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"},
		{"modules.json", 349, "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"},
		{"1_Pooling/config.json", 190, "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23"},
		{"sentence_bert_config.json", 53, "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"},
		{"config_sentence_transformers.json", 116, "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3"},
		{"tokenizer.json", 466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"},
		{"model.safetensors", 90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"},
	},
}}

// Models returns the models that can be installed, by name. The caller must not change the
// slice.
func Models() []Model { return models }

// Folder returns the folder of the user's installed embedders. Each one is in a subfolder with
// its name. The folder need not exist. Without a home folder, it returns "".
func Folder() string {
	dir := trust.DataFolder()
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "embedders")
}

// Named returns the model that knowledge.embed_path names, nil if the value is a path. For a
// folder of the same name in a project, write "./" before it.
func Named(embedPath string) *Model {
	i := slices.IndexFunc(models, func(m Model) bool { return m.Name == embedPath })
	if i < 0 {
		return nil
	}
	return &models[i]
}

// Missing returns the error for a model that a field names and that is not in dir.
func (m *Model) Missing(field, dir string) error {
	return &ken.Error{Code: ken.CodeUnavailable, Field: field, Msg: "the embedder " + m.Name + " is not in " + dir + ", or not whole",
		Try: "Run ken embed install " + m.Name + "."}
}

// Find returns the model with a name, ignoring case, or with the name of its repository.
// Errors: ErrInvalid, with the available names.
func Find(name string) (*Model, error) {
	i := slices.IndexFunc(models, func(m Model) bool {
		return strings.EqualFold(m.Name, name) || strings.EqualFold(m.Repository, name)
	})
	if i >= 0 {
		return &models[i], nil
	}
	var names []string
	for _, m := range models {
		names = append(names, m.Name)
	}
	return nil, &ken.Error{Code: ken.CodeInvalid, Field: "embedder", Msg: "there is no embedder " + name + " to install",
		Try: "Name one of " + strings.Join(names, ", ") + ", or set knowledge.embed_path to the folder of another model."}
}
