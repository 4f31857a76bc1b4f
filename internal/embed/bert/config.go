package bert

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/embed/safetensors"
)

// ErrUnsupported is wrapped by the error for a valid model of a kind that is not supported.
var ErrUnsupported = errors.New("not supported")

// Limits on input: the largest encoders of the family are well below.
const (
	maxJSON      = 1 << 20  // bytes of a configuration file
	maxTokenizer = 32 << 20 // bytes of tokenizer.json and of vocab.txt
	maxHidden    = 1 << 13
	maxLayers    = 1 << 8
)

// config holds the settings of the model, as read from the folder's files.
type config struct {
	Kind         string  `json:"model_type"`
	Hidden       int     `json:"hidden_size"`
	Layers       int     `json:"num_hidden_layers"`
	Heads        int     `json:"num_attention_heads"`
	Intermediate int     `json:"intermediate_size"`
	Activation   string  `json:"hidden_act"`
	Epsilon      float32 `json:"layer_norm_eps"`
	Positions    int     `json:"max_position_embeddings"`
	PositionKind string  `json:"position_embedding_type"`
	Vocabulary   int     `json:"vocab_size"`
	Padding      int     `json:"pad_token_id"`
	Path         string  `json:"_name_or_path"`

	first     bool // use the vector of the first token instead of the mean
	maxTokens int  // maximum number of tokens of a text, special ones included
	query     string
	passage   string
	modules   []string // files that define how vectors are computed, for the model's identity
}

// positionOffset returns the position of the first token: RoBERTa counts from after the padding.
func (c *config) positionOffset() int {
	if c.Kind == "bert" {
		return 0
	}
	return c.Padding + 1
}

func readConfig(folder string) (*config, error) {
	c := &config{Epsilon: 1e-12, Activation: "gelu", Kind: "bert"}
	if err := readJSON(folder, "config.json", c); err != nil {
		return nil, err
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("config.json: %w", err)
	}
	if err := c.readModules(folder); err != nil {
		return nil, err
	}
	if err := c.readLength(folder); err != nil {
		return nil, err
	}
	return c, c.readPrompts(folder)
}

func (c *config) check() error {
	switch {
	case !slices.Contains([]string{"bert", "roberta", "xlm-roberta"}, c.Kind):
		return fmt.Errorf("a model of type %.40q, not bert, roberta or xlm-roberta: %w", c.Kind, ErrUnsupported)
	case c.Activation != "gelu":
		return fmt.Errorf("the activation %.40q, not gelu: %w", c.Activation, ErrUnsupported)
	case c.PositionKind != "" && c.PositionKind != "absolute":
		return fmt.Errorf("positions of type %.40q, not absolute: %w", c.PositionKind, ErrUnsupported)
	case c.Hidden <= 0 || c.Hidden > maxHidden || c.Layers <= 0 || c.Layers > maxLayers || c.Heads <= 0 || c.Intermediate <= 0 || c.Intermediate > 8*maxHidden ||
		c.Vocabulary <= 0 || c.Positions <= 0 || c.Padding < 0 || c.positionOffset() >= c.Positions:
		return fmt.Errorf("%d layers of %d numbers with %d heads, %d numbers between, %d tokens and %d positions", c.Layers, c.Hidden, c.Heads, c.Intermediate, c.Vocabulary, c.Positions)
	case c.Hidden%c.Heads != 0:
		return fmt.Errorf("%d numbers for %d heads", c.Hidden, c.Heads)
	case c.Hidden%32 != 0 || c.Intermediate%32 != 0 || c.Hidden/c.Heads%4 != 0:
		return fmt.Errorf("sizes %d and %d that are no multiples of 32, or heads of %d: %w", c.Hidden, c.Intermediate, c.Hidden/c.Heads, ErrUnsupported)
	}
	return nil
}

