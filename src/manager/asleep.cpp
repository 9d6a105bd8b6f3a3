#include "manager/asleep.h"

#include <memory>
#include <string>
#include <utility>

#include "api/llama/props.h"

namespace puna::manager {
namespace {

class Asleep final : public api::RemoteModel {
 public:
  explicit Asleep(const api::ServedModel& model)
      : facts_(model.facts()),
        props_(model.hosts ? api::llama::props_json(model) : model.remote->props()),
        status_(model.status()) {}

  const std::string& socket() const override { return no_socket_; }
  const api::ModelFacts& facts() const override { return facts_; }
  const base::Json& props() const override { return props_; }
  service::HostStatus status() const override { return status_; }

 private:
  const std::string no_socket_;
  const api::ModelFacts facts_;
  const base::Json props_;
  const service::HostStatus status_;
};

}  // namespace

api::ModelLease asleep_of(const api::ServedModel& model) {
  api::ServedModel out = model;
  out.remote = std::make_shared<Asleep>(model);
  out.hosts = nullptr;
  out.slots.reset();
  out.running.reset();
  return std::make_shared<const api::ServedModel>(std::move(out));
}

}  // namespace puna::manager
