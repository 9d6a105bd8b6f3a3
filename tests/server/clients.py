#!/usr/bin/env python3
"""Asks a server as the public clients do: openai, anthropic and ollama from PyPI; prints what each of them got as a table.

usage: tests/server/clients.py PUNA MODEL [EMBEDDING_MODEL] [--sees MODEL MMPROJ] [--hears MODEL MMPROJ]

Starts `PUNA serve` with MODEL, and a template that has tools (tools.jinja), on a free port, and one more with EMBEDDING_MODEL where there is one, and with
models that see or hear. Needs
the clients: python3 -m venv V; V/bin/pip install openai anthropic ollama. Exit code 1 if an answer is not what the client's own types say.
"""
import argparse
import array
import base64
import io
import json
import math
import re
import signal
import subprocess
import sys
import time
import traceback
import wave
from pathlib import Path

import anthropic
import ollama
import openai

MESSAGES = [{"role": "user", "content": "Say hello to the sky."}]
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"type": "function", "function": {"name": "weather", "description": "The weather of a city.", "parameters": PARAMETERS}}
CASES = []


def case(client, what):
    def add(function):
        CASES.append((client, what, function))
        return function
    return add


class Server:
    """A server of one model on a port of its own, ended by its id."""

    def __init__(self, puna, model, *flags):
        self.process = subprocess.Popen([puna, "serve", "--model", model, "--port", "0", "--device", "cpu", *flags],
                                        stderr=subprocess.PIPE, text=True)
        said = []
        for line in self.process.stderr:
            said.append(line)
            if served := re.search(r"served on (http://\S+)", line):
                self.url = served.group(1)
                break
        else:
            raise RuntimeError("".join(said))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def open_ai(url):
    return openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0, timeout=120)


def anthropic_of(url):
    return anthropic.Anthropic(base_url=url, api_key="none", max_retries=0, timeout=120)


def refused(kind, call, text=""):
    try:
        call()
    except kind as error:
        assert text in str(error), str(error)
    else:
        raise AssertionError(f"no {kind.__name__}")


def ended_early(stream, url):
    """Leaves a stream after three pieces; the server must not write on."""
    for i, _ in enumerate(stream):
        if i == 3:
            break
    stream.close() if hasattr(stream, "close") else stream.response.close()
    http = openai.OpenAI(base_url=url, api_key="none")
    for _ in range(100):
        if http.get("/v1/loads", cast_to=object)["aggregate"]["total_running_reqs"] == 0:
            return
        time.sleep(0.05)
    raise AssertionError("a text goes on that nobody reads")


# OpenAI

@case("openai", "chat")
def _(url):
    got = open_ai(url).chat.completions.create(model="", messages=MESSAGES, max_tokens=8)
    choice = got.choices[0]
    assert choice.message.role == "assistant" and choice.message.content and choice.finish_reason in ("stop", "length")
    assert got.usage.completion_tokens <= 8 and got.usage.total_tokens == got.usage.prompt_tokens + got.usage.completion_tokens
    assert got.usage.prompt_tokens_details.cached_tokens >= 0


@case("openai", "chat, stream")
def _(url):
    whole = open_ai(url).chat.completions.create(model="", messages=MESSAGES, max_tokens=8, temperature=0).choices[0].message.content
    chunks = list(open_ai(url).chat.completions.create(model="", messages=MESSAGES, max_tokens=8, temperature=0, stream=True,
                                                       stream_options={"include_usage": True}))
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == whole
    assert chunks[0].choices[0].delta.role == "assistant" and chunks[-1].usage.completion_tokens == 8
    assert len({c.id for c in chunks}) == 1


@case("openai", "tools: auto")
def _(url):
    got = open_ai(url).chat.completions.create(model="", messages=MESSAGES, max_tokens=8, tools=[TOOL], tool_choice="auto")
    assert got.choices[0].finish_reason in ("stop", "length", "tool_calls")


