// Who answers: a model in this process (own_model.h), or one behind a running server
// (remote_model.h). `puna run` and its chat do not know which.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "chat/messages.h"
#include "service/request.h"

namespace puna::cli {

// What may change from message to message; what was given as flags is the model's already.
struct ChatSettings {
  base::Json options = base::Json::object();  // by the names of Ollama's parameters
  std::optional<service::AnswerForm> form;
  service::Think think = service::Think::kDefault;
};

// What is answered: messages, or a text that is completed as it stands.
struct Asked {
  std::vector<chat::Message> messages;
  std::string prompt;
  std::vector<service::PlacedMedia> media = {};  // in them
};

// What an answer took; times in ms.
struct Figures {
  double total_ms = 0, load_ms = 0, prompt_ms = 0, decode_ms = 0;
  uint32_t n_prompt = 0, n_cached = 0;  // tokens of the prompt that were evaluated, and known
  uint32_t n_generated = 0;
  engine::StopReason stop = engine::StopReason::kEnd;
};

struct ChatAnswer {
  chat::Message message;        // that the next request goes on behind
  std::vector<int32_t> tokens;  // where they are known
  Figures figures;
};

// A piece of an answer as it comes, or of the thinking before it.
using OnPiece = std::function<void(std::string_view text, bool thinking)>;

class ChatModel {
 public:
  virtual ~ChatModel() = default;

  virtual std::string name() const = 0;
  virtual std::string where() const = 0;  // the device, or the address of the server
  virtual uint32_t context() const = 0;   // tokens; 0: not known
  virtual bool has_template() const = 0;
  // Whether messages may have pictures, and sounds.
  virtual bool sees() const = 0;
  virtual bool hears() const = 0;
  // Ctrl-C ends the answer, which is then as far as it came (StopReason::kCancelled). Errors: with
  // `excess` where the prompt does not fit the context and both numbers are known.
  virtual base::Result<ChatAnswer> answer(const Asked& asked, const ChatSettings& settings,
                                          const OnPiece& on_piece) = 0;
  // Whether the settings can be met. Errors: which one cannot, and why.
  virtual base::Result<void> check(const ChatSettings& settings) = 0;
  // As Ollama's POST /api/show answers.
  virtual base::Result<base::Json> show() = 0;
  // Keeps the model with these settings, system message and conversation under another name.
  // Errors: those of making a model (service/create.h), here or on the server.
  virtual base::Result<void> save(const std::string& name, const ChatSettings& settings,
                                  const std::string& system,
                                  const std::vector<chat::Message>& messages) = 0;
  // Goes on with another model; where that fails, with the same. Errors: those of finding and
  // loading it.
  virtual base::Result<void> load(const std::string& name) = 0;
  // False: neither could be loaded, and nothing but this may be called any more.
  virtual bool usable() const { return true; }
};

}  // namespace puna::cli
