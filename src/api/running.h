// Running: the completions of a model whose thinking others may end while they are written, by
// their ids (openai/control.h). Any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "service/thinking_control.h"

namespace puna::api {

class Running : public std::enable_shared_from_this<Running> {
 public:
  // One of each text of a completion.
  using Controls = std::vector<std::shared_ptr<service::ThinkingControl>>;

  // A completion is listed for as long as somebody has this.
  class Listed {
   public:
    ~Listed();
    Listed(const Listed&) = delete;
    Listed& operator=(const Listed&) = delete;

   private:
    friend class Running;
    Listed(std::shared_ptr<Running> list, std::string id)
        : list_(std::move(list)), id_(std::move(id)) {}
    const std::shared_ptr<Running> list_;
    const std::string id_;
  };

  // `id`: no other completion has it.
  std::unique_ptr<Listed> add(std::string id, Controls controls);
  // Empty: there is none of this id.
  Controls find(std::string_view id) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Controls, std::less<>> controls_;
};

}  // namespace puna::api