// readModules reads how the vectors of tokens are combined. Without modules.json it is the mean,
// as in sentence-transformers. Normalize may be missing, because Ken's vectors always have unit
// length.
func (c *config) readModules(folder string) error {
	var modules []struct{ Path, Type string }
	if err := readJSON(folder, "modules.json", &modules); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	c.modules = append(c.modules, "modules.json")
	for _, m := range modules {
		switch kind := m.Type[strings.LastIndexByte(m.Type, '.')+1:]; kind {
		case "Transformer", "Normalize":
			if m.Path != "" && kind == "Transformer" {
				return fmt.Errorf("modules.json: a transformer in the folder %.40q: %w", m.Path, ErrUnsupported)
			}
		case "Pooling":
			if !filepath.IsLocal(m.Path) {
				return fmt.Errorf("modules.json: the folder %.40q", m.Path)
			}
			file := filepath.Join(m.Path, "config.json")
			c.modules = append(c.modules, file)
			if err := c.readPooling(folder, file); err != nil {
				return err
			}
		default:
			return fmt.Errorf("modules.json: the module %.80q: %w", m.Type, ErrUnsupported)
		}
	}
	return nil
}

func (c *config) readPooling(folder, file string) error {
	var fields map[string]any
	if err := readJSON(folder, file, &fields); err != nil {
		return err
	}
	var modes []string
	for name, value := range fields {
		switch mode, ok := strings.CutPrefix(name, "pooling_mode_"); {
		case ok && value == true:
			modes = append(modes, mode)
		case name == "pooling_mode":
			modes = append(modes, fmt.Sprint(value))
		}
	}
	if len(modes) != 1 {
		slices.Sort(modes)
		return fmt.Errorf("%s: %d poolings at once (%s): %w", file, len(modes), strings.Join(modes, ", "), ErrUnsupported)
	}
	switch modes[0] {
	case "mean_tokens", "mean", "mean_sqrt_len_tokens", "mean_sqrt_len": // they differ only in length
	case "cls_token", "cls":
		c.first = true
	default:
		return fmt.Errorf("%s: the pooling %.40q: %w", file, modes[0], ErrUnsupported)
	}
	return nil
}

// readLength reads the maximum length of a text.
func (c *config) readLength(folder string) error {
	c.maxTokens = c.Positions - c.positionOffset()
	var s struct {
		Max int `json:"max_seq_length"`
	}
	if err := readJSON(folder, "sentence_bert_config.json", &s); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if s.Max == 0 {
		var t struct {
			Max float64 `json:"model_max_length"` // 1e30 for no limit
		}
		if err := readJSON(folder, "tokenizer_config.json", &t); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		s.Max = int(min(t.Max, float64(c.maxTokens)))
	}
	if s.Max > 0 {
		c.maxTokens = min(c.maxTokens, s.Max)
	}
	return nil
}

// readPrompts reads the prefixes for questions and for texts that are searched. The E5 models
// have a convention, but usually no file for it.
func (c *config) readPrompts(folder string) error {
	var s struct{ Prompts map[string]string }
	if err := readJSON(folder, "config_sentence_transformers.json", &s); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	c.query = s.Prompts["query"]
	for _, name := range []string{"passage", "document", "corpus"} {
		if p, ok := s.Prompts[name]; ok {
			c.passage = p
			break
		}
	}
	if len(s.Prompts) == 0 && (isE5(c.Path) || isE5(folder)) {
		c.query, c.passage = "query: ", "passage: "
	}
	if len(c.query) > 4096 || len(c.passage) > 4096 {
		return errors.New("config_sentence_transformers.json: a prompt of more than 4 KiB")
	}
	return nil
}

// isE5 reports whether a model's name is that of an E5 model that uses prefixes instead of
// instructions.
func isE5(path string) bool {
	name := strings.ToLower(filepath.Base(filepath.ToSlash(path)))
	return (strings.HasPrefix(name, "e5-") || strings.Contains(name, "-e5-")) && !strings.Contains(name, "instruct")
}

func readJSON(folder, file string, v any) error {
	data, err := readFile(folder, file, maxJSON)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func readFile(folder, file string, limit int64) ([]byte, error) {
	return safetensors.ReadFile(filepath.Join(folder, file), limit)
}

// Describes reports whether a folder's config.json is that of a transformer, of this family or
// another. A static table's has neither layers nor heads.
func Describes(folder string) bool {
	var c struct {
		Layers        int      `json:"num_hidden_layers"`
		Heads         int      `json:"num_attention_heads"`
		Architectures []string `json:"architectures"`
		Kind          string   `json:"model_type"`
	}
	if err := readJSON(folder, "config.json", &c); err != nil {
		return false
	}
	return c.Kind != "model2vec" && (c.Layers > 0 || c.Heads > 0)
}
