// The "post_processor" of a tokenizer.json: what goes around the text.
#include "formats/hf_tokenizer/parts.h"

namespace puna::formats::hf {

namespace {

using base::Json;
using base::Result;
using tokenizer::Vocabulary;

struct Frame {
  std::vector<int32_t> before, after;
};

// Errors: kUnsupported when another processor has put tokens around the text: what the library
// makes of both depends on how it keeps parts of a text, not on what the processors say.
Result<void> surround(std::vector<int32_t> before, std::vector<int32_t> after, Frame& frame) {
  if (!frame.before.empty() || !frame.after.empty())
    return unsupported(
        "two post_processors that put tokens around the text, which is not supported.");
  frame = {std::move(before), std::move(after)};
  return {};
}

// An id that may be none of the vocabulary: -1 then.
int32_t id_of(const Json& id) {
  if (!id.is_integer() || id.integer() < 0 || id.integer() > INT32_MAX) return -1;
  return static_cast<int32_t>(id.integer());
}

Result<void> append_template_ids(const Json& part, const std::string& name,
                                 std::vector<int32_t>& out) {
  const Json* tokens = part.find("special_tokens");
  const Json* token = tokens ? tokens->find(name) : nullptr;
  const Json* ids = token ? token->find("ids") : nullptr;
  if (!ids || !ids->is_array())
    return corrupt(fmt::format("no ids for \"{}\" in its TemplateProcessing.", name));
  for (const Json& id : ids->items()) out.push_back(id_of(id));
  return {};
}

Result<void> template_processing(const Json& part, Frame& frame) {
  const Json* single = part.find("single");
  if (!single || !single->is_array())
    return corrupt("no list \"single\" in its TemplateProcessing.");
  std::vector<int32_t> before, after;
  bool text_seen = false;
  for (const Json& item : single->items()) {
    if (item.find("Sequence")) {
      if (text_seen)
        return unsupported("the text twice in its TemplateProcessing, which is not supported.");
      text_seen = true;
      continue;
    }
    const Json* special = item.find("SpecialToken");
    if (!special) return corrupt("an item in its TemplateProcessing that is no token and no text.");
    PUNA_TRY(const std::string name, special->get_string("id"));
    PUNA_TRY(append_template_ids(part, name, text_seen ? after : before));
  }
  if (!text_seen)
    return unsupported("a TemplateProcessing without the text, which is not supported.");
  return surround(std::move(before), std::move(after), frame);
}

// ["[SEP]", 102]
Result<int32_t> pair_id(const Json& part, std::string_view key) {
  const Json* pair = part.find(key);
  if (!pair || !pair->is_array() || pair->items().size() != 2 || !pair->items()[1].is_integer())
    return corrupt(fmt::format("no \"{}\" in its post_processor.", key));
  return id_of(pair->items()[1]);
}

Result<void> bert_processing(const Json& part, Frame& frame) {
  PUNA_TRY(const int32_t begin, pair_id(part, "cls"));
  PUNA_TRY(const int32_t end, pair_id(part, "sep"));
  return surround({begin}, {end}, frame);
}

// Moves offsets only.
Result<void> byte_level(const Json&, Frame&) { return {}; }

constexpr Component<Frame> kProcessors[] = {
    {"TemplateProcessing", template_processing},
    {"BertProcessing", bert_processing},
    {"RobertaProcessing", bert_processing},
    {"ByteLevel", byte_level},
};

}  // namespace

Result<void> read_post_processor(const Json* part, Vocabulary& v) {
  PUNA_TRY(const auto parts, flatten(part, "processors"));
  Frame frame;
  PUNA_TRY(read_components<Frame>(parts, "post_processor", kProcessors, frame));
  const auto n = static_cast<int32_t>(v.tokens.size());
  for (const auto* ids : {&frame.before, &frame.after}) {
    for (const int32_t id : *ids) {
      if (id < 0 || id >= n)
        return corrupt(fmt::format(
            "the token {} in its post_processor, outside its vocabulary of {}.", id, n));
    }
  }
  // The outermost tokens are those that begin and end a sequence.
  if (!frame.before.empty()) {
    v.bos = frame.before.front();
    v.add_bos = true;
    v.before.assign(frame.before.begin() + 1, frame.before.end());
  }
  if (!frame.after.empty()) {
    v.eos = frame.after.back();
    v.add_eos = true;
    v.after.assign(frame.after.begin(), frame.after.end() - 1);
  }
  return {};
}

}  // namespace puna::formats::hf
