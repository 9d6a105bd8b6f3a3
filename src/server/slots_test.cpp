// Slots over sockets: texts that name one, what is told of them, and what is done with them beside
// other texts.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "server/testing/fixture.h"

namespace puna::server {
namespace {

using base::Json;
using test::Client;
using test::Fixture;
using test::get;
using test::post;
using test::quick;
using test::Reply;
using test::wait_until;

service::test::FakeSetup some_slots(uint32_t n) {
  return {.n_sequences = n, .context = 1 << 16, .n_pages = 1 << 12, .at_once = true};
}

std::string text(uint32_t seed, int slot, uint32_t n_tokens = 3, bool stream = false) {
  Json prompt = Json::array();
  for (const int32_t id : service::test::prompt(40, seed)) prompt.push(id);
  Json body = Json::object();
  body.set("prompt", std::move(prompt)).set("id_slot", slot).set("n_predict", n_tokens);
  return body.set("ignore_eos", true).set("temperature", 0).set("stream", stream).dump();
}
Json body_of(const Reply& reply) {
  const auto json = Json::parse(reply.body);
  REQUIRE_MESSAGE(json.has_value(), reply.body);
  return *json;
}
int64_t number_of(const Json& json, const char* name) {
  const Json* value = json.find(name);
  REQUIRE_MESSAGE(value != nullptr, json.dump());
  return value->integer();
}
// Of a completion: its slot, and how much of its prompt was known.
int64_t slot_of(const Reply& reply) { return number_of(body_of(reply), "id_slot"); }
int64_t known_of(const Reply& reply) {
  return number_of(*body_of(reply).find("timings"), "cache_n");
}
Json slot_at(const Fixture& at, size_t slot) {
  return body_of(at.ask(get("/slots"))).items().at(slot);
}
bool is_busy(const Fixture& at, size_t slot) {
  return *slot_at(at, slot).find("is_processing") == Json(true);
}

TEST_CASE("a text is written in the slot that it names, or goes on where its beginning was") {
  const Fixture at(quick(), some_slots(3));
  CHECK(slot_of(at.ask(post("/completion", text(1, 2)))) == 2);
  CHECK(slot_of(at.ask(post("/completion", text(2, -1)))) == 0);
  CHECK(slot_of(at.ask(post("/completion", text(1, -1)))) == 2);
  CHECK(slot_of(at.ask(post("/completion", text(1, 1)))) == 1);
  const Reply outside = at.ask(post("/completion", text(1, 3)));
  CHECK(outside.status == 400);
  CHECK(outside.body.find("\"id_slot\\\"") != std::string::npos);
  CHECK(outside.body.find("0 to 2") != std::string::npos);

  const std::string stream = at.ask(post("/completion", text(3, 2, 3, true))).body;
  for (size_t frame = 0; frame < stream.size(); frame = stream.find("\n\n", frame) + 2) {
    const size_t end = stream.find("\n\n", frame);
    REQUIRE(end != std::string::npos);
    const auto json = Json::parse(stream.substr(frame + 6, end - frame - 6));
    REQUIRE(json);
    CHECK(number_of(*json, "id_slot") == 2);
  }
  const Json slot = slot_at(at, 2);
  CHECK(number_of(slot, "n_prompt_tokens") == 40);
  CHECK(number_of(slot, "n_prompt_tokens_processed") == 40);
  CHECK(number_of(slot.find("next_token")->items().at(0), "n_decoded") == 3);
  CHECK(number_of(slot.find("next_token")->items().at(0), "n_remain") == 0);
  wait_until([&] { return at.at_rest(); });
}

TEST_CASE("while a text is written its slot tells what was evaluated of its prompt") {
  const Fixture at(quick(), some_slots(2));
  at.ask(post("/completion", text(1, 0)));
  Client client = at.client();
  client.say(post("/completion", text(1, 0, 20000, /*stream=*/true)));
  CHECK(client.read_head().status == 200);
  client.read_chunk();
  const Json slot = slot_at(at, 0);
  CHECK(*slot.find("is_processing") == Json(true));
  CHECK(number_of(slot, "n_prompt_tokens") == 40);
  CHECK(number_of(slot, "n_prompt_tokens_cache") == 39);
  CHECK(number_of(slot, "n_prompt_tokens_processed") == 1);
}

TEST_CASE("texts for one slot are written one after the other, and keep no room from others") {
  Fixture at(quick(), some_slots(2));
  at.close_gate();
  std::vector<Client> clients;
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    clients.push_back(at.client());
    clients.back().say(post("/completion", text(seed, 1)));
  }
  // Its state comes without the thread of the engine, which stands.
  wait_until([&] { return is_busy(at, 1); });
  CHECK_FALSE(is_busy(at, 0));
  clients.push_back(at.client());
  clients.back().say(post("/completion", text(9, -1)));
  wait_until([&] { return is_busy(at, 0); });
  at.open_gate();
  for (size_t i = 0; i < clients.size(); ++i)
    CHECK(slot_of(clients[i].read()) == (i + 1 < clients.size() ? 1 : 0));
  // Several answers to one prompt, and several prompts.
  const Reply both = at.ask(post("/completion", R"({"prompt": [[1, 2], [3]], "n": 2,)"
                                                R"( "id_slot": 0, "n_predict": 2})"));
  const Json list = body_of(both);
  REQUIRE(list.items().size() == 4);
  for (const Json& one : list.items()) CHECK(number_of(one, "id_slot") == 0);
  CHECK(number_of(slot_at(at, 1), "id_task") > 0);
  wait_until([&] { return at.at_rest(); });
}

TEST_CASE("whoever leaves, waiting or being written, leaves the slot free") {
  Fixture at(quick(), some_slots(1));
  at.close_gate();
  std::vector<Client> clients;
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    clients.push_back(at.client());
    clients.back().say(post("/completion", text(seed, 0, 50000, true)));
    wait_until([&] { return is_busy(at, 0); });
  }
  clients[1].close();
  clients[0].reset();
  at.open_gate();
  CHECK(clients[2].read_head().status == 200);
  at.close_gate();
  CHECK(at.ask(post("/slots/0?action=erase", "{}")).status == 503);
  clients[2].close();
  at.open_gate();
  wait_until([&] { return !is_busy(at, 0); });
  CHECK(slot_of(at.ask(post("/completion", text(5, 0)))) == 0);
  wait_until([&] { return at.at_rest(); });
}