@case("openai", "tools: none")
def _(url):
    got = open_ai(url).chat.completions.create(model="", messages=MESSAGES, max_tokens=8, tools=[TOOL], tool_choice="none")
    assert not got.choices[0].message.tool_calls


@case("openai", "tools: required, by name and one at a time are calls that fit their schema")
def _(url):
    for choice in ("required", {"type": "function", "function": {"name": "weather"}}):
        got = open_ai(url).chat.completions.create(
            model="", messages=MESSAGES, tools=[BOUND_TOOL], tool_choice=choice, parallel_tool_calls=False).choices[0]
        assert got.finish_reason == "tool_calls" and len(got.message.tool_calls) == 1, got
        function = got.message.tool_calls[0].function
        assert function.name == "weather" and json.loads(function.arguments)["city"] in ("Bern", "Rome"), got
    cut = open_ai(url).chat.completions.create(model="", messages=MESSAGES, tools=[BOUND_TOOL], tool_choice="required", max_tokens=3)
    assert cut.choices[0].finish_reason == "length" and not cut.choices[0].message.tool_calls, cut
    refused(openai.BadRequestError, lambda: open_ai(url).chat.completions.create(
        model="", messages=MESSAGES, tools=[TOOL], tool_choice={"type": "function", "function": {"name": "none"}}), "tool_choice")
    bad = {"type": "function", "function": {"name": "bad", "parameters": {"type": "object", "properties": {"a": {"type": "thing"}}}}}
    refused(openai.BadRequestError, lambda: open_ai(url).chat.completions.create(model="", messages=MESSAGES, tools=[bad]), "#/properties/a")


@case("openai", "tools and a form: a call or what the schema admits")
def _(url):
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"enum": ["yes", "no"]}}}
    got = open_ai(url).chat.completions.create(model="", messages=MESSAGES, tools=[BOUND_TOOL], response_format=form, parallel_tool_calls=False).choices[0]
    assert got.message.tool_calls or json.loads(got.message.content) in ("yes", "no"), got


@case("openai", "responses: required calls")
def _(url):
    tool = {"type": "function", **BOUND_TOOL["function"], "strict": True}
    got = open_ai(url).responses.create(model="", input="Hi", tools=[tool], tool_choice="required", parallel_tool_calls=False)
    calls = [item for item in got.output if item.type == "function_call"]
    assert len(calls) == 1 and json.loads(calls[0].arguments)["city"] in ("Bern", "Rome"), got


