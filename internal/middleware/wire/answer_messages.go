package wire

import (
	"strings"

	"github.com/kenlayer/ken"
)

// messageHearing reads Anthropic's messages.
type messageHearing struct {
	a      *Answer
	blocks []*streamedBlock
}

// streamedBlock is a block that comes in pieces.
type streamedBlock struct {
	block
	text, input strings.Builder
}

func (h *messageHearing) whole(root value) {
	if root.get("type").text() == "error" {
		h.a.fail(root.get("error"))
		return
	}
	h.message(root)
}

// message reads a message: the whole of it, or of a stream, what it starts with.
func (h *messageHearing) message(v value) {
	v.each(func(key string, v value) bool {
		switch key {
		case "id":
			h.a.ID = v.text()
		case "model":
			h.a.Model = v.text()
		case "stop_reason":
			h.a.Finish = v.text()
		case "usage":
			h.usage(v)
		case "content":
			h.content(v)
		}
		return true
	})
}

func (h *messageHearing) content(array value) {
	if !array.isArray() {
		return
	}
	h.a.Message = ken.Message{}
	array.each(func(_ string, v value) bool {
		b := readBlock(v)
		b.into(&h.a.Message)
		return true
	})
}

// usage counts what the cache served and took up as part of the prompt, which
// Anthropic counts beside it. A stream's counts come in two parts, and the later
// ones may leave out what has been said.
func (h *messageHearing) usage(v value) {
	if v.get("input_tokens").exists() {
		h.a.Usage.Cached = tokens(v.get("cache_read_input_tokens"))
		h.a.Usage.Input = tokens(v.get("input_tokens")) + tokens(v.get("cache_creation_input_tokens")) + h.a.Usage.Cached
	}
	if n := v.get("output_tokens"); n.exists() {
		h.a.Usage.Output = tokens(n)
	}
}

func (h *messageHearing) event(root value) {
	switch root.get("type").text() {
	case "message_start":
		h.message(root.get("message"))
	case "content_block_start":
		if b := h.at(root.get("index")); b != nil {
			b.block = readBlock(root.get("content_block"))
			b.text.WriteString(b.block.text)
		}
	case "content_block_delta":
		b := h.at(root.get("index"))
		if b == nil {
			return
		}
		delta := root.get("delta")
		switch delta.get("type").text() { // thinking and its signature are not said
		case "text_delta":
			b.kind = "text"
			b.text.WriteString(delta.get("text").text())
		case "input_json_delta":
			b.input.WriteString(delta.get("partial_json").text())
		}
	case "message_delta":
		if s := root.get("delta", "stop_reason").text(); s != "" {
			h.a.Finish = s
		}
		h.usage(root.get("usage"))
	case "error":
		h.a.fail(root.get("error"))
	}
}

func (h *messageHearing) at(index value) *streamedBlock {
	i := int(index.number())
	if i < 0 || i >= maxCalls {
		return nil
	}
	for len(h.blocks) <= i {
		h.blocks = append(h.blocks, new(streamedBlock))
	}
	return h.blocks[i]
}

func (h *messageHearing) end() {
	for _, b := range h.blocks {
		b.block.text = b.text.String()
		b.into(&h.a.Message)
		if n := len(h.a.Message.ToolCalls); b.calls() && b.input.Len() > 0 {
			h.a.Message.ToolCalls[n-1].Arguments = b.input.String()
		}
	}
}
