#include "manager/children.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "base/log.h"
#include "manager/child_words.h"

namespace puna::manager {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

Json what(const char* is_to_do) { return Json::object().set("do", is_to_do); }

const Json& member(const Json& json, const char* name) {
  static const Json kNone;
  const Json* const found = json.find(name);
  return found ? *found : kNone;
}

class Remote final : public api::RemoteModel {
 public:
  Remote(std::shared_ptr<Child> child, std::string socket, api::ModelFacts facts, Json props)
      : child_(std::move(child)),
        socket_(std::move(socket)),
        facts_(std::move(facts)),
        props_(std::move(props)) {}

  const std::string& socket() const override { return socket_; }
  const api::ModelFacts& facts() const override { return facts_; }
  const Json& props() const override { return props_; }
  service::HostStatus status() const override { return child_->status(); }

 private:
  const std::shared_ptr<Child> child_;
  const std::string socket_;
  const api::ModelFacts facts_;
  const Json props_;
};

// A process whose model is asleep: it has what is known of texts.
class Asleep final : public Memories {
 public:
  Asleep(std::shared_ptr<Child> the_child, std::string the_socket, uint64_t n_bytes)
      : child(std::move(the_child)), socket(std::move(the_socket)), bytes_(n_bytes) {}
  uint64_t bytes() const override { return bytes_; }

  const std::shared_ptr<Child> child;
  const std::string socket;

 private:
  const uint64_t bytes_;
};

// A process that has measured its model.
class OpenedChild final : public Opened {
 public:
  OpenedChild(std::shared_ptr<Child> the_child, std::string the_socket, Footprint held)
      : child(std::move(the_child)), socket(std::move(the_socket)), held_(std::move(held)) {}
  Footprint held() const override { return held_; }

  const std::shared_ptr<Child> child;
  const std::string socket;

 private:
  const Footprint held_;
};

class ChildInstance final : public Instance {
 public:
  ChildInstance(std::shared_ptr<Child> child, std::string socket, Footprint held,
                std::shared_ptr<SocketFolder> folder)
      : folder_(std::move(folder)),
        child_(std::move(child)),
        socket_(std::move(socket)),
        held_(std::move(held)) {}

  void serve(const Entry& entry, api::ModelFacts facts, const Json& ready) {
    served_ = entry.served();
    served_.file_bytes = static_cast<uint64_t>(ready.get_integer("file_bytes").value_or(0));
    served_.n_texts = static_cast<uint32_t>(ready.get_integer("n_texts").value_or(1));
    served_.remote =
        std::make_shared<Remote>(child_, socket_, std::move(facts), member(ready, "props"));
  }

  const api::ServedModel& served() const override { return served_; }
  Footprint held() const override { return held_; }
  std::unique_ptr<Memories> remember() override {
    const auto asleep = child_->ask(what("sleep"), "asleep", nullptr);
    if (!asleep) {
      base::log_warning("What was known of texts is forgotten: {}", asleep.error().text());
      return nullptr;
    }
    const auto bytes = asleep->get_integer("bytes").value_or(0);
    return std::make_unique<Asleep>(child_, socket_, static_cast<uint64_t>(bytes));
  }
  void stop() override { child_->kill(); }
  void when_died(std::function<void(const base::Error& error)> told) override {
    child_->when_died(std::move(told));
  }

 private:
  const std::shared_ptr<SocketFolder> folder_;
  const std::shared_ptr<Child> child_;
  const std::string socket_;
  const Footprint held_;
  api::ServedModel served_;
};

}  // namespace

Result<std::shared_ptr<Children>> Children::make(Child::Program program, ExtraOf extra_of) {
  PUNA_TRY(auto folder, SocketFolder::make());
  return std::shared_ptr<Children>(
      new Children(std::move(program), std::move(extra_of), std::move(folder)));
}

Result<Children::Started> Children::start(const Entry& entry) {
  Started out;
  PUNA_TRY(out.child, Child::start(program_, entry.id));
  out.socket = fmt::format("{}/{}.sock", folder_->path(), n_started_++);
  const Hello hello{
      .entry = entry, .socket = out.socket, .parent = ::getpid(), .extra = extra_of_(entry)};
  out.child->tell(to_json(hello));
  return out;
}

Result<Loader::Measured> Children::measure(const Entry& entry, const std::atomic<bool>& cancel) {
  PUNA_TRY(Started started, start(entry));
  PUNA_TRY(const Json measured, started.child->ask(what("measure"), "measured", &cancel));
  Measured out;
  PUNA_TRY(out.need, read_footprint(member(measured, "bytes")));
  PUNA_TRY(Footprint held, read_footprint(member(measured, "held")));
  out.opened = std::make_unique<OpenedChild>(std::move(started.child), std::move(started.socket),
                                             std::move(held));
  return out;
}

Result<std::unique_ptr<Instance>> Children::load(const Entry& entry, Order order) {
  Started started;
  if (const auto* asleep = dynamic_cast<const Asleep*>(order.memories.get());
      asleep && !asleep->child->has_ended()) {
    started = {asleep->child, asleep->socket};
  } else if (const auto* opened = dynamic_cast<const OpenedChild*>(order.opened.get());
             opened && !opened->child->has_ended()) {
    started = {opened->child, opened->socket};
  } else {
    PUNA_TRY(started, start(entry));
  }
  Json load = what("load");
  load.set("step_down", order.step_down);
  PUNA_TRY(const Json ready, started.child->ask(load, "ready", order.cancel));
  PUNA_TRY_CONTEXT(Footprint held, read_footprint(member(ready, "bytes")),
                   fmt::format("While hearing what {} takes", entry.id));
  PUNA_TRY_CONTEXT(api::ModelFacts facts, api::read_facts(member(ready, "facts")),
                   fmt::format("While hearing what {} is", entry.id));
  auto out = std::make_unique<ChildInstance>(std::move(started.child), std::move(started.socket),
                                             std::move(held), folder_);
  out->serve(entry, std::move(facts), ready);
  return out;
}

}  // namespace puna::manager
