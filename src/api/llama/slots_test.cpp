#include "api/llama/slots.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "api/llama/saved_slot.h"
#include "api/testing/served.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::test;
using base::ErrorCode;
using base::Json;

namespace {

namespace fs = std::filesystem;

base::Result<Exchange> change(Served& served, std::string id, std::string action,
                              std::string_view body = "") {
  HttpRequest http;
  http.path_values = {std::move(id)};
  http.query = {{"action", std::move(action)}};
  const Json json = body.empty() ? Json() : *Json::parse(body);
  return llama::change_slot({http, json, served.model.get(), served.source});
}
int status(const base::Result<Exchange>& exchange) {
  if (!exchange) return status_of(exchange.error().code);
  const auto* reply = std::get_if<HttpReply>(&*exchange);
  return reply ? reply->status : 200;
}

class Folder {
 public:
  Folder() : path_((fs::temp_directory_path() / "puna-slots-XXXXXX").string()) {
    REQUIRE(::mkdtemp(path_.data()) != nullptr);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }
  std::string read(const std::string& name) const {
    std::ifstream file(fs::path(path_) / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream(fs::path(path_) / name, std::ios::binary) << bytes;
  }

 private:
  std::string path_;
};

// A model, its slots, and what jobs on them say.
struct Model {
  explicit Model(std::string name = "fake") { fake.model.name = std::move(name); }

  // Writes on in a slot; how much of the prompt was known.
  uint32_t write(uint32_t slot, std::vector<int32_t> prompt) {
    service::Reply reply;
    engine::GenerateOptions options;
    options.sampling.temperature = 0;
    options.max_tokens = 5;
    const auto stats =
        run(fake.model.scheduler->generate(prompt, options, {}, [&](const kernels::Chosen& chosen) {
          reply.tokens.push_back(chosen.id);
          return true;
        }));
    REQUIRE(stats);
    reply.stats = *stats;
    const auto use = slots->take(slot, [] {});
    use->begin(std::move(prompt), {}, false);
    use->end(reply);
    return stats->n_cached;
  }
  uint32_t n_known(const std::vector<int32_t>& text) const {
    return fake.model.engine->cache().n_known(text);
  }
  std::vector<int32_t> text(uint32_t slot) const { return slots->try_take(slot)->tokens(); }

  llama::SavedSlot at(uint32_t slot, const Folder& folder, std::string name = "a") const {
    return {slots->try_take(slot), folder.path(), std::move(name)};
  }
  base::Result<HttpReply> ask(const Job& job) { return run(job.run(fake.model, kStays)); }
  Json reply(const Job& job) {
    const auto out = ask(job);
    REQUIRE_MESSAGE(out.has_value(), out.error().text());
    return body_of(*out);
  }

  template <class T>
  T run(base::Task<T> task) {
    return base::run_until(std::move(task), [&] { fake.device->pump(); });
  }

