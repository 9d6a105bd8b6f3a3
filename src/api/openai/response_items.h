// The items that a response consists of, and the events of a stream that tell of them. Source:
// OpenAI API reference, "Responses" and its "Streaming events".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/openai/response_request.h"
#include "base/json.h"
#include "service/request.h"

namespace puna::tokenizer {
class Tokenizer;
}

namespace puna::api::openai {

// {token, bytes, logprob, top_logprobs} of tokens of the text; a list.
base::Json text_logprobs(const ResponseForm& form, const tokenizer::Tokenizer* tokenizer,
                         const service::Reply& reply);

// What items consist of; `key` is of the response, `index` the item's place in it. Ids are made of
// both.
struct ItemPlace {
  std::string_view key;
  size_t index = 0;
};
// {type: "message", id, role, status, content: [{type: "output_text", text, …}]}
base::Json message_item(const ItemPlace& place, std::string_view status, std::string_view text,
                        base::Json logprobs);
// {type: "reasoning", id, status, summary: [], content: [{type: "reasoning_text", text}]}
base::Json reasoning_item(const ItemPlace& place, std::string_view status, std::string_view text);
// {type: "function_call", id, call_id, name, arguments, status}
base::Json call_item(const ItemPlace& place, std::string_view status, std::string_view name,
                     std::string_view arguments);

// The items of a stream, one open at a time. A call that turns out malformed behind its beginning
// cannot be taken back: it stays with the status "incomplete", as any item that is cut off, and
// what the model wrote follows as a message.
class ItemStream {
 public:
  // tokenizer: for the texts of tokens that have probabilities; may be null.
  ItemStream(std::string key, const ResponseForm& form, const tokenizer::Tokenizer* tokenizer)
      : key_(std::move(key)), form_(form), tokenizer_(tokenizer) {}

  // The frame of an event that is of no item: type and sequence_number, then `fields`.
  std::string frame(std::string_view type, const base::Json& fields);
  // The frames of what a token brings.
  std::string next(const service::Event& event);
  // Ends the item that is open, if one is.
  std::string close(std::string_view status);
  // Behind the last event. A call that is open then is complete: of others the text came.
  std::string finish(std::string_view status) {
    return close(open_ == Open::kCall ? "completed" : status);
  }
  // Those that were ended.
  base::Json items() const { return base::Json(items_); }

 private:
  enum class Open { kNothing, kMessage, kReasoning, kCall };

  std::string on(Open kind, const service::Event& event);
  std::string begin_call(const service::Event& event);
  std::string drop_calls(size_t call);
  std::string open(Open kind, std::string name);
  std::string piece(const std::string& text);
  // The item that is open, and the only part of it.
  base::Json item(std::string_view status) const;
  base::Json part() const;
  base::Json at_item() const;  // {item_id, output_index}
  base::Json at_part() const;  // with content_index
  void note_probabilities(const service::Event& event);

  const std::string key_;
  const ResponseForm form_;
  const tokenizer::Tokenizer* const tokenizer_;
  RunningStats stats_;
  uint64_t n_events_ = 0;
  base::Json::Array items_;
  std::vector<size_t> calls_;  // which items the calls are that the parser counts

  Open open_ = Open::kNothing;
  std::string name_;                          // of the open call
  std::string text_;                          // of the open item; of a call its arguments
  base::Json logprobs_;                       // of the open message: a list
  base::Json pending_ = base::Json::array();  // of tokens whose text is still to come
};

}  // namespace puna::api::openai
