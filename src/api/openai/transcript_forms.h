// The forms of a whole transcription: JSON, a text, JSON with times, and two kinds of subtitles.
// Source: OpenAI API reference, "Create transcription"; SubRip; WebVTT (W3C, 2019).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/exchange.h"
#include "service/request.h"

namespace puna::api::openai {

// What is said in a part of a sound; a part is what a model was asked about at once.
struct HeardPart {
  double from = 0, to = 0;  // seconds
  service::Reply reply;
};

struct Transcript {
  std::vector<HeardPart> parts;         // one or more, one after the other
  std::optional<std::string> language;  // as the request has it
  float temperature = 0;
};

struct TranscriptForm {
  std::string_view name;  // of "response_format"
  bool timed = false;     // the sound is heard in parts, each with its times
  HttpReply (*write)(const Transcript& transcript);
};

// "json" is the first.
std::span<const TranscriptForm> transcript_forms();

// The last event of a stream, and the form "json": of all parts together.
base::Json transcript_done(const Transcript& transcript);

// Where parts of a sound of so many seconds begin: every 30 seconds, but for a rest of less than
// one, which belongs to the part before it.
std::vector<double> part_begins(double seconds);

}  // namespace puna::api::openai
