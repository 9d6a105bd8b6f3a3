#include "service/replicas.h"

#include <doctest/doctest.h>

#include "service/testing/fake_model.h"

namespace puna::service {
namespace {

using test::asks;
using test::continued;
using test::fake_model;
using test::prompt;
using test::read_all;

Replicas two_of(const test::FakeSetup& setup = {}) {
  std::vector<LoadedModel> models;
  for (int i = 0; i < 2; ++i) models.push_back(std::move(fake_model(setup).model));
  return Replicas(std::move(models));
}

TEST_CASE("texts are dealt to all replicas, and are the same on each") {
  Replicas replicas = two_of();
  Hosts& hosts = *replicas.hosts();
  std::vector<std::unique_ptr<Hosts::Part>> parts;
  std::vector<std::unique_ptr<Answer>> answers;
  for (uint32_t i = 0; i < 8; ++i) {
    const auto text = prompt(20, i);
    parts.push_back(hosts.take(text));
    CHECK(&parts.back()->host() == hosts.all()[i % 2]);
    answers.push_back(*parts.back()->host().post(asks(text, 10 + i)));
  }
  for (uint32_t i = 0; i < 8; ++i) CHECK(read_all(*answers[i]) == continued(prompt(20, i), 10 + i));
  parts.clear();
  replicas.stop();
  const HostStatus all = hosts.status();
  CHECK(all.n_generated_tokens == 8 * 10 + 28);
  CHECK(all.n_pages == 2 * hosts.first().status().n_pages);
  CHECK(all.n_running + all.n_waiting == 0);
  CHECK(all.closed);
}

TEST_CASE("each turn of a chat is where its history is known") {
  Replicas replicas = two_of();
  Hosts& hosts = *replicas.hosts();
  std::vector<int32_t> chats[2] = {prompt(70, 1), prompt(70, 2)};
  const Host* host_of[2] = {};
  for (int turn = 0; turn < 4; ++turn) {
    std::unique_ptr<Hosts::Part> parts[2];
    for (size_t c = 0; c < 2; ++c) {
      // The other comes first every second time.
      const size_t chat = turn % 2 == 0 ? c : 1 - c;
      std::vector<int32_t>& text = chats[chat];
      parts[chat] = hosts.take(text);
      Host& host = parts[chat]->host();
      if (turn == 0) host_of[chat] = &host;
      CHECK(&host == host_of[chat]);
      const auto tokens = read_all(**host.post(asks(text, 20)));
      text.insert(text.end(), tokens.begin(), tokens.end());
      CHECK(&hosts.nearest(text) == &host);
    }
    CHECK(host_of[0] != host_of[1]);
  }
}

TEST_CASE("what one replica knows without having been given it counts too") {
  Replicas replicas = two_of();
  Hosts& hosts = *replicas.hosts();
  const auto text = prompt(100, 3);
  CHECK(&hosts.nearest(text) == hosts.all()[0]);
  hosts.note(hosts.all()[1]->model(), text);
  CHECK(&hosts.nearest(text) == hosts.all()[1]);
}

TEST_CASE("as many replicas as GPUs, and one where there is none") {
  std::vector<std::string> opened;
  const auto open = [&](const OpenOptions& options) -> base::Result<LoadedModel> {
    opened.push_back(options.device);
    return std::move(fake_model().model);
  };
  OpenOptions options;
  options.device = "cpu";
  for (const std::optional<uint32_t> n : {std::optional<uint32_t>(1), std::optional<uint32_t>()}) {
    opened.clear();
    CHECK(open_replicas(options, n, open).value().size() == 1);
    CHECK(opened == std::vector<std::string>{"cpu"});
  }
  const auto refused = open_replicas(options, 2, open);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == base::ErrorCode::kInvalidArgument);
  CHECK(refused.error().message == "2 replicas ask for as many GPUs, but --device cpu means 0.");
}

}  // namespace
}  // namespace puna::service
