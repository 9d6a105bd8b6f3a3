// A model in this process.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/chat/chat_model.h"
#include "service/host_thread.h"
#include "store/modelfile.h"

namespace puna::cli {

class OwnModel final : public ChatModel {
 public:
  // Loads a model by its name.
  using Open = std::function<base::Result<service::LoadedModel>(const std::string& name)>;

  // What every request begins as, with what a model brings.
  using Begin = std::function<service::Request(const service::Defaults& defaults)>;

  // `given`: what the command line says, as a Modelfile would, for a model that is saved. Errors:
  // those of `open`.
  static base::Result<std::unique_ptr<OwnModel>> open(Open open, const std::string& name,
                                                      Begin begin, store::Modelfile given);

  std::string name() const override { return model().name; }
  std::string where() const override { return model().device_name; }
  uint32_t context() const override { return model().context(); }
  bool has_template() const override { return model().chat_template.has_value(); }
  bool sees() const override { return has(models::Sense::kPictures); }
  bool hears() const override { return has(models::Sense::kSounds); }
  base::Result<ChatAnswer> answer(const Asked& asked, const ChatSettings& settings,
                                  const OnPiece& on_piece) override;
  base::Result<void> check(const ChatSettings& settings) override;
  base::Result<base::Json> show() override;
  base::Result<void> save(const std::string& name, const ChatSettings& settings,
                          const std::string& system,
                          const std::vector<chat::Message>& messages) override;
  base::Result<void> load(const std::string& name) override;
  bool usable() const override { return host_ != nullptr; }

  const service::LoadedModel& model() const { return host_->model(); }
  double load_ms() const { return load_ms_; }
  // The same of tokens that are evaluated as they stand.
  base::Result<ChatAnswer> answer(std::vector<int32_t> tokens, const OnPiece& on_piece);

 private:
  OwnModel(Open open, Begin begin, store::Modelfile given)
      : open_(std::move(open)), begin_(std::move(begin)), given_(std::move(given)) {}

  bool has(models::Sense sense) const;
  void take(service::LoadedModel model, const std::string& name);
  base::Result<service::Request> request(const Asked& asked, const ChatSettings& settings) const;
  base::Result<ChatAnswer> run(service::Prepared prepared, const OnPiece& on_piece);

  const Open open_;
  const Begin begin_;
  const store::Modelfile given_;
  service::Request base_;
  std::string asked_name_;  // the name that it was opened by
  std::unique_ptr<service::HostThread> host_;
  double load_ms_ = 0;
  bool load_told_ = false;  // it was part of the figures of an answer
};

}  // namespace puna::cli