  service::test::FakeModel fake = service::test::fake_model();
  std::shared_ptr<SlotTable> slots = std::make_shared<SlotTable>(2);
};

std::vector<int32_t> prompt(size_t n) { return service::test::prompt(n, 1); }

}  // namespace

TEST_CASE("slots tell whether they are busy, and of their texts") {
  Served served;
  CHECK(body_of(served.ask(llama::slots, "")).dump() ==
        R"([{"id":0,"n_ctx":256,"speculative":false,"is_processing":false}])");
  const auto use = served.model->slots->any();
  service::Request request;
  request.max_tokens = 9;
  use->begin({1, 2, 3}, request, true);
  use->note({.token = 5, .text = "\n", .kind = service::Event::Kind::kContent, .n_tokens = 1});
  Json slot = at(body_of(served.ask(llama::slots, "")).items()[0]);
  CHECK(at(slot, "params", "n_predict") == Json(9));
  CHECK(at(slot, "params", "stream") == Json(true));
  slot.set("params", nullptr);
  CHECK(
      slot.dump() ==
      R"({"id":0,"n_ctx":256,"speculative":false,"is_processing":true,"id_task":1,"params":null,)"
      R"("n_prompt_tokens":3,"n_prompt_tokens_processed":0,"n_prompt_tokens_cache":0,)"
      R"("next_token":[{"has_next_token":true,"has_new_line":true,"n_remain":8,"n_decoded":1}]})");

  service::Reply reply = reply_of("");
  reply.tokens = {5, 6};
  use->end(reply);
  slot = at(body_of(served.ask(llama::slots, "")).items()[0]);
  CHECK(at(slot, "is_processing") == Json(false));
  CHECK(at(slot, "n_prompt_tokens_processed") == Json(6));
  CHECK(at(slot, "n_prompt_tokens_cache") == Json(4));
  CHECK(at(slot, "next_token", 0, "has_next_token") == Json(false));
  CHECK(at(slot, "next_token", 0, "n_remain") == Json(-1));
  CHECK(at(slot, "next_token", 0, "n_decoded") == Json(0));
}

TEST_CASE("where all slots are busy, who asks may be told so") {
  Served served;
  HttpRequest http;
  http.query = {{"fail_on_no_slot", "1"}};
  const Json none;
  const auto ask = [&] {
    return status(llama::slots({http, none, served.model.get(), served.source}));
  };
  CHECK(ask() == 200);
  const auto use = served.model->slots->take(0, [] {});
  CHECK(ask() == 503);
  CHECK(status(served.ask(llama::slots, "")) == 200);
}

TEST_CASE("what is to be done with a slot is checked before anything is done") {
  Served served;
  CHECK(status(change(served, "1", "erase")) == 400);
  CHECK(status(change(served, "-1", "erase")) == 400);
  CHECK(status(change(served, "x", "erase")) == 400);
  CHECK(status(change(served, "0", "drop")) == 400);
  // Without a folder.
  const auto refused = change(served, "0", "save", R"({"filename": "a"})");
  CHECK(status(refused) == 501);
  CHECK(std::get<HttpReply>(*refused).body.find("--slot-save-path") != std::string::npos);
  CHECK(status(change(served, "0", "restore", R"({"filename": "a"})")) == 501);
  CHECK(std::holds_alternative<Job>(*change(served, "0", "erase")));
  CHECK(std::holds_alternative<Job>(*change(served, "0", "erase", "{}")));
  CHECK(status(change(served, "0", "erase", "[]")) == 400);

  ServedModel model = Served::named(served.host);
  model.slot_folder = "/tmp";
  OneModel source(std::move(model));
  source.acquire({}, [&](base::Result<ModelLease> lease) { served.model = *std::move(lease); });
  for (const std::string& name :
       {std::string(R"("")"), std::string(R"(".")"), std::string(R"("..")"),
        std::string(R"("../a")"), std::string(R"("/etc/a")"), std::string(R"("a/b")"),
        std::string(R"("a\\b")"), std::string(R"("a\u0000b")"), std::string(R"("a\nb")"),
        std::string("7"), "\"" + std::string(201, 'a') + "\""}) {
    CAPTURE(name);
    for (const char* action : {"save", "restore"}) {
      const auto answer = change(served, "0", action, "{\"filename\": " + name + "}");
      REQUIRE_FALSE(answer);
      CHECK(answer.error().code == ErrorCode::kInvalidArgument);
      CHECK(answer.error().message.find("\"filename\"") != std::string::npos);
    }
  }
  CHECK(status(change(served, "0", "save")) == 400);
  CHECK(status(change(served, "0", "save", "{}")) == 400);
  // A slot is taken until its job has ended or is given up.
  {
    const auto job = change(served, "0", "save", R"({"filename": "a b.bin"})");
    REQUIRE(std::holds_alternative<Job>(*job));
    CHECK(status(change(served, "0", "erase")) == 503);
  }
  CHECK(status(change(served, "0", "erase")) == 200);
}

TEST_CASE("the text of a slot is saved, and another server goes on with it") {
  const Folder folder;
  Model model;
  model.write(0, prompt(70));
  const Json saved = model.reply(llama::save_job(model.at(0, folder)));
  CHECK(at(saved, "id_slot") == Json(0));
  CHECK(at(saved, "filename") == Json("a"));
  // The last token of an answer is in no cache.
  CHECK(at(saved, "n_saved") == Json(74));
  const std::string bytes = folder.read("a");
  CHECK(at(saved, "n_written") == Json(static_cast<uint64_t>(bytes.size())));
  CHECK(at(saved, "timings", "save_ms").number() >= 0);
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);

  Model later;
  const Json restored = later.reply(llama::restore_job(later.at(1, folder)));
  CHECK(at(restored, "id_slot") == Json(1));
  CHECK(at(restored, "n_restored") == Json(74));
  CHECK(at(restored, "n_read") == at(saved, "n_written"));
  CHECK(at(restored, "timings", "restore_ms").number() >= 0);
  std::vector<int32_t> text = model.text(0);
  CHECK(later.n_known(text) == 74);
  text.pop_back();
  CHECK(later.text(1) == text);
  text.push_back(3);
  CHECK(later.write(1, text) == 74);
  CHECK(later.text(1).size() == text.size() + 5);
  // Over what is there.
  CHECK(at(later.reply(llama::save_job(later.at(1, folder))), "n_saved") == Json(79));
  CHECK(folder.read("a").size() > bytes.size());
}

