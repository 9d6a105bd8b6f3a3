"""What compare_go_templates.py renders: conversations, and Go templates for one part of the language each."""

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tells <now> & later, in °C.",
        "parameters": {
            "type": "object",
            "required": ["city"],
            "properties": {
                "unit": {"type": "string", "enum": ["celsius", 1, True]},
                "city": {"type": ["string", "null"], "description": "A city, \"quoted\""},
                "hours": {"type": "array", "items": {"type": "integer", "maximum": 24}},
                "place": {"type": "object", "properties": {"z": {"type": "number"}, "a": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}},
                "any": {"description": "whatever"},
            },
        },
    },
}
NOW = {"type": "function", "function": {"name": "now", "description": "", "parameters": {"type": "object", "properties": {}}}}
TOOLS = [WEATHER, NOW]

SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "Grüße aus 東京 <b>&'\"</b>\n{{ x }} {% y %} {# z #} \\n"}
ANSWER = {"role": "assistant", "content": "Fine."}
ARGUMENTS = {"days": 2, "city": "Zürich <&>", "detail": {"wind": True, "at": [6, 1.5, "x", None]}, "big": 123456, "small": 0.00001, "none": None, "unit": "é\u2028"}


def call(name, arguments, call_id="c1"):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


CALL = {"role": "assistant", "content": "", "tool_calls": [call("get_weather", ARGUMENTS), call("now", {}, "c2")]}
RESULTS = [{"role": "tool", "name": "get_weather", "tool_call_id": "c1", "content": "{\"t\": 21.5}"},
           {"role": "tool", "name": "now", "tool_call_id": "c2", "content": "noon"}]
ASK = {"role": "user", "content": "And now?"}
THOUGHT = {**ANSWER, "reasoning_content": "They greet.\nI answer."}
ON = {"enable_thinking": True, "thinking": True}
OFF = {"enable_thinking": False, "thinking": False}

CONVERSATIONS = {
    "user": {"messages": [USER]},
    "system": {"messages": [SYSTEM, ASK]},
    "turns": {"messages": [SYSTEM, USER, ANSWER, ASK]},
    "answered": {"messages": [ASK, ANSWER]},
    "one_role": {"messages": [SYSTEM, SYSTEM, USER, ASK, ANSWER, ANSWER, SYSTEM, ASK]},
    "systems": {"messages": [USER, SYSTEM, ASK, ANSWER, SYSTEM, USER]},
    "tools": {"messages": [ASK], "tools": TOOLS},
    "results": {"messages": [SYSTEM, USER, CALL, *RESULTS], "tools": TOOLS},
    "called": {"messages": [USER, CALL, *RESULTS, ANSWER, ASK], "tools": [NOW]},
    "thought": {"messages": [USER, THOUGHT, ASK], **ON},
    "thought_last": {"messages": [USER, THOUGHT], **ON, "reasoning_effort": "high"},
    "thinks": {"messages": [ASK], **ON},
    "does_not_think": {"messages": [SYSTEM, ASK], **OFF},
    "gap": {"messages": [], "prompt": "a {{ b", "suffix": "c"},
}

