"""Conversations that chat templates are rendered with, for compare_templates.py: every kind of message, with and without
tools, thinking on and off, with and without an opened answer."""
import itertools

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Tells the weather <now> & later, in °C.",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "A city, such as \"Zürich\""},
                    "days": {"type": "integer", "minimum": 1, "maximum": 7, "default": 1},
                    "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                    "detail": {
                        "type": "object",
                        "properties": {"wind": {"type": "boolean"}, "hours": {"type": "array", "items": {"type": "integer"}}},
                        "required": ["wind"],
                    },
                },
                "required": ["city"],
            },
        },
    },
    {
        "type": "function",
        "function": {"name": "now", "description": "The time", "parameters": {"type": "object", "properties": {}}},
    },
]

SYSTEM = {"role": "system", "content": "Be brief.\n"}
HELLO = {"role": "user", "content": "  Hello, how are you?\n"}
REPLY = {"role": "assistant", "content": "Fine, thank you."}
MORE = {"role": "user", "content": "Grüße aus 東京 – naïve café 👩‍🚀 <b>&'\"</b>"}
ASK = {"role": "user", "content": "What is the weather in Zürich?"}


def call(name, arguments, call_id="a1B2c3D4e", **more):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


ARGUMENTS = {"city": "Zürich", "days": 2, "detail": {"wind": True, "hours": [6, 12]}, "unit": None}
CALL = {"role": "assistant", "content": "", "tool_calls": [call("get_weather", ARGUMENTS)]}
RESULT = {"role": "tool", "name": "get_weather", "tool_call_id": "a1B2c3D4e", "content": '{"t": 21.5, "sky": "klar ☀"}'}
FINAL = {"role": "assistant", "content": "It is 21.5 °C."}

# name -> messages; none opens with an answer, as few families allow that
CONVERSATIONS = {
    "user": [HELLO],
    "system": [SYSTEM, HELLO],
    "turns": [HELLO, REPLY, MORE],
    "system_turns": [SYSTEM, HELLO, REPLY, MORE, FINAL, ASK],
    "empty": [{"role": "user", "content": ""}],
    "empty_answer": [SYSTEM, HELLO, {"role": "assistant", "content": ""}, MORE],
    "ends_with_answer": [HELLO, REPLY],
    "thought": [HELLO, {**REPLY, "reasoning_content": "They greet.\nI answer."}, MORE],
    "thought_inside": [HELLO, {"role": "assistant", "content": "<think>\nThey greet.\n</think>\n\nFine."}, MORE],
    "thought_last": [SYSTEM, HELLO, {**REPLY, "reasoning_content": "They greet."}],
    "thinking_field": [HELLO, {**REPLY, "thinking": "They greet."}, MORE],
    "call": [ASK, CALL],
    "call_result": [SYSTEM, ASK, CALL, RESULT],
    "call_answer": [SYSTEM, ASK, CALL, RESULT, FINAL, MORE],
    "call_null": [ASK, {**CALL, "content": None}, RESULT],
    "call_with_text": [ASK, {**CALL, "content": "I look."}, RESULT],
    "call_thought": [ASK, {**CALL, "reasoning_content": "I need the weather."}, RESULT],
    "call_thinking": [ASK, {**CALL, "thinking": "I need the weather."}, RESULT, FINAL],
    "call_text_arguments": [ASK, {**CALL, "tool_calls": [call("get_weather", '{"city": "Zürich"}')]}, RESULT],
    "call_no_arguments": [ASK, {**CALL, "tool_calls": [call("now", {})]}, {**RESULT, "content": "12:00"}],
    "two_calls": [
        ASK,
        {**CALL, "tool_calls": [call("get_weather", ARGUMENTS), call("now", {}, "f5G6h7I8j")]},
        RESULT,
        {"role": "tool", "name": "now", "tool_call_id": "f5G6h7I8j", "content": "12:00"},
    ],
    "calls_twice": [ASK, CALL, RESULT, FINAL, ASK, {**CALL, "reasoning_content": "Again."}, RESULT],
    "result_object": [ASK, CALL, {**RESULT, "content": {"t": 21.5}}],
    "bare_call": [ASK, {"role": "assistant", "tool_calls": [{"name": "get_weather", "arguments": ARGUMENTS}]}, RESULT],
    "parts": [
        {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "content": [{"type": "text", "text": "Hello"}, {"type": "text", "text": "you"}]},
    ],
    "developer": [{"role": "developer", "content": "Be brief."}, HELLO],
    "unknown_role": [{"role": "critic", "content": "No."}, HELLO],
    "two_users": [HELLO, MORE],
    "none": [],
}

# What a request may add; families read some of these.
THINKING = {
    "": {},
    "on": {"enable_thinking": True, "thinking": True, "reasoning_effort": "high"},
    "off": {"enable_thinking": False, "thinking": False, "reasoning_effort": "low"},
}


def contexts():
    """(name, context) for every combination."""
    for (name, messages), tools, (thinking, extra), opens in itertools.product(
        CONVERSATIONS.items(), (None, TOOLS), THINKING.items(), (True, False)
    ):
        yield (
            f"{name}{' tools' if tools else ''}{' think-' + thinking if thinking else ''}{' open' if opens else ''}",
            {
                "bos_token": "<s>",
                "eos_token": "</s>",
                "documents": None,
                "tools": tools,
                "messages": messages,
                "add_generation_prompt": opens,
                **extra,
            },
        )