@case("openai", "answers of tools as messages")
def _(url):
    call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Bern"}'}}
    got = open_ai(url).chat.completions.create(model="", max_tokens=4, tools=[TOOL], messages=MESSAGES + [
        {"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "tool", "tool_call_id": "call_1", "content": "Sun."}])
    assert got.choices[0].finish_reason


@case("openai", "schema: an answer fits it, and a bad one is refused by its place")
def _(url):
    schema = {"type": "json_schema", "json_schema": {"name": "a", "schema": {**PARAMETERS, "additionalProperties": False}}}
    got = open_ai(url).chat.completions.create(model="", messages=MESSAGES, response_format=schema, max_tokens=400, temperature=0)
    if got.choices[0].finish_reason == "stop":
        assert set(json.loads(got.choices[0].message.content)) == {"city"}
    else:
        assert got.choices[0].message.content.startswith("{")
    schema["json_schema"]["schema"] = {"type": "strin"}
    refused(openai.BadRequestError, lambda: open_ai(url).chat.completions.create(model="", messages=MESSAGES, response_format=schema), "strin")


@case("openai", "logprobs")
def _(url):
    got = open_ai(url).chat.completions.create(model="", messages=MESSAGES, max_tokens=4, logprobs=True, top_logprobs=3, temperature=0)
    tokens = got.choices[0].logprobs.content
    assert len(tokens) == got.usage.completion_tokens and all(len(t.top_logprobs) == 3 for t in tokens)
    assert all(t.logprob == t.top_logprobs[0].logprob for t in tokens)


@case("openai", "n")
def _(url):
    got = open_ai(url).chat.completions.create(model="", messages=MESSAGES, max_tokens=4, n=3, seed=1, temperature=1)
    assert [c.index for c in got.choices] == [0, 1, 2]


@case("openai", "completions, with echo, with logprobs")
def _(url):
    client = open_ai(url)
    assert client.completions.create(model="", prompt="The sky is", max_tokens=4, echo=True).choices[0].text.startswith("The sky is")
    tokens = client.completions.create(model="", prompt="The sky is", max_tokens=4, logprobs=2).choices[0].logprobs
    assert len(tokens.tokens) == len(tokens.token_logprobs) == 4


@case("openai", "stop texts")
def _(url):
    got = open_ai(url).completions.create(model="", prompt="1, 2, 3, 4, 5, 6,", max_tokens=20, temperature=0, stop=[","])
    assert "," not in got.choices[0].text and got.choices[0].finish_reason == "stop"


@case("openai", "responses")
def _(url):
    got = open_ai(url).responses.create(model="", input="Say hello.", max_output_tokens=8)
    assert got.status in ("completed", "incomplete") and got.output_text and got.usage.output_tokens <= 8


@case("openai", "responses, stream")
def _(url):
    with open_ai(url).responses.stream(model="", input="Say hello.", max_output_tokens=8, temperature=0) as stream:
        events = list(stream)
    final = events[-1].response
    assert events[0].type == "response.created" and events[-1].type in ("response.completed", "response.incomplete")
    assert "".join(e.delta for e in events if e.type == "response.output_text.delta") == final.output_text
    assert [e.sequence_number for e in events] == sorted(e.sequence_number for e in events)


@case("openai", "models")
def _(url):
    listed = open_ai(url).models.list().data
    assert len(listed) == 1 and open_ai(url).models.retrieve(listed[0].id).id == listed[0].id


@case("openai", "errors")
def _(url):
    client = open_ai(url)
    refused(openai.NotFoundError, lambda: client.chat.completions.create(model="nobody", messages=MESSAGES), "nobody")
    refused(openai.BadRequestError, lambda: client.chat.completions.create(model="", messages=[]), "messages")
    refused(openai.BadRequestError, lambda: client.chat.completions.create(model="", messages=[{"content": "a"}]), "role")
    refused(openai.BadRequestError, lambda: client.chat.completions.create(model="", messages=MESSAGES, temperature=-1), "temperature")
    refused(openai.BadRequestError, lambda: client.completions.create(model="", prompt="long " * 3000), "2048")


@case("openai", "a client that leaves")
def _(url):
    ended_early(open_ai(url).chat.completions.create(model="", messages=MESSAGES, max_tokens=1000, stream=True,
                                                     extra_body={"ignore_eos": True}), url)


@case("openai", "embeddings")
def _(url, embedding_url):
    client = open_ai(embedding_url)
    one = client.embeddings.create(model="", input="Hello", encoding_format="float").data[0].embedding
    several = client.embeddings.create(model="", input=["Hello", "sky"])  # base64 by default
    assert [d.index for d in several.data] == [0, 1] and len(several.data[1].embedding) == len(one)
    assert max(abs(a - b) for a, b in zip(one, several.data[0].embedding)) < 1e-5


# Anthropic

BOUND_TOOL = {"type": "function", "function": {"name": "weather", "parameters": {
    "type": "object", "properties": {"city": {"enum": ["Bern", "Rome"]}}, "required": ["city"], "additionalProperties": False}}}
CLAUDE_TOOL = {"name": "weather", "description": "The weather of a city.", "input_schema": PARAMETERS}


@case("anthropic", "messages")
def _(url):
    got = anthropic_of(url).messages.create(model=name_of(url), max_tokens=8, messages=MESSAGES, system="Be brief.")
    assert got.type == "message" and got.id.startswith("msg_") and got.content[0].type == "text" and got.usage.output_tokens <= 8
    assert got.stop_reason in ("end_turn", "max_tokens")


@case("anthropic", "messages, stream")
def _(url):
    with anthropic_of(url).messages.stream(model=name_of(url), max_tokens=8, messages=MESSAGES, extra_body={"temperature": 0}) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert final.content[0].text == text and final.usage.output_tokens <= 8


@case("anthropic", "stop sequences name themselves")
def _(url):
    got = anthropic_of(url).messages.create(model=name_of(url), max_tokens=40, extra_body={"temperature": 0}, stop_sequences=["e", "a", "o", "i"], messages=MESSAGES)
    assert got.stop_reason == "stop_sequence" and got.stop_sequence in "eaoi", got


@case("anthropic", "tools: auto, none, any and by name")
def _(url):
    client = anthropic_of(url)
    for choice in ({"type": "auto"}, {"type": "none"}):
        assert client.messages.create(model=name_of(url), max_tokens=4, messages=MESSAGES, tools=[CLAUDE_TOOL], tool_choice=choice).stop_reason
    bound = {"name": "weather", "input_schema": BOUND_TOOL["function"]["parameters"]}
    for choice in ({"type": "any", "disable_parallel_tool_use": True}, {"type": "tool", "name": "weather"}):
        got = client.messages.create(model=name_of(url), max_tokens=200, messages=MESSAGES, tools=[bound], tool_choice=choice, thinking={"type": "disabled"})
        calls = [block for block in got.content if block.type == "tool_use"]
        assert got.stop_reason == "tool_use" and len(calls) == 1 and calls[0].input["city"] in ("Bern", "Rome"), got


@case("anthropic", "results of tools as blocks")
def _(url):
    got = anthropic_of(url).messages.create(model=name_of(url), max_tokens=4, tools=[CLAUDE_TOOL], messages=MESSAGES + [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Bern"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "Sun."}]}])
    assert got.stop_reason


@case("anthropic", "count_tokens")
def _(url):
    client = anthropic_of(url)
    n = client.messages.count_tokens(model=name_of(url), messages=MESSAGES).input_tokens
    used = client.messages.create(model=name_of(url), max_tokens=1, messages=MESSAGES).usage
    assert n == used.input_tokens + used.cache_read_input_tokens


@case("anthropic", "errors")
def _(url):
    client = anthropic_of(url)
    refused(anthropic.BadRequestError, lambda: client.messages.create(model=name_of(url), max_tokens=4, messages=[]), "messages")
    refused(anthropic.BadRequestError, lambda: client.messages.create(model=name_of(url), max_tokens=-4, messages=MESSAGES), "invalid_request_error")


@case("anthropic", "a client that leaves")
def _(url):
    ended_early(anthropic_of(url).messages.create(model=name_of(url), max_tokens=1000, messages=MESSAGES, stream=True), url)


# Ollama

@case("ollama", "chat")
def _(url):
    got = ollama.Client(url).chat(model=name_of(url), messages=MESSAGES, options={"num_predict": 8})
    assert got.message.role == "assistant" and got.message.content and got.done and got.eval_count <= 8 and got.total_duration > 0


@case("ollama", "chat, stream")
def _(url):
    options = {"num_predict": 8, "temperature": 0}
    whole = ollama.Client(url).chat(model=name_of(url), messages=MESSAGES, options=options).message.content
    parts = list(ollama.Client(url).chat(model=name_of(url), messages=MESSAGES, options=options, stream=True))
    assert "".join(p.message.content or "" for p in parts) == whole and parts[-1].done and not parts[0].done


@case("ollama", "generate")
def _(url):
    got = ollama.Client(url).generate(model=name_of(url), prompt="The sky is", options={"num_predict": 4}, raw=True)
    assert got.response and got.done_reason in ("stop", "length")


@case("ollama", "tools")
def _(url):
    assert ollama.Client(url).chat(model=name_of(url), messages=MESSAGES, tools=[TOOL], options={"num_predict": 4}).done


@case("ollama", "format: an answer is JSON, and a bad schema is refused by its place")
def _(url):
    client, name = ollama.Client(url), name_of(url)
    got = client.chat(model=name, messages=MESSAGES, format="json", options={"num_predict": 200, "temperature": 0})
    assert got.done_reason == "length" or isinstance(json.loads(got.message.content), dict)
    refused(ollama.ResponseError, lambda: client.chat(model=name, messages=MESSAGES, format={"type": "strin"}), "strin")


@case("ollama", "logprobs")
def _(url):
    got = ollama.Client(url).generate(model=name_of(url), prompt="The sky", options={"num_predict": 4}, logprobs=True, top_logprobs=2)
    assert len(got.logprobs) == got.eval_count and len(got.logprobs[0].top_logprobs) == 2


@case("ollama", "list, ps, show")
def _(url):
    client = ollama.Client(url)
    assert len(client.list().models) == 1 and len(client.ps().models) == 1
    assert "completion" in client.show(name_of(url)).capabilities


@case("ollama", "errors")
def _(url):
    refused(ollama.ResponseError, lambda: ollama.Client(url).chat(model="nobody", messages=MESSAGES), "nobody")
    refused(ollama.ResponseError, lambda: ollama.Client(url).pull("no body"), "no body")


@case("ollama", "a client that leaves")
def _(url):
    ended_early(ollama.Client(url).chat(model=name_of(url), messages=MESSAGES, stream=True), url)


@case("ollama", "embed")
def _(url, embedding_url):
    got = ollama.Client(embedding_url).embed(model=name_of(embedding_url), input=["Hello", "sky"])
    assert len(got.embeddings) == 2 and got.prompt_eval_count > 0


# Pictures and sounds

MEDIA = Path(__file__).parents[1] / "fixtures" / "media"
PLAIN = "{% for m in messages %}{{ m.content }}{% endfor %}"


def file_of(name):
    return base64.b64encode((MEDIA / name).read_bytes()).decode()


def image_part(name):
    return {"type": "image_url", "image_url": {"url": "data:image/png;base64," + file_of(name), "detail": "auto"}}


def sound_part(name):
    return {"type": "input_audio", "input_audio": {"data": file_of(name), "format": "wav"}}


def asks(part, text="What is it?"):
    return [{"role": "user", "content": [part, {"type": "text", "text": text}]}]


def answered(url, messages, **more):
    return open_ai(url).chat.completions.create(model="", messages=messages, max_tokens=3, temperature=0, **more)


def counted(url, name):
    """A counter of /metrics."""
    text = open_ai(url)._client.get(url + "/metrics").text
    return int(float(re.search(rf"^{name}\S* (\S+)$", text, re.M).group(1)))


@case("openai", "a picture")
def _(seeing_url):
    seen, plain = answered(seeing_url, asks(image_part("photo.png"))), answered(seeing_url, asks({"type": "text", "text": ""}))
    assert seen.usage.prompt_tokens > plain.usage.prompt_tokens
    assert "".join(c.choices[0].delta.content or "" for c in answered(seeing_url, asks(image_part("photo.png")), stream=True)) == seen.choices[0].message.content
    refused(openai.BadRequestError, lambda: answered(seeing_url, asks(sound_part("plain.wav"))), "takes no sounds")
    refused(openai.BadRequestError, lambda: answered(seeing_url, asks({"type": "image_url", "image_url": {"url": "http://127.0.0.1:1/a.png"}})), "--media-url")
    refused(openai.BadRequestError, lambda: answered(seeing_url, asks({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}})), "PNG")


@case("openai", "five turns about a picture: it is encoded once, and the others read what is new alone")
def _(seeing_url):
    def chat(first):
        messages, fresh = asks(first, "Once more, and again: what is it?"), []
        for turn in range(5):
            got = answered(seeing_url, messages)
            fresh.append(got.usage.prompt_tokens - got.usage.prompt_tokens_details.cached_tokens)
            messages += [{"role": "assistant", "content": got.choices[0].message.content}, {"role": "user", "content": f"And {turn}?"}]
        return fresh
    encoded, found = counted(seeing_url, "puna:media_encoded_total"), counted(seeing_url, "puna:media_found_total")
    seen = chat(image_part("turned.png"))
    assert counted(seeing_url, "puna:media_encoded_total") == encoded + 1, "it was encoded again"
    assert counted(seeing_url, "puna:media_found_total") == found + 4
    plain = chat({"type": "text", "text": "A text in its place. "})
    # A page of the cache may be begun anew.
    assert all(a <= b + 32 for a, b in zip(seen[1:], plain[1:])), (seen, plain)


@case("openai", "responses and counts of a picture")
def _(seeing_url):
    content = [{"type": "input_text", "text": "What is it?"}, {"type": "input_image", "image_url": "data:image/png;base64," + file_of("photo.png"), "detail": "low"}]
    got = open_ai(seeing_url).responses.create(model="", input=[{"role": "user", "content": content}], max_output_tokens=3)
    assert got.usage.input_tokens > 8
    count = open_ai(seeing_url).responses.input_tokens.count(model="", input=[{"role": "user", "content": content}])
    assert count.input_tokens == got.usage.input_tokens


@case("openai", "models say what they take")
def _(seeing_url):
    data = open_ai(seeing_url).models.list().data[0]
    assert data.architecture["input_modalities"] == ["text", "image"]


@case("anthropic", "a picture, in a result too, and a document of text")
def _(seeing_url):
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": file_of("photo.png")}}
    document = {"type": "document", "title": "Notes", "source": {"type": "text", "media_type": "text/plain", "data": "Some notes."}}
    messages = [{"role": "user", "content": [image, document, {"type": "text", "text": "What is it?"}]},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "look", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "Seen:"}, image]}]}]
    got = anthropic_of(seeing_url).messages.create(model=name_of(seeing_url), max_tokens=3, messages=messages)
    count = anthropic_of(seeing_url).messages.count_tokens(model=name_of(seeing_url), messages=messages).input_tokens
    assert count == got.usage.input_tokens + (got.usage.cache_read_input_tokens or 0)
    pdf = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}}
    refused(anthropic.BadRequestError, lambda: anthropic_of(seeing_url).messages.create(
        model=name_of(seeing_url), max_tokens=3, messages=[{"role": "user", "content": [pdf]}]), "application/pdf")


