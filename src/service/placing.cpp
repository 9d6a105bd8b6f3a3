#include "service/placing.h"

#include <algorithm>

namespace puna::service {
namespace {

// Beginnings are told apart at multiples of this.
constexpr size_t kBlock = 32;
// A text more slows down the others of a host about as much as the reading of so many tokens.
constexpr uint64_t kTextTokens = 256;

// The hashes of the beginnings of a text, the shortest first (FNV-1a over the bytes of ids).
std::vector<uint64_t> beginnings(std::span<const int32_t> text) {
  std::vector<uint64_t> out;
  uint64_t hash = 0xCBF29CE484222325;
  for (size_t i = 0; i < text.size(); ++i) {
    for (uint32_t id = static_cast<uint32_t>(text[i]), n = 0; n < 4; ++n, id >>= 8)
      hash = (hash ^ (id & 0xFF)) * 0x100000001B3;
    if ((i + 1) % kBlock == 0) out.push_back(hash);
  }
  return out;
}

}  // namespace

Placing::Placing(size_t n_hosts, uint64_t kept_tokens)
    : known_(n_hosts), most_(static_cast<size_t>(kept_tokens / kBlock) + 1) {}

size_t Placing::choose(std::span<const int32_t> prompt, std::span<const Candidate> hosts) const {
  const std::vector<uint64_t> hashes = beginnings(prompt);
  const auto cost_of = [&](size_t host) {
    const auto& places = known_[host].places;
    // Where a beginning was forgotten, those behind it are of no use.
    const auto end = std::ranges::find_if(hashes, [&](uint64_t h) { return !places.contains(h); });
    const uint64_t left = prompt.size() - static_cast<size_t>(end - hashes.begin()) * kBlock;
    const uint64_t lacking = left - std::min(left, hosts[host].free_tokens);
    return left + lacking + kTextTokens * hosts[host].n_texts;
  };
  size_t best = 0;
  uint64_t best_cost = UINT64_MAX;
  for (size_t host = 0; host < hosts.size(); ++host) {
    if (hosts[host].lost) continue;
    const uint64_t cost = cost_of(host);
    if (cost >= best_cost) continue;
    best = host;
    best_cost = cost;
  }
  return best;
}

void Placing::note(size_t host, std::span<const int32_t> text) {
  auto& [order, places] = known_[host];
  std::vector<uint64_t> hashes = beginnings(text);
  // Long beginnings are forgotten before those that they begin with.
  for (const uint64_t hash : hashes) {
    if (const auto known = places.find(hash); known != places.end()) order.erase(known->second);
  }
  auto at = order.begin();
  for (const uint64_t hash : hashes) places[hash] = order.insert(at, hash);
  while (order.size() > most_) {
    places.erase(order.back());
    order.pop_back();
  }
}

}  // namespace puna::service
