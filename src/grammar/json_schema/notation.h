// How the values of a schema are written where they are not JSON alone: as the families of models
// write the arguments of calls. Read next: writer.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace puna::grammar {

// JSON, unless a field says otherwise. Texts may hold kControl (vocabulary.h).
struct Notation {
  std::string null = "null", no = "false", yes = "true";
  // Not empty: texts stand as they are between two of these, and so do names that are no words;
  // words stand bare.
  std::string quote{};
  // No value holds any of these texts, between quotes of its own: they would end what it stands in.
  std::vector<std::string> ends{};
  // Numbers have at most 40 digits before the point, so that every reader can hold them.
  bool short_numbers = false;
};

// What is read of a bare text between tags.
struct TextReading {
  bool text = false;      // a text is read as it stands
  bool by_looks = false;  // the same, unless it looks like JSON of another type
  // JSON of these types is read as such.
  bool null = false, boolean = false, number = false, array = false, object = false;
};

// What stands around the name and the value of an argument: "<parameter=", ">\n" and
// "\n</parameter>". Names do not hold the first byte of `behind_name`.
struct ValueTags {
  std::string before_name{}, behind_name{};
  std::string before_value{};  // behind a line end or none; empty: the value begins at once
  std::string behind_value{};
};

// How the arguments of a call are written, which are an object.
struct ArgumentNotation {
  enum class Form : uint8_t {
    kObject,    // as any object
    kKeywords,  // (a=1, b="x")
    kTags,      // each between `tags`; texts stand bare
  };
  Form form = Form::kObject;
  Notation values{};
  ValueTags tags{};
  // Of kTags: how what is written for a parameter is read; null: by its looks.
  std::function<TextReading(std::string_view name)> reading{};
};

// Letters, digits, '_', '.' and '-', of which the last three and digits do not come first.
bool is_word(std::string_view name);

}  // namespace puna::grammar