@case("ollama", "a picture")
def _(seeing_url):
    client, name, path = ollama.Client(seeing_url), name_of(seeing_url), str(MEDIA / "photo.png")
    plain = client.chat(model=name, messages=MESSAGES, options={"num_predict": 3})
    seen = client.chat(model=name, messages=[{**MESSAGES[0], "images": [path]}], options={"num_predict": 3})
    assert seen.prompt_eval_count > plain.prompt_eval_count
    assert client.generate(model=name, prompt="What is it?", images=[path], options={"num_predict": 3}).prompt_eval_count > 8
    assert "vision" in client.show(name).capabilities


@case("openai", "a sound, and what is said in it")
def _(hearing_url):
    assert answered(hearing_url, asks(sound_part("plain.wav"))).usage.prompt_tokens > 300
    client = open_ai(hearing_url)
    with open(MEDIA / "sound.mp3", "rb") as file:
        got = client.audio.transcriptions.create(model="", file=file, extra_body={"max_tokens": "3"})
    assert isinstance(got.text, str) and got.usage.input_tokens > 300
    with open(MEDIA / "sound.flac", "rb") as file:
        events = list(client.audio.transcriptions.create(model="", file=file, stream=True, extra_body={"max_tokens": "3"}))
    assert events[-1].type == "transcript.text.done"
    assert "".join(e.delta for e in events[:-1]) == events[-1].text
    refused(openai.BadRequestError, lambda: answered(hearing_url, asks(image_part("photo.png"))), "takes no pictures")