TEST_CASE("a model that fails leaves the slot free") {
  std::atomic<bool> lost = true;
  auto setup = some_slots(1);
  setup.fails = [&] { return lost.load(); };
  const Fixture at(quick(), setup);
  CHECK(at.ask(post("/completion", text(1, 0))).status == 500);
  wait_until([&] { return !is_busy(at, 0); });
  lost = false;
  CHECK(slot_of(at.ask(post("/completion", text(1, 0)))) == 0);
}

TEST_CASE("a slot is saved, restored by another server, and erased") {
  std::string folder = (std::filesystem::temp_directory_path() / "puna-slots-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string file = R"({"filename": "a.bin"})";
  int64_t n_written = 0;
  {
    const Fixture at(quick(), some_slots(2), {}, folder);
    at.ask(post("/completion", text(1, 1)));
    CHECK(at.ask(post("/slots/1?action=save", R"({"filename": "../a"})")).status == 400);
    // While another text is written.
    Client other = at.client();
    other.say(post("/completion", text(7, 0, 50000, true)));
    other.read_head();
    CHECK(at.ask(post("/slots/0?action=save", file)).status == 503);
    const Json saved = body_of(at.ask(post("/slots/1?action=save", file)));
    CHECK(number_of(saved, "id_slot") == 1);
    CHECK(number_of(saved, "n_saved") == 42);
    n_written = number_of(saved, "n_written");
    CHECK(static_cast<uint64_t>(n_written) ==
          std::filesystem::file_size(std::filesystem::path(folder) / "a.bin"));
    other.close();
    wait_until([&] { return at.at_rest(); });
  }
  {
    const Fixture at(quick(), some_slots(2), {}, folder);
    CHECK(at.ask(post("/slots/0?action=restore", R"({"filename": "b.bin"})")).status == 400);
    const Json restored = body_of(at.ask(post("/slots/0?action=restore", file)));
    CHECK(number_of(restored, "n_restored") == 42);
    CHECK(number_of(restored, "n_read") == n_written);
    const Reply reply = at.ask(post("/completion", text(1, -1)));
    CHECK(slot_of(reply) == 0);
    CHECK(known_of(reply) == 39);
    CHECK(body_of(at.ask(post("/slots/0?action=erase", "{}"))).dump() ==
          R"({"id_slot":0,"n_erased":43})");
    CHECK(known_of(at.ask(post("/completion", text(1, -1)))) == 0);
    wait_until([&] { return at.at_rest(); });
  }
  const Fixture nowhere(quick(), some_slots(2));
  const Reply refused = nowhere.ask(post("/slots/0?action=save", file));
  CHECK(refused.status == 501);
  CHECK(refused.body.find("--slot-save-path") != std::string::npos);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace puna::server