TEST_CASE("a slot without text saves none, and is without one again") {
  const Folder folder;
  Model model;
  CHECK(at(model.reply(llama::save_job(model.at(0, folder))), "n_saved") == Json(0));
  model.write(0, prompt(40));
  CHECK(at(model.reply(llama::restore_job(model.at(0, folder))), "n_restored") == Json(0));
  CHECK(model.text(0).empty());
  folder.write("a", folder.read("a") + "x");
  CHECK_FALSE(model.ask(llama::restore_job(model.at(0, folder))));
}

TEST_CASE("what cannot be restored is told, and nothing changes") {
  const Folder folder;
  {
    Model model;
    model.write(0, prompt(70));
    model.reply(llama::save_job(model.at(0, folder)));
  }
  const std::string bytes = folder.read("a");
  Model model;
  model.write(0, prompt(20));
  const std::vector<int32_t> before = model.text(0);
  const auto refused = [&](Model& by, const std::string& name) {
    const auto answer = by.ask(llama::restore_job(by.at(0, folder, name)));
    REQUIRE_FALSE(answer);
    CHECK(status_of(answer.error().code) == 400);
    CHECK(answer.error().text().find(folder.path()) == std::string::npos);
    CHECK(answer.error().text().find(name) != std::string::npos);
    CHECK_FALSE(by.slots->look()[0].busy);
    return answer.error().text();
  };
  refused(model, "b");
  fs::create_directory(fs::path(folder.path()) / "folder");
  refused(model, "folder");
  for (size_t n = 0; n < bytes.size(); n += n < 600 ? 1 : 37) {
    CAPTURE(n);
    folder.write("cut", bytes.substr(0, n));
    refused(model, "cut");
    std::string flipped = bytes;
    flipped[n] = static_cast<char>(flipped[n] ^ 4);
    folder.write("cut", flipped);
    refused(model, "cut");
  }
  CHECK(model.text(0) == before);
  CHECK(model.n_known(prompt(70)) == 20);
  Model other("other");
  CHECK(refused(other, "a").find("\"model\"") != std::string::npos);
  CHECK(other.n_known(prompt(70)) == 0);
  // It was the file.
  CHECK(at(model.reply(llama::restore_job(model.at(0, folder))), "n_restored") == Json(74));
}

TEST_CASE("what cannot be written is told, and leaves no file") {
  const Folder folder;
  Model model;
  model.write(0, prompt(70));
  fs::create_directory(fs::path(folder.path()) / "folder");
  const auto answer = model.ask(llama::save_job(model.at(0, folder, "folder")));
  REQUIRE_FALSE(answer);
  CHECK(status_of(answer.error().code) == 400);
  CHECK(answer.error().text().find(folder.path()) == std::string::npos);
  fs::remove_all(folder.path());
  const auto gone = model.ask(llama::save_job(model.at(0, folder)));
  REQUIRE_FALSE(gone);
  CHECK(status_of(gone.error().code) == 500);
  CHECK_FALSE(model.slots->look()[0].busy);
  CHECK(model.text(0).size() == 75);
}

TEST_CASE("the text of a slot is erased, but for what other slots have of it") {
  Model model;
  model.write(0, prompt(70));
  model.write(1, prompt(40));
  const auto erase = [&](uint32_t slot) {
    return model.reply(llama::erase_job(model.slots->try_take(slot)));
  };
  const Json erased = erase(0);
  CHECK(erased.dump() == R"({"id_slot":0,"n_erased":75})");
  CHECK(model.text(0).empty());
  CHECK(model.slots->look()[0].task.id == 0);
  // In whole pages.
  CHECK(model.n_known(prompt(70)) >= 40);
  CHECK(model.n_known(prompt(70)) <= 64);
  CHECK(at(erase(1), "n_erased") == Json(45));
  CHECK(model.n_known(prompt(40)) == 0);
  CHECK(at(erase(1), "n_erased") == Json(0));

  // One goes on where the other ends, in the same page.
  model.write(0, prompt(40));
  std::vector<int32_t> longer = model.text(0);
  longer.insert(longer.end(), {1, 2, 3});
  model.write(1, longer);
  erase(1);
  CHECK(model.n_known(longer) == 45);
  erase(0);
  CHECK(model.n_known(longer) == 0);
}
