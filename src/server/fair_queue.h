// A queue of what several clients wait for, from which each client in turn gets one thing.
#pragma once

#include <cstddef>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace puna::server {

template <class T>
class FairQueue {
 public:
  void push(const std::string& client, T item) {
    auto [found, is_new] = by_name_.try_emplace(client);
    if (is_new) found->second = clients_.insert(clients_.end(), Client{client, {}});
    found->second->items.push_back(std::move(item));
    ++size_;
  }

  // The first of the client whose turn it is.
  std::optional<T> pop() {
    if (clients_.empty()) return {};
    const auto client = clients_.begin();
    T item = std::move(client->items.front());
    client->items.pop_front();
    --size_;
    if (client->items.empty()) {
      by_name_.erase(client->name);
      clients_.erase(client);
    } else {
      clients_.splice(clients_.end(), clients_, client);
    }
    return item;
  }

  size_t size() const { return size_; }

 private:
  struct Client {
    std::string name;
    std::deque<T> items;
  };

  std::list<Client> clients_;  // by turn; each has something
  std::unordered_map<std::string, typename std::list<Client>::iterator> by_name_;
  size_t size_ = 0;
};

}  // namespace puna::server