@case("openai", "what is said in a sound, with times")
def _(hearing_url):
    def transcribed(form, **more):
        return open_ai(hearing_url).audio.transcriptions.create(
            model="", file=("long.wav", long_sound(31)), response_format=form, extra_body={"max_tokens": "3"}, **more)
    told = transcribed("verbose_json", timestamp_granularities=["segment"])
    assert told.duration == 31 and [(s.start, s.end) for s in told.segments] == [(0, 30), (30, 31)]
    assert all(s.avg_logprob < 0 and 1 <= len(s.tokens) <= 3 for s in told.segments)
    assert transcribed("srt").startswith("1\n00:00:00,000 --> 00:00:30,000\n") and "--> 00:00:31,000" in transcribed("srt")
    assert transcribed("vtt").startswith("WEBVTT\n\n00:00:00.000 --> 00:00:30.000\n")
    assert isinstance(transcribed("text"), str)
    for form, more, why in (("verbose_json", {"timestamp_granularities": ["segment", "word"]}, "times of words"),
                            ("json", {"timestamp_granularities": ["segment"]}, "verbose_json"), ("srt", {"stream": True}, "stream")):
        refused(openai.BadRequestError, lambda: transcribed(form, **more), why)


def long_sound(seconds):
    """A WAV file of a tone, one channel of 16 bits."""
    rate = 8000
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1), file.setsampwidth(2), file.setframerate(rate)
        file.writeframes(array.array("h", (int(8000 * math.sin(i / 5)) for i in range(rate * seconds))).tobytes())
    return out.getvalue()