# Rendered with the conversation that is named, by ollama and by Puna alike. None: with "results" where a template asks for
# the messages, else with "user".
LANGUAGE = {
    None: [
        # Text, trimming and comments
        "", "plain", " a {{- 1 -}} b ", "a\n\n {{- /* c */ -}} \n b", "{{/* a */}}b{{ /* c */ }}", "{{- /* a\nb */}}x", "{{/* a */ }}",
        "a{{-1}}b", "a {{-  1}}b", "a{{ 1 -}}\t\r\n b", "a{{ 1 -}} ", "{{", "a }} b {{ 1 }}", "{{}}", "{{ }}", "{{ 1", "{{ 1 }", "\r\n{{ 1 }}\r\n",
        "{{/*a*/}}", "{{/* a", "x{{- \n 1 \n -}} y", "{%  %}{# #}", "'\\'\"", "a{{\"{{\"}}b{{`}}`}}c",
        # Constants
        "{{ 1 }} {{ -1 }} {{ +1 }} {{ 0x1F }} {{ 0b11 }} {{ 0o17 }} {{ 017 }} {{ 1_000 }} {{ 'a' }} {{ '\\n' }} {{ 'é' }} {{ '\\'' }}",
        "{{ 1.5 }} {{ 1e3 }} {{ 1e30 }} {{ -0.25 }} {{ 1e-7 }} {{ 123456789.0 }} {{ .5 }}", "{{ true }} {{ false }}", "{{ nil }}", "{{ 08 }}", "{{ 1x }}",
        "{{ \"a\\n\\t\\\"\\\\\\x41\\u00e9\\U0001F600\\101\" }}", "{{ `a\\n\"b` }}", "{{ \"a\nb\" }}", "{{ \"a }}", "{{ 'ab' }}", "{{ '' }}", "{{ \"\\q\" }}", "{{ \"\\'\" }}", "{{ `a }}", "{{ 9223372036854775807 }}", "{{ 9223372036854775808 }}",
        # Fields and variables
        "{{ .System }}|{{ .Response }}|{{ .Think }}|{{ .ThinkLevel }}|{{ .IsThinkSet }}{{ len .Messages }}", "{{ .Nothing }}{{ .Nothing.More }}{{ len .Messages }}",
        "{{ .Messages.Foo }}", "{{ range .Messages }}{{ .Foo }}{{ end }}", "{{ $.System }}{{ len $.Messages }}", "{{ range .Messages }}{{ $.System }}{{ end }}",
        "{{ $x := .System }}{{ $x }}{{ len .Messages }}", "{{ $x }}{{ len .Messages }}", "{{ $x = 1 }}", "{{ if true }}{{ $x := 1 }}{{ end }}{{ $x }}", "{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}{{ .Messages | len }}",
        "{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ $x }}{{ end }}{{ $x }}{{ .Messages | len }}", "{{ $x := 1 }}{{ range .Messages }}{{ $x = 2 }}{{ end }}{{ $x }}", "{{ $x := 1 }}{{ $x := 2 }}{{ $x }}{{ .Messages | len }}",
        "{{ $x := 0 }}{{ range $i, $m := .Messages }}{{ $x = $i }}{{ end }}{{ $x }}", "{{ $über := 1 }}{{ $über }}{{ len .Messages }}", "{{ $x:=1 }}{{ $x}}{{ len .Messages }}", "{{ $x.y }}", "{{ $x = 1 := 2 }}", "{{ .a.b.c }}{{ len .Messages }}", "{{ .System.Foo }}{{ len .Messages }}",
        "{{ (index .Messages 0).Content }}{{ len .Messages }}", "{{ (index .Messages 0) .Content }}", "{{ .System .System }}{{ len .Messages }}", "{{ 1 2 }}", "{{ .System | 1 }}", "{{ .System | .System }}{{ len .Messages }}", "{{ \"a\".b }}", "{{ 1.x }}", "{{ true.x }}", "{{ .. }}", "{{ .System. }}", "{{ .(.x) }}", "{{ ( 1 ) }}", "{{ (1 }}", "{{ 1) }}", "{{ 1(2) }}", "{{ | 1 }}", "{{ 1 | }}", "{{ , }}", "{{ # }}", "{{ len.Messages }}", "{{ $x := (len .Messages) }}{{ $x }}", "{{ len (.Messages) }}", "{{ (.Messages | len) }}", "{{len .Messages}}",
        # if
        "{{ if .System }}a{{ else }}b{{ end }}{{ len .Messages }}", "{{ if .Nothing }}a{{ else }}b{{ end }}{{ len .Messages }}", "{{ if false }}a{{ else if true }}b{{ else }}c{{ end }}", "{{ if false }}a{{ else if false }}b{{ else }}c{{ end }}", "{{ if 0 }}a{{ else }}b{{ end }}", "{{ if 1.5 }}a{{ end }}{{ if 0.0 }}b{{ end }}", "{{ if \"\" }}a{{ end }}{{ if \"x\" }}b{{ end }}",
        "{{ if .Tools }}a{{ end }}{{ if .Messages }}b{{ end }}", "{{ range .Messages }}{{ if .ToolCalls }}c{{ else if .Content }}t{{ end }}{{ if .Images }}i{{ end }}{{ end }}", "{{ if $x := .System }}{{ $x }}{{ else }}{{ $x }}n{{ end }}{{ len .Messages }}", "{{ if $x := false }}a{{ else if $x }}b{{ else }}c{{ $x }}{{ end }}", "{{ if }}a{{ end }}", "{{ if true }}", "{{ if true }}{{ else }}{{ else }}{{ end }}", "{{ end }}", "{{ else }}", "{{ if true }}{{ end }}{{ end }}", "{{ if true }}a{{ else with 1 }}{{ end }}", "{{ if true else }}{{ end }}", "{{ if not .Nothing }}a{{ end }}{{ .Messages | len }}", "{{ if false }}1{{ else if false }}2{{ else if $x := 3 }}{{ $x }}{{ else }}4{{ end }}", "{{ if nil }}a{{ end }}", "{{ if .System }}{{ if .Tools }}a{{ end }}{{ end }}{{ len .Messages }}", "{{ if false }}{{ else }}{{ if true }}x{{ end }}y{{ end }}", "{{ if false }}{{ else }}{{ if false }}x{{ else }}z{{ end }}{{ end }}",
        # with
        "{{ with .System }}{{ . }}{{ else }}n{{ end }}{{ len .Messages }}", "{{ with .Nothing }}{{ .Foo }}{{ else }}n{{ end }}{{ len .Messages }}", "{{ with $x := .System }}{{ $x }}{{ . }}{{ end }}{{ len .Messages }}", "{{ with false }}a{{ else with 1 }}{{ . }}{{ end }}", "{{ with false }}a{{ else with false }}b{{ else }}c{{ end }}", "{{ range .Messages }}{{ with .Content }}[{{ . }}]{{ end }}{{ end }}", "{{ with index .Messages 1 }}{{ .Role }}{{ end }}", "{{ with 1 }}{{ with 2 }}{{ . }}{{ end }}{{ . }}{{ end }}",
        # range
        "{{ range .Messages }}{{ .Role }},{{ end }}", "{{ range $m := .Messages }}{{ $m.Role }}{{ .Role }},{{ end }}", "{{ range $i, $m := .Messages }}{{ $i }}{{ $m.Role }},{{ end }}", "{{ range $i, $_ := .Messages }}{{ $i }}{{ .Role }},{{ else }}none{{ end }}", "{{ range .Nothing }}a{{ .Foo }}{{ else }}none{{ end }}{{ len .Messages }}", "{{ range 3 }}{{ . }}{{ end }}", "{{ range $i := 3 }}{{ $i }}{{ end }}", "{{ range 0 }}a{{ else }}b{{ end }}", "{{ range .System }}{{ end }}{{ len .Messages }}", "{{ range true }}{{ end }}", "{{ range 1.5 }}{{ end }}", "{{ range }}{{ end }}", "{{ range $a, $b, $c := .Messages }}{{ end }}", "{{ range $i, $m = .Messages }}{{ end }}", "{{ $i := 5 }}{{ range $i, $m := .Messages }}{{ end }}{{ $i }}", "{{ $i := 5 }}{{ $m := index .Messages 0 }}{{ range $i, $m = .Messages }}{{ end }}{{ $i }}{{ $m.Role }}", "{{ range .Messages }}{{ range .ToolCalls }}{{ .Function.Name }}{{ .ID }}{{ $.System }};{{ end }}{{ end }}", "{{ range .Messages }}{{ if eq .Role \"user\" }}{{ continue }}{{ end }}{{ .Role }},{{ end }}", "{{ range .Messages }}{{ .Role }}{{ if eq .Role \"assistant\" }}{{ break }}{{ end }}{{ end }}", "{{ break }}", "{{ continue }}", "{{ range .Messages }}{{ break 1 }}{{ end }}", "{{ range 3 }}{{ range 0 }}{{ else }}{{ if . }}{{ continue }}{{ end }}{{ end }}{{ . }}{{ end }}", "{{ range 3 }}{{ range 0 }}{{ else }}{{ range 2 }}{{ break }}{{ end }}{{ end }}{{ . }}{{ end }}", "{{ range .Messages }}{{ range 5 }}{{ if eq . 2 }}{{ break }}{{ end }}{{ . }}{{ end }};{{ end }}", "{{ range 2 }}{{ range 2 }}{{ . }}{{ else }}e{{ end }}{{ . }};{{ end }}", "{{ range $i, $e := 2 }}{{ $i }}{{ end }}", "{{ $s := \"\" }}{{ range .Messages }}{{ $s = printf \"%s%s|\" $s .Role }}{{ end }}{{ $s }}", "{{ range 2 }}{{ $x := . }}{{ range 2 }}{{ $x }}{{ $x = . }}{{ end }};{{ end }}", "{{ range .Messages }}{{ $c := len .Content }}{{ if gt $c 5 }}L{{ else }}S{{ end }}{{ end }}", "{{ range $i, $m := .Messages }}{{ if $i }}, {{ end }}{{ $m.Role }}{{ end }}",
        # Tools and calls
        "{{ .Tools }}{{ len .Messages }}", "{{ json .Tools }}{{ len .Messages }}", "{{ range .Tools }}{{ .Type }} {{ .Function.Name }} {{ .Function.Description }} {{ .Function.Parameters.Type }}\n{{ end }}{{ len .Messages }}", "{{ range .Tools }}{{ .Function.Parameters.Required }}{{ json .Function.Parameters }}{{ json . }}{{ json .Function }}{{ end }}{{ len .Messages }}", "{{ range .Tools }}{{ .Function.Parameters.Properties }}{{ json .Function.Parameters.Properties }}{{ end }}{{ len .Messages }}", "{{ range .Tools }}{{ range $k, $p := .Function.Parameters.Properties }}{{ $k }}: {{ $p.Type }} {{ $p.Description }} {{ $p.Enum }} {{ json $p.Items }} {{ json $p }} {{ len $p.Type }} {{ range $p.Type }}<{{ . }}>{{ end }}\n{{ else }}none{{ end }}{{ end }}{{ len .Messages }}", "{{ range .Tools }}{{ range .Function.Parameters.Properties }}{{ toTypeScriptType . }} {{ . | toTypeScriptType }}{{ range .AnyOf }}{{ .Type }}{{ end }};{{ end }}{{ end }}{{ len .Messages }}", "{{ range .Messages }}{{ range .ToolCalls }}{{ .Function.Arguments }}{{ json .Function.Arguments }}{{ end }}{{ end }}", "{{ range .Messages }}{{ range .ToolCalls }}{{ range $k, $v := .Function.Arguments }}{{ $k }}={{ $v }};{{ json $v }};{{ if $v }}t{{ end }}\n{{ else }}none{{ end }}{{ end }}{{ end }}", "{{ range .Messages }}{{ range .ToolCalls }}{{ .Function.Arguments.city }}|{{ .Function.Arguments.nothing }}|{{ .Function.Index }}{{ end }}{{ end }}", "{{ range .Messages }}{{ range .ToolCalls }}{{ range .Function.Arguments }}{{ . }};{{ end }}{{ end }}{{ end }}", "{{ range .Messages }}{{ .ToolName }}|{{ .ToolCallID }}|{{ .Thinking }};{{ end }}", "{{ range .Messages }}{{ range .ToolCalls }}{{ .Function.Arguments.detail.wind }}{{ end }}{{ end }}", "{{ range .Tools }}{{ range $k, $p := .Function.Parameters.Properties }}{{ if gt (len $p.Type) 1 }}{{ range $i, $t := $p.Type }}{{ if $i }} | {{ end }}{{ $t }}{{ end }}{{ else if $p.Type }}{{ index $p.Type 0 }}{{ end }},{{ end }}{{ end }}{{ len .Messages }}", "{{ range .Tools }}{{ len .Function.Parameters.Properties }}{{ end }}{{ len .Messages }}", "{{ len .Tools }}{{ len .Messages }}", "{{ (index .Tools 0).Function.Name }}{{ len .Messages }}", "{{ range .Messages }}{{ len .Images }}{{ end }}", "{{ range .Messages }}{{ json .Content }}{{ end }}",
        # Functions
        "{{ and 1 0 }} {{ and 1 2 3 }} {{ and \"\" \"a\" }}", "{{ or 0 2 }} {{ or \"\" \"b\" \"c\" }} {{ or \"\" \"\" }}x", "{{ not 0 }} {{ not 1 }}", "{{ and }}", "{{ not }}", "{{ not 1 2 }}", "{{ if and .System (or .Nothing .Tools) }}a{{ end }}{{ len .Messages }}", "{{ if and .Nothing (len .Nothing) }}a{{ end }}{{ len .Messages }}", "{{ if or .System (len .Nothing) }}a{{ end }}{{ len .Messages }}",
        "{{ eq 1 1 }} {{ eq 1 2 }} {{ eq 1 2 1 }} {{ eq \"a\" \"b\" \"a\" }} {{ ne \"a\" \"b\" }} {{ eq true false }} {{ eq 1.5 1.5 }}", "{{ eq 1 \"a\" }}", "{{ eq 1 1.0 }}", "{{ eq .Messages .Messages }}", "{{ eq 1 }}", "{{ ne 1 2 3 }}", "{{ eq .Nothing \"\" }}{{ len .Messages }}", "{{ ne .Nothing \"a\" }}{{ len .Messages }}", "{{ lt 1 2 }} {{ le 2 2 }} {{ gt 1 2 }} {{ ge 2 2 }} {{ lt \"a\" \"b\" }} {{ gt 1.5 1.0 }}", "{{ lt 1 \"a\" }}", "{{ lt true false }}", "{{ lt 1 }}", "{{ range .Messages }}{{ if eq .Role \"user\" \"tool\" }}y{{ end }}{{ end }}", "{{ range .Messages }}{{ if ne .Role \"user\" }}y{{ end }}{{ end }}", "{{ 1 | eq 1 }}", "{{ 2 | lt 1 }}",
        "{{ len \"é\" }} {{ len .Messages }} {{ len .System }}", "{{ len 1 }}", "{{ len }}", "{{ len 1 2 }}", "{{ index .Messages 0 | len }}", "{{ (index .Messages 7).Role }}", "{{ (index .Messages 1).Role }}{{ index \"abc\" 1 }}{{ len .Messages }}", "{{ index \"abc\" 3 }}", "{{ index \"abc\" -1 }}", "{{ index .Messages \"a\" }}", "{{ len (slice .Messages 1) }}{{ len (slice .Messages 1 2) }}{{ len (slice .Messages) }}", "{{ slice \"abcdef\" 1 3 }}{{ slice \"abc\" 2 }}{{ slice \"abc\" }}", "{{ slice \"abc\" 4 }}", "{{ slice \"abc\" 2 1 }}", "{{ range slice .Messages 1 }}{{ .Role }}{{ end }}", "{{ slice 1 }}", "{{ range $i, $m := .Messages }}{{ if eq (len (slice $.Messages $i)) 1 }}last{{ end }}{{ end }}",
        "{{ printf \"%s-%d-%v-%%\" \"a\" 2 true }}", "{{ printf \"%v %v %v\" 1.5 \"a\" 3 }}", "{{ printf \"a\" }}{{ printf \"\" }}", "{{ \"b\" | printf \"%s%s\" \"a\" }}", "{{ print 1 2 }}{{ print \"a\" \"b\" }}{{ print \"a\" 1 2 \"b\" 3 }}{{ print }}", "{{ println \"a\" 1 }}{{ println }}", "{{ print true 1.5 }}", "{{ json \"a<b>&\\\"\\u2028\" }}{{ json 1 }}{{ json 1.5 }}{{ json true }}{{ json 1e21 }}{{ json 1e-7 }}{{ json nil }}{{ len .Messages }}", "{{ json }}", "{{ json 1 2 }}", "{{ foo }}", "{{ foo 1 }}", "{{ .System | foo }}", "{{ range .Messages }}{{ printf \"%s: %s\\n\" .Role .Content }}{{ end }}", "{{ range .Messages }}{{ .Role | printf \"%s\" | len }}{{ end }}", "{{ \"a\" | print | print \"b\" }}",
        # define, template and block
        "{{ define \"a\" }}[{{ . }}]{{ end }}{{ template \"a\" .System }}{{ template \"a\" 1 }}{{ len .Messages }}", "{{ template \"a\" }}{{ len .Messages }}", "{{ define \"a\" }}x{{ end }}{{ template \"a\" 1 }}{{ len .Messages }}", "{{ define \"a\" }}{{ $.Role }}{{ .Content | len }}{{ end }}{{ range .Messages }}{{ template \"a\" . }}{{ end }}", "{{ define \"a\" }}{{ $x }}{{ end }}{{ $x := 1 }}{{ template \"a\" 1 }}", "{{ define \"a\" }}{{ template \"b\" . }}{{ end }}{{ define \"b\" }}<{{ . }}>{{ end }}{{ template \"a\" \"x\" }}{{ len .Messages }}", "{{ define \"a\" }}x{{ end }}{{ define \"a\" }}y{{ end }}{{ template \"a\" 1 }}{{ len .Messages }}", "{{ define \"a\" }} {{ end }}{{ define \"a\" }}y{{ end }}{{ template \"a\" 1 }}{{ len .Messages }}", "{{ block \"a\" .System }}({{ . }}){{ end }}{{ template \"a\" 2 }}{{ len .Messages }}", "{{ block \"a\" }}{{ end }}", "{{ if true }}{{ define \"a\" }}{{ end }}{{ end }}", "{{ define a }}{{ end }}", "{{ define \"a\" }}", "{{ template a }}", "{{ template \"a\" 1 2 }}", "{{ range 2 }}{{ template \"a\" . }}{{ end }}{{ define \"a\" }}{{ if . }}{{ . }}{{ else }}zero{{ end }}{{ end }}{{ len .Messages }}", "{{ define \"a\" }}{{ break }}{{ end }}{{ range 1 }}{{ template \"a\" . }}{{ end }}", "{{ define \"a\" }}{{ range . }}{{ .Role }}{{ end }}{{ end }}{{ template \"a\" .Messages }}", "{{ define \"a\" }}{{ len .Messages }}{{ end }}{{ template \"a\" . }}",
    ],
    "turns": [
        # Turn by turn, and the cut behind .Response
        "{{ .Prompt }}", "{{ .System }}|{{ .Prompt }}|", "{{ .Prompt }}:{{ .Response }};", "{{ if .System }}S{{ .System }}{{ end }}{{ .Prompt }}{{ if .Response }}A{{ .Response }}E{{ end }};", "{{ .Prompt }}{{ if true }}{{ .Response }}a{{ end }}b", "{{ .Prompt }}{{ range 2 }}{{ .Response }}{{ end }}", "{{ .Prompt }}{{ with .Response }}{{ . }}{{ end }};", "{{ .Prompt }}{{ printf \"%s!\" .Response }};", "{{ $r := .Response }}{{ .Prompt }}{{ $r }};", "{{ .Prompt }}{{ $.Response }};", "{{ .Prompt }}{{ .Response | printf \"<%s>\" }};", "{{ .Prompt }}{{ (.Response) }};", "{{ .Prompt }}{{ .response }};", "{{ .Think }}{{ .ThinkLevel }}{{ .IsThinkSet }}{{ .Tools }}{{ .Prompt }}",
        "{{ if .Response }}{{ .Response }}{{ end }}{{ .Prompt }}", "{{ define \"r\" }}{{ . }}{{ end }}{{ .Prompt }}[{{ .Response }}]", "{{ range $i, $m := .Messages }}{{ $i }}{{ end }}{{ .Prompt }}|{{ .Response }}", "{{ if .Messages }}m{{ else }}{{ .Prompt }}{{ end }}", "{{ .prompt }}{{ .Response }}", "{{ with .Prompt }}{{ . }}{{ end }}{{ .Response }}", "a{{ .Response }}b{{ .Response }}c", "{{ if .First }}x{{ end }}{{ .Prompt }}",
    ],
    "systems": ["{{ .System }}|{{ .Prompt }}|{{ .Response }};", "{{ range .Messages }}{{ .Role }}{{ end }}{{ .System }}"],
    "one_role": ["{{ .System }}|{{ .Prompt }}|{{ .Response }};", "{{ range .Messages }}{{ .Role }}:{{ .Content }};{{ end }}{{ .System }}"],
    "gap": ["{{ .Prompt }}<>{{ .Suffix }}", "{{ if .Suffix }}P{{ .Prompt }}S{{ .Suffix }}M{{ .Response }}{{ else }}{{ range .Messages }}{{ .Role }}{{ end }}{{ end }}", "{{ if .Messages }}{{ len (slice .Messages 1) }}{{ end }}{{ .Suffix }}"],
    "thought_last": ["{{ .Think }} {{ .ThinkLevel }} {{ .IsThinkSet }} {{ range .Messages }}{{ .Thinking }};{{ end }}"],
    "does_not_think": ["{{ .Think }} {{ .ThinkLevel }} {{ .IsThinkSet }} {{ len .Messages }}"],
    "thinks": ["{{ .Think }} {{ .ThinkLevel }} {{ .IsThinkSet }} {{ len .Messages }}", "{{ .Think }} {{ .ThinkLevel }} {{ .IsThinkSet }} {{ .Prompt }}"],
}

