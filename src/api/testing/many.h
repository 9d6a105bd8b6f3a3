// A source with the model of served.h, which is loaded, and two that are not, for tests of what is
// said of several models.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/testing/served.h"

namespace puna::api::test {

class Many final : public ModelSource, public ModelControl {
 public:
  explicit Many(Served& served) : served_(served) {}

  std::shared_ptr<void> acquire(const ModelWish& wish,
                                std::function<void(base::Result<ModelLease>)> done) override {
    return served_.source.acquire(wish, std::move(done));
  }
  std::vector<ModelLease> loaded() const override { return served_.source.loaded(); }
  ModelControl* control() const override { return const_cast<Many*>(this); }

  std::vector<ModelStatus> list() const override {
    std::vector<ModelStatus> out = served_.source.list();
    out[0].seconds_left = 90;
    out[0].source = "puna";
    out.push_back({.id = "other", .aliases = {"other"}, .state = ModelState::kSleeping});
    out.back().takes = takes;
    out.push_back({.id = "broken", .aliases = {"broken"}, .state = ModelState::kUnloaded});
    out.back().error = "It is no model.";
    out.back().preset = "ctx-size = 7\n";
    return out;
  }
  void renew() override { ++n_renewed; }
  base::Result<ShownModel> show(std::string_view name) const override {
    if (name != "other") return base::fail(base::ErrorCode::kIo, "It cannot be read.");
    ShownModel out;
    out.model.modified_s = 1;
    out.texts.chat_template = "{{ messages }}";
    return out;
  }
  base::Result<void> load(std::string_view name) override { return note("load", name); }
  base::Result<void> unload(std::string_view name) override { return note("unload", name); }
  base::Result<void> download(std::string_view name, std::string_view stored_as) override {
    return note("download " + std::string(stored_as) + " as", name);
  }
  base::Result<void> remove(std::string_view name) override { return note("remove", name); }
  std::shared_ptr<void> listen(std::function<void(const ModelEvent&)>) override { return nullptr; }
  size_t most_loaded() const override { return 3; }
  bool autoload() const override { return true; }

  base::Result<Exchange> ask(Endpoint endpoint, std::string_view body,
                             std::vector<std::string> path_values = {}) {
    const base::Json json = body.empty() ? base::Json() : *base::Json::parse(body);
    HttpRequest http;
    http.path_values = std::move(path_values);
    return endpoint({http, json, nullptr, *this});
  }

  int n_renewed = 0;
  std::optional<service::Takes> takes{};  // of "other"
  std::vector<std::string> done;          // "load fake"

 private:
  base::Result<void> note(std::string_view what, std::string_view name) {
    if (name == "none") return base::fail(base::ErrorCode::kNotFound, "There is no such model.");
    if (name == "other")
      return base::fail(base::ErrorCode::kInvalidArgument, "The model \"other\" is not loaded.");
    done.push_back(std::string(what) + " " + std::string(name));
    return {};
  }

  Served& served_;
};

}  // namespace puna::api::test