@case("openai", "sounds for a model that does not hear")
def _(seeing_url):
    with open(MEDIA / "sound.mp3", "rb") as file:
        refused(openai.APIStatusError, lambda: open_ai(seeing_url).audio.transcriptions.create(model="", file=file), "hear")


def name_of(url):
    return open_ai(url).models.list().data[0].id


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("puna")
    parser.add_argument("model")
    parser.add_argument("embedding", nargs="?")
    for sense in ("--sees", "--hears"):
        parser.add_argument(sense, nargs=2, metavar=("MODEL", "MMPROJ"))
    given = parser.parse_args()
    puna, model = given.puna, given.model
    failed = 0
    template = Path(__file__).with_name("tools.jinja")
    with Server(puna, model, "-c", "8192", "--ctx", "2048", "--chat-template-file", str(template)) as server:
        others = {}
        try:
            if given.embedding:
                others["embedding_url"] = Server(puna, given.embedding)
            for name, files in (("seeing_url", given.sees), ("hearing_url", given.hears)):
                if files:
                    others[name] = Server(puna, files[0], "--mmproj", files[1], "--chat-template", PLAIN)
            urls = {"url": server.url, **{name: other.url for name, other in others.items()}}
            for client, what, function in CASES:
                wanted = function.__code__.co_varnames[:function.__code__.co_argcount]
                if missing := [name for name in wanted if name not in urls]:
                    print(f"| {client} | {what} | SKIPPED: no model was given for {missing[0]} |")
                    continue
                arguments = [urls[name] for name in wanted]
                try:
                    function(*arguments)
                    print(f"| {client} | {what} | as it should be |", flush=True)
                except Exception as error:
                    failed += 1
                    print(f"| {client} | {what} | FAILED: {json.dumps(str(error) or traceback.format_exc(limit=-1))[:300]} |", flush=True)
        finally:
            for other in others.values():
                other.__exit__()
    print(f"{len(CASES) - failed} of {len(CASES)} as they should be", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
