// A model behind a running server, by Ollama's dialect: Puna's own server or Ollama's.
#pragma once

#include <memory>
#include <string>

#include "cli/chat/chat_model.h"
#include "cli/client/client.h"

namespace puna::cli {

class RemoteModel final : public ChatModel {
 public:
  struct Options {
    base::Json options = base::Json::object();  // that every request has
    base::Json keep_alive{};                    // "" and null: as the server has it
  };
  // Errors: kNotFound where the server has no model of that name; those of Client.
  static base::Result<std::unique_ptr<RemoteModel>> open(Client client, const std::string& name,
                                                         Options options);

  std::string name() const override { return name_; }
  std::string where() const override { return client_.server().text(); }
  uint32_t context() const override;
  bool has_template() const override;
  bool sees() const override { return can("vision"); }
  bool hears() const override { return can("audio"); }
  base::Result<ChatAnswer> answer(const Asked& asked, const ChatSettings& settings,
                                  const OnPiece& on_piece) override;
  base::Result<void> check(const ChatSettings& settings) override;
  base::Result<base::Json> show() override;
  base::Result<void> save(const std::string& name, const ChatSettings& settings,
                          const std::string& system,
                          const std::vector<chat::Message>& messages) override;
  base::Result<void> load(const std::string& name) override;

 private:
  RemoteModel(Client client, Options options)
      : client_(std::move(client)), options_(std::move(options)) {}

  bool can(const char* capability) const;
  bool keeps_alive() const;
  base::Json options_with(const ChatSettings& settings) const;
  base::Result<base::Json> body_of(const Asked& asked, const ChatSettings& settings) const;

  const Client client_;
  const Options options_;
  std::string name_;
  base::Json shown_;  // what the server says of it
};

}  // namespace puna::cli
