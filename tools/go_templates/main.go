// Renders Go templates with ollama's own package, for tools/compare_go_templates.py.
// Reads {"templates": {name: source}, "cases": [{"template": name, "context": {...}}, ...]} from stdin, contexts in Puna's
// form (src/chat/messages.h), and writes one JSON array: {"expected": text} or {"fails": true, "error": message} each.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/template"
)

type call struct {
	ID       string `json:"id"`
	Function struct {
		Name      string                        `json:"name"`
		Arguments api.ToolCallFunctionArguments `json:"arguments"`
	} `json:"function"`
}

type message struct {
	Role       string `json:"role"`
	Content    string `json:"content"`
	Reasoning  string `json:"reasoning_content"`
	Thinking   string `json:"thinking"`
	Name       string `json:"name"`
	ToolCallID string `json:"tool_call_id"`
	ToolCalls  []call `json:"tool_calls"`
}

type context struct {
	Messages []message `json:"messages"`
	Tools    api.Tools `json:"tools"`
	Think    *bool     `json:"enable_thinking"`
	Level    string    `json:"reasoning_effort"`
	Prompt   string    `json:"prompt"`
	Suffix   string    `json:"suffix"`
}

type outcome struct {
	Expected *string `json:"expected,omitempty"`
	Fails    bool    `json:"fails,omitempty"`
	Error    string  `json:"error,omitempty"`
}

func values(in context) template.Values {
	var think api.ThinkValue
	switch {
	case in.Level != "" && (in.Think == nil || *in.Think):
		think.Value = in.Level
	case in.Think != nil:
		think.Value = *in.Think
	}
	out := template.Values{Tools: in.Tools, Prompt: in.Prompt, Suffix: in.Suffix,
		Think: think.Bool(), ThinkLevel: think.String(), IsThinkSet: think.Value != nil}
	for _, m := range in.Messages {
		next := api.Message{Role: m.Role, Content: m.Content, Thinking: m.Reasoning + m.Thinking,
			ToolName: m.Name, ToolCallID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			next.ToolCalls = append(next.ToolCalls, api.ToolCall{ID: c.ID,
				Function: api.ToolCallFunction{Name: c.Function.Name, Arguments: c.Function.Arguments}})
		}
		out.Messages = append(out.Messages, next)
	}
	return out
}

func render(source string, given json.RawMessage) (out outcome) {
	fail := func(err any) outcome { return outcome{Fails: true, Error: fmt.Sprint(err)} }
	defer func() {
		if err := recover(); err != nil {
			out = fail(err)
		}
	}()
	var in context
	if err := json.Unmarshal(given, &in); err != nil {
		return fail(err)
	}
	parsed, err := template.Parse(source)
	if err != nil {
		return fail(err)
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, values(in)); err != nil {
		return fail(err)
	}
	expected := text.String()
	return outcome{Expected: &expected}
}

func main() {
	var in struct {
		Templates map[string]string `json:"templates"`
		Cases     []struct {
			Template string          `json:"template"`
			Context  json.RawMessage `json:"context"`
		} `json:"cases"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	out := []outcome{}
	for _, each := range in.Cases {
		out = append(out, render(in.Templates[each.Template], each.Context))
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(out); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