# What ollama renders in a way that no prompt could want, or Puna does not know: refused, with the line.
REFUSED = {
    None: [
        "{{ . }}", "{{ $ }}", "{{ $ := 1 }}", "{{ len . }}", "{{ .Messages }}", "{{ range .Messages }}{{ . }}{{ end }}", "{{ range .Messages }}{{ .ToolCalls }}{{ end }}", "{{ range .Messages }}{{ json . }}{{ end }}", "{{ html .System }}{{ len .Messages }}", "{{ js .System }}{{ len .Messages }}", "{{ urlquery .System }}{{ len .Messages }}", "{{ printf \"%q\" .System }}{{ len .Messages }}", "{{ printf \"%5d\" 1 }}", "{{ printf .System }}{{ len .Messages }}", "{{ printf \"%d\" }}", "{{ printf \"%s\" 1 }}", "{{ $x := 1 }}{{ $x = \"a\" }}{{ $x }}", "{{ or .System 1 }}{{ len .Messages }}", "{{ range .Tools }}{{ range .Function.Parameters.Properties }}{{ . }}{{ end }}{{ end }}{{ len .Messages }}", "{{ define \"a\" }}{{ if . }}{{ template \"a\" . }}{{ end }}{{ end }}{{ template \"a\" .Nothing }}{{ template \"a\" \"\" }}", "{{ 1i }}", "{{ range 2 }}{{ range 0 }}{{ else }}{{ break }}{{ end }}{{ . }}{{ end }}",
    ],
}
